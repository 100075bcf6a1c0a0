"""Starts a consultation: selects the driver, the probes and the session file."""

from __future__ import annotations

import gc
import os
import sys
from pathlib import Path

from ...engine.diagnosis.dialogue.dialogue import Dialogue
from ...facts.fact_file import MAX_BYTES, read_text
from ..context import Context
from ..output import report_code
from .drivers import Driver, LineDriver, ScriptDriver
from .input_handler import Sources
from .kept_sessions import KeptSessions, error_if_missing
from .loop import Consultation
from .phrasing import Phrasing
from .session import SessionFile, state_folder


def consult(
    context: Context,
    *,
    answers: Path | None = None,
    accessible: bool = False,
    resume: str | None = None,
    vi: bool = False,
    told: str = "",
) -> int:
    """Run one consultation and return the exit code of its report. ``resume`` names a saved one to
    continue, empty to let the user choose; ``told`` is their complaint so far."""
    doctor = context.doctor
    gc.freeze()  # the knowledge stays; collect only what follows
    gc.enable()
    sources = Sources(doctor)
    folder = state_folder() if answers is None else None
    driver = _driver(answers, accessible, folder, vi)
    dialogue = Dialogue(doctor, (), sources.runnable, sources.readable)
    session: SessionFile | None = KeptSessions(folder).new() if folder else None
    if resume is not None and answers is None:
        kept = KeptSessions(error_if_missing(folder))
        try:
            session, dialogue = kept.choose(dialogue, driver, Phrasing(doctor.base), resume)
        except (EOFError, KeyboardInterrupt):
            return 0
    finished = Consultation(dialogue, driver, sources, session).run(told)
    return report_code(finished.report, context.fail_on)


def _driver(answers: Path | None, accessible: bool, folder: Path | None, vi: bool) -> Driver:
    if answers is not None:
        text = read_text(answers, MAX_BYTES, "a file of answers has one answer a line")
        return ScriptDriver(text.splitlines())
    plain = accessible or _set("ACCESSIBLE") or os.environ.get("TERM", "dumb") == "dumb"
    if plain or not (sys.stdin.isatty() and sys.stdout.isatty()):
        return LineDriver()
    from .terminal import TerminalDriver

    return TerminalDriver(folder / "history" if folder else None, vi=vi or _wants_vi())


def _wants_vi() -> bool:
    """Whether the user prefers vi keys, here or for every program that uses readline."""
    chosen = os.environ.get("MODELMEDIC_KEYS", "").lower()
    if chosen:
        return chosen == "vi"
    try:
        path = Path(os.environ.get("INPUTRC") or "~/.inputrc").expanduser()
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except (OSError, RuntimeError):
        return False
    return any(line.lower().split() == ["set", "editing-mode", "vi"] for line in lines)


def _set(variable: str) -> bool:
    return os.environ.get(variable, "") not in ("", "0")
