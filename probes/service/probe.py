"""The smoke test of the Tinker service: does it answer, and does it give out a training client?

It reaches the network and uses the credential of the SDK, hence it runs only when asked for. The
calls are those of the real SDK, see :mod:`.worker`; here their outcomes become facts.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from time import monotonic
from typing import Any

from ...facts.kinds import Vocabulary
from ...facts.problems import Location, ModelMedicError, Problem
from ..outcome import Collector, Outcome, not_available
from ..shared.child_processes import Reporter
from ..shared.redaction import SessionNames, without_keys

# Named, not imported: it loads asyncio, which the command line has no use for.
WORKER = os.path.join(os.path.dirname(__file__), "worker.py")
MAX_LINES = 100


def run_smoke(settings: dict[str, Any], limit_s: float, python: Path | None) -> Iterator[Any]:
    """The reports of :mod:`.worker`, as they come; the last one is {"step": "done"},
    {"step": "killed"} after ``limit_s`` seconds, or {"step": "ended", "code": ...} if the
    process broke down. Raises :class:`ModelMedicError` (MM420, MM421) if none can start.
    """
    deadline = monotonic() + limit_s
    with Reporter(WORKER, python=python, given=json.dumps(settings).encode()) as worker:
        for _ in range(MAX_LINES):
            try:
                report = worker.report(deadline - monotonic())
            except TimeoutError:
                yield {"step": "killed"}
                return
            if not report or "step" not in report:
                yield {"step": "ended", "code": worker.exit_code()}
                return
            yield report
            if report["step"] == "done":
                return


CALL_S = 10.0
CLIENT_S = 60.0
TRIALS = 3
RANK = 32
MAX_TRIALS = 100
MAX_SECONDS = 3600.0
# Starting Python and importing the SDK, which loads hundreds of modules.
START_S = 60.0
SLACK_S = 15.0
_LISTED = Location("service:capabilities")
_REASONS = {
    "paused_capacity": "Tinker backend is running short on capacity, please wait",
    "paused_rate_limit": "concurrent training clients rate limit hit",
}
_OWNER = "tinker"
_EVENTS = {"paused_capacity": "capacity-wait", "paused_rate_limit": "rate-limited"}
Runner = Callable[[dict[str, Any], float, Path | None], Iterable[dict[str, Any]]]


def gather_service(
    vocabulary: Vocabulary, *, base_url: str = "", model: str = "", training_client: bool = True,
    timeout_s: float = CALL_S, client_s: float = CLIENT_S, trials: int = TRIALS,
    python: Path | None = None, run: Runner = run_smoke,
) -> Outcome:  # fmt: skip
    """The facts of the smoke test: ``service_check``, and for a failure also ``error_message``,
    ``http_response`` and ``log_event``; ``base_model`` and ``call_outcomes`` beside.

    Checks: ``credentials`` (the SDK finds one), ``capabilities`` (latency_s is the quickest of
    ``trials`` calls, each of at most ``timeout_s``), ``create-training-client`` (LoRA of rank 32 on
    ``model``, else on a small one that the service lists; at most ``client_s``; skipped with
    ``training_client`` false or if capabilities failed). ``timed_out`` means that the bound ran out
    first, or the SDK's own. ``base_url`` is that of the service, by default the SDK's.
    ``python`` names the interpreter (or folder) of another environment whose SDK is to be used.
    The credential is left to the SDK; keys, session ids and user names of URLs are cut out of every
    text. ``run`` starts the test and yields its reports.

    Problems: MM403 not installed, MM480 the test broke down, MM481 the SDK
    cannot be imported, MM482 the SDK did not load in time, MM483 the service lists no model that
    can be trained, MM484 a setting is out of range, MM420 and MM421 about ``python``. Never raises.
    """
    if not _usable(timeout_s, client_s, trials):
        message = (f"time limits must lie between 0 and {MAX_SECONDS:g} s, "
                   f"trials between 1 and {MAX_TRIALS}")  # fmt: skip
        return Outcome(problems=(Problem("MM484", message),))
    settings = {"base_url": base_url, "model": model, "training_client": training_client,
                "timeout_s": timeout_s, "client_s": client_s, "trials": trials,
                "rank": RANK}  # fmt: skip
    limit_s = START_S + trials * timeout_s + client_s + SLACK_S
    results = _Results(vocabulary, model, python)
    try:
        for report in run(settings, limit_s, python):
            results.take(report)
    except ModelMedicError as error:
        return Outcome(problems=error.problems)
    return results.outcome()


def _usable(timeout_s: float, client_s: float, trials: int) -> bool:
    times = all(math.isfinite(each) and 0 < each <= MAX_SECONDS for each in (timeout_s, client_s))
    return times and 1 <= trials <= MAX_TRIALS


class _Results:
    """Turns the reports of the worker into facts."""

    def __init__(self, vocabulary: Vocabulary, model: str, python: Path | None) -> None:
        self._collector = Collector(vocabulary, "probe:service")
        self._model = model
        self._python = python
        self._sessions = SessionNames()
        self._missing = self._refused = False
        self._running: dict[str, Any] = {}

    def take(self, report: dict[str, Any]) -> None:
        """Add the facts of one report."""
        step = report["step"]
        if step == "start":
            self._running = report
        elif step == "credentials":
            ok = report["ok"] is True
            self._collector.add("service_check", "service:credentials", check="credentials", ok=ok)
        elif step == "check":
            self._check(report)
            self._running = {}
        elif step == "no-model":
            message = "the service lists no model that can be trained"
            self._problem("MM483", message, _LISTED, "name one with the option for the model")
        elif step == "missing":
            self._not_installed(report)
        elif step in ("killed", "ended"):
            self._broken_off(report)

    def outcome(self) -> Outcome:
        """Everything taken so far."""
        if self._missing:
            return not_available("the tinker package", "tinker")
        return self._collector.outcome()

    def _check(self, report: dict[str, Any]) -> None:
        check, ok = str(report["check"]), report["ok"] is True
        timed_out = report.get("timed_out") is True
        text = self._clean(report.get("text"))
        exception = str(report.get("exception") or "")
        error = f"{exception}: {text}" if text else exception
        place = f"service:{check}"
        seconds = round(float(report["seconds"]), 4)
        self._collector.add("service_check", place, check=check, ok=ok, latency_s=seconds,
                            error=error or None, timed_out=timed_out or None)  # fmt: skip
        if ok:
            self._answered(report, place)
            return
        status = int(report.get("status") or 0)
        operation = str(report.get("operation") or "") or None
        if status:
            # Creating a client takes several requests: its time is not that of one answer.
            latency_s = seconds if check == "capabilities" else None
            body = self._clean(report.get("body")) or None
            self._collector.add("http_response", place, status=status, operation=operation,
                                latency_s=latency_s, count=1, body=body,
                                owner=_OWNER)  # fmt: skip
        self._queue(report, place)
        # A bound of ours that ran out is not an error of the SDK.
        if exception and exception not in ("TimeoutError", "CancelledError"):
            module = str(report.get("module") or "").partition(".")[0]
            self._collector.add("error_message", place, text=text, exception=exception,
                                module=None if module == "builtins" else module or None,
                                source="service check", count=1, owner=_OWNER,
                                owner_confidence="certain",
                                owner_evidence="the smoke test calls nothing but the SDK",
                                )  # fmt: skip

    def _answered(self, report: dict[str, Any], place: str) -> None:
        """Add the facts of an answer of the capabilities call, besides that it came."""
        attempts, failed = int(report.get("attempts") or 0), int(report.get("failed") or 0)
        if attempts > 1:
            self._collector.add("call_outcomes", place, operation=str(report["operation"]),
                                attempts=attempts, failed=failed,
                                failed_share=round(failed / attempts, 4))  # fmt: skip
        names = [str(name) for name in report.get("models") or ()]
        if not (names and self._model):
            return
        served = self._model in names
        closest = "" if served else _closest(self._model, names)
        same = None if served else _folded(closest) == _folded(self._model)
        self._collector.add("base_model", place, name=self._model, served=served,
                            closest=closest or None, spelling_differs=same)  # fmt: skip

    def _queue(self, report: dict[str, Any], place: str) -> None:
        """Why the service lets the creation wait, as the SDK would log it after 15 minutes."""
        state = str(report.get("queue") or "")
        reason = self._clean(report.get("reason")) or _REASONS.get(state, "")
        if not reason:
            return
        model = str(self._running.get("model") or self._model)
        text = f"Model creation for {model} is paused. Reason: {reason}."
        for event in ("queue-paused", _EVENTS.get(state)):
            if event:
                self._collector.add("log_event", place, event=event, present=True, count=1,
                                    text=text, operation="create_model")  # fmt: skip

    def _broken_off(self, report: dict[str, Any]) -> None:
        """The process was ended or has ended before it was done."""
        if self._refused:
            return
        if not self._running:
            if report["step"] == "killed":
                message = f"the SDK did not load within {START_S:g} s and the time of the test"
                self._problem("MM482", message, None, "run it again; is the disk slow?")
            else:
                message = f"the smoke test broke down (exit status {report.get('code')})"
                self._problem("MM480", message, None, "try it in a script: import tinker")
            return
        check = str(self._running["check"])
        timed_out = report["step"] == "killed"
        why = "the call blocks and cannot be cancelled" if timed_out else "the process broke down"
        self._collector.add("service_check", f"service:{check}", check=check, ok=False,
                            timed_out=timed_out, error=why)  # fmt: skip

    def _not_installed(self, report: dict[str, Any]) -> None:
        self._refused = True
        if self._python is None and report.get("name") in ("", "tinker"):
            self._missing = True
            return
        reason = self._clean(report.get("reason"))
        where = Location(str(self._python)) if self._python else None
        hint = "install it there: pip install tinker"
        self._problem("MM481", f"the tinker package cannot be imported: {reason}", where, hint)

    def _problem(self, code: str, message: str, where: Location | None, hint: str) -> None:
        self._collector.extend((Problem(code, message, where, hint),))

    def _clean(self, text: object) -> str:
        return self._sessions.hide(without_keys(str(text or "")))


def _closest(model: str, names: list[str]) -> str:
    """The most similar of ``names``, spelling and case aside; "" if none is similar."""
    import difflib

    folded = {_folded(name): name for name in sorted(names)}
    close = difflib.get_close_matches(_folded(model), folded, n=1, cutoff=0.6)
    return folded[close[0]] if close else ""


def _folded(name: str) -> str:
    return "".join(char for char in name.lower() if char.isalnum() or char == "/")
