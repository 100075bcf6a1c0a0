"""The serialization benchmark: how long does one large request take to become JSON?

Up to tinker 0.19 the SDK builds training requests with pydantic, and still does so for sampling.
Two pre-releases of pydantic take minutes where others take milliseconds.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from time import monotonic
from typing import Any

from ...facts.kinds import Vocabulary
from ...facts.problems import Location, Problem, excerpt
from ..outcome import Collector, Outcome, not_available
from ..shared.child_processes import Reporter

# Named, not imported: it is a script for other interpreters.
WORKER = os.path.join(os.path.dirname(__file__), "worker.py")
CAP_S = 30.0
START_S = 60.0
BATCH_SIZE = 4
SEQ_LEN = 8192
PAYLOADS = ("training", "sampling")
_MARK = "modelmedic-serialization:"
_HINT = "name the python of the environment in which the job runs: --python .venv"


def gather_serialization(
    vocabulary: Vocabulary, *, python: Path | None = None, batch_size: int = BATCH_SIZE,
    seq_len: int = SEQ_LEN, cap_s: float = CAP_S, start_s: float = START_S,
) -> Outcome:  # fmt: skip
    """Time ``model_dump()`` of one training and one sampling request with the packages of
    ``python`` (an executable, a virtual environment, or None for this interpreter).

    ``serialization_benchmark`` facts by payload: ``seconds`` is the best of three, or ``cap_s``
    if it took longer and was ended; ``applies: false`` if the SDK no longer builds this
    request with pydantic. ``package`` facts name tinker and pydantic as they were measured.

    Runs for at most 2 x (``start_s`` + ``cap_s``) seconds, uses no network and makes no client.
    Problems: MM403 tinker is not installed here, MM420 and MM421 no such interpreter, MM460 tinker
    is not installed there, MM461 it cannot be imported or used, MM462 it did not start in time.
    """
    collector = Collector(vocabulary, "probe:serialization")
    named: set[str] = set()
    for payload in PAYLOADS:
        size = batch_size if payload == "training" else 1
        arguments = (payload, str(size), str(seq_len))
        worker = collector.attempt(Reporter, WORKER, *arguments, python=python, mark=_MARK)
        if worker is None:
            break
        versions: dict[str, str] = {}
        with worker:
            answer = _answer(worker, versions, start_s, cap_s)
        where = str(python or sys.executable)
        for name, version in sorted(versions.items()):
            if name not in named:
                named.add(name)
                collector.add("package", where, name=name, version=version)
        if answer["step"] == "missing" and python is None:
            return not_available("tinker", "tinker")
        problem = _problem(answer, where, start_s)
        if problem is not None:
            collector.extend([problem])
            break
        _add(collector, answer, where, payload, size, seq_len)
    return collector.outcome()


def _add(
    collector: Collector, answer: dict[str, Any], where: str, payload: str, size: int, seq_len: int
) -> None:
    seconds = answer.get("seconds")
    collector.add(
        "serialization_benchmark", where, payload=payload,
        applies=answer.get("applies") is not False,
        seconds=round(float(seconds), 6) if isinstance(seconds, (int, float)) else None,
        batch_size=size, seq_len=seq_len,
    )  # fmt: skip


def _problem(answer: dict[str, Any], where: str, start_s: float) -> Problem | None:
    step, place = answer["step"], Location(where)
    if step == "done":
        return None
    if step == "missing":
        message = f"tinker is not installed in this environment ({excerpt(answer.get('reason'))})"
        return Problem("MM460", message, place, _HINT)
    if step == "slow-start":
        message = f"tinker was not imported within {start_s:g} s, so nothing was measured"
        return Problem("MM462", message, place, "try again on an idle machine")
    reason = answer.get("reason") or f"the process ended with status {answer.get('code')}"
    message = f"the request could not be built or serialized: {excerpt(reason, 300)}"
    return Problem("MM461", message, place, "check the installation: pip check")


def _answer(
    worker: Reporter, versions: dict[str, str], start_s: float, cap_s: float
) -> dict[str, Any]:
    """The last answer of the worker, or its replacement when its time is up; adds to ``versions``
    those that it names."""
    started, deadline = False, monotonic() + start_s
    while True:
        try:
            report = worker.report(deadline - monotonic())
        except TimeoutError:
            late = {"step": "done", "applies": True, "seconds": cap_s}
            return late if started else {"step": "slow-start"}
        if report is None:
            return {"step": "ended", "code": worker.exit_code()}
        step = report.get("step")
        if step == "start":
            started, deadline = True, monotonic() + cap_s
        elif step == "versions":
            versions |= {str(n): str(v) for n, v in dict(report["versions"]).items()}
        elif step in ("done", "missing", "broken"):
            return report
