"""Asking another interpreter about itself."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...facts.problems import Location, excerpt
from ...reading.packages.environments import INTERPRETER_HINT, failure, find_interpreter
from ..shared.child_processes import run_limited
from . import interpreter_report

TIMEOUT_S = 10.0


def ask_interpreter(
    path: Path, names: Sequence[str], *, everything: bool = False, timeout_s: float = TIMEOUT_S
) -> dict[str, Any]:
    """The answer of :func:`.interpreter_report.report` from the interpreter at ``path``.

    ``path`` is an executable, a folder of a virtual environment, or a command on the search path.
    The interpreter runs isolated (``-I``: no user site, no ``PYTHON*`` variables). Raises
    :class:`ModelMedicError`: MM420 not found, MM421 cannot be started, MM422 took too long,
    MM423 failed or is not a usable Python, MM424 said something else.
    """
    executable = find_interpreter(path)
    question = json.dumps({"names": list(names), "everything": everything})
    command = [str(executable), "-I", interpreter_report.__file__, question]
    ran = run_limited(command, timeout_s)
    where = Location(str(path))
    if ran.timed_out:
        raise failure(
            "MM422",
            f"the interpreter did not answer within {timeout_s:g} s",
            where,
            INTERPRETER_HINT,
        )
    said = ran.out.rpartition(interpreter_report.MARK)
    if said[1]:
        return _checked(said[2], where)
    if ran.code != 0:
        message = f"this Python cannot report its packages: {excerpt(ran.reason, 200)}"
        raise failure("MM423", message, where, f"Python 3.8 or later is needed; {INTERPRETER_HINT}")
    message = f"the program did not answer as a Python does, but: {excerpt(ran.out.strip(), 100)}"
    raise failure("MM424", message, where, INTERPRETER_HINT)


def _checked(text: str, where: Location) -> dict[str, Any]:
    """The report, checked for its shape."""
    try:
        answer = json.loads(text.partition("\n")[0])
        packages = [[str(name), str(version), str(folder), placeholder is True]
                    for name, version, folder, placeholder in answer["packages"]]  # fmt: skip
        return {
            "python": dict(answer["python"]), "platform": dict(answer["platform"]),
            "packages": packages, "missing": [str(name) for name in answer.get("missing", ())],
            "requirements": [[str(name), str(other), str(allowed)]
                             for name, other, allowed in answer.get("requirements", ())],
        }  # fmt: skip
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise failure(
            "MM424", "the interpreter gave a broken report", where, INTERPRETER_HINT
        ) from None
