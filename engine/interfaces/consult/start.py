"""Starts a consultation: which driver, which probes, where it is saved."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ....facts import Fact, Location
from ....facts.fact_file import decode
from ...dialogue import Dialogue
from ..output import exit_code
from ..setup import load_doctor
from .drivers import Driver, LineDriver, ScriptDriver, TerminalDriver
from .loop import Consultation
from .words import Words


def consult(
    facts: Sequence[Fact] = (),
    *,
    answers: Path | None = None,
    accessible: bool = False,
    resume: bool = False,
    overlays: Sequence[str] = (),
    engine: Any = "auto",
    fail_on: str = "error",
) -> int:
    """Run one consultation and return the exit code of its report."""
    doctor = load_doctor(overlays, engine)
    probes = _probes(doctor.base.vocabulary)
    dialogue = Dialogue(doctor, (), probes)
    words = Words(doctor, probes)
    saved = _session_file() if answers is None else None
    if resume and saved is not None and saved.exists():
        dialogue = dialogue.informed("resumed", words.load(saved))
    if facts:
        dialogue = dialogue.informed("--facts", facts)
    driver = _driver(answers, accessible)
    finished = Consultation(dialogue, driver, words, saved).run()
    return exit_code(finished.report, fail_on)


def _driver(answers: Path | None, accessible: bool) -> Driver:
    if answers is not None:
        form = "a file of answers has one answer a line"
        text = decode(answers.read_bytes(), Location(str(answers)), form)
        return ScriptDriver(text.splitlines())
    plain = accessible or os.environ.get("TERM", "dumb") == "dumb"
    if plain or not (sys.stdin.isatty() and sys.stdout.isatty()):
        return LineDriver()
    return TerminalDriver()


def _probes(vocabulary: Any) -> dict[str, Callable[[], Any]]:
    """The probes that can run without being told about a path."""
    from ....probes.environment import gather_environment

    return {"environment": lambda: gather_environment(vocabulary)}


def _session_file() -> Path | None:
    """Where the session is kept: the user's state folder, readable by the user only."""
    from platformdirs import user_state_path

    try:
        folder = user_state_path("modelmedic", appauthor=False)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except (OSError, RuntimeError):
        return None
    return folder / "session.json"
