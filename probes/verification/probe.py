"""Tests whether the installed packages work together, as far as possible without the service.

The packages are imported by their own interpreter, never by this process.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from time import monotonic
from typing import Any

from ...facts.kinds import Vocabulary
from ...facts.problems import Location, excerpt
from ..environment.probe import gather_environment
from ..outcome import Collector, Outcome
from ..serialization.probe import gather_serialization
from ..shared.child_processes import Reporter

# Named, not imported: it is a script for other interpreters.
WORKER = os.path.join(os.path.dirname(__file__), "worker.py")
LIMIT_S = 180.0
_MARK = "modelmedic-verification:"
_KINDS = ("environment_check", "tokenizer_load", "renderer", "token_comparison",
          "generation_prompt", "error_message")  # fmt: skip
_MOST = 200


def gather_verification(
    vocabulary: Vocabulary, *, python: Path | None = None, tokenizer: str = "", model: str = "",
    renderer: str = "", limit_s: float = LIMIT_S,
) -> Outcome:  # fmt: skip
    """The versions in the environment of ``python`` (an executable, a virtual environment, or None
    for this interpreter), and what works there.

    ``environment_check`` facts say which of tinker, tinker-cookbook, pydantic and transformers can
    be imported; with ``tokenizer`` (a folder, or a name in the local cache) whether texts come
    back from it, and with ``model`` or ``renderer`` also how the renderer's tokens compare with
    the tokenizer's template. ``serialization_benchmark`` facts time a large request.

    Nothing is downloaded, and no client is made. Problems: those of the environment, serialization
    and renderer probes; MM478 the checks took longer than ``limit_s``, MM479 they ended early.
    """
    installed = gather_environment(vocabulary, python=python, environ={})
    versions = [f for f in installed.facts if f.kind != "env_var"]
    installed = Outcome(tuple(versions), installed.problems)
    if installed.problems:
        return installed
    asked = {"tokenizer": tokenizer, "model": model, "renderer": renderer}
    if tokenizer and Path(tokenizer).is_dir():
        asked["tokenizer"] = str(Path(tokenizer).resolve())
    tried = _tried(Collector(vocabulary, "probe:verification"), python, asked, limit_s)
    timed = gather_serialization(vocabulary, python=python)
    return Outcome.joined(installed, tried, timed)


def _tried(
    collector: Collector, python: Path | None, asked: dict[str, str], limit_s: float
) -> Outcome:
    """Run the worker and add the facts that it reports."""
    given = json.dumps(asked).encode()
    place = Location(str(python or sys.executable))
    worker = collector.attempt(Reporter, WORKER, python=python, given=given, mark=_MARK)
    if worker is None:
        return collector.outcome()
    deadline = monotonic() + limit_s
    with worker:
        for _ in range(_MOST):
            try:
                told = worker.report(deadline - monotonic())
            except TimeoutError:
                message = f"the checks did not end within {limit_s:g} s"
                collector.problem("MM478", message, place, "try again on an idle machine")
                break
            if told is None:
                message = f"the checks ended early, with status {worker.exit_code()}"
                collector.problem("MM479", message, place, "import the packages by hand")
                break
            if told.get("end"):
                break
            _add(collector, told, place)
    return collector.outcome()


def _add(collector: Collector, told: dict[str, Any], place: Location) -> None:
    kind, values = told.get("kind"), told.get("values")
    if kind in _KINDS and isinstance(values, dict):
        plain = {
            name: value
            for name, value in values.items()
            if isinstance(name, str) and isinstance(value, str | bool | int | float)
        }
        collector.add(str(kind), place.path, **plain)
    elif isinstance(told.get("problem"), str):
        reason = excerpt(str(told.get("reason")), 400)
        where = Location(str(told.get("place") or place.path))
        collector.problem(str(told["problem"])[:5], reason, where)
