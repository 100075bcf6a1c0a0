"""From a folder of artefacts to the named cause, in one command and with at most one keypress, at a
terminal: every story of the knowledge.

Which files a story has, folders.py says; ``unreached.yaml`` lists the stories whose cause no folder
can tell, with the reason."""

import os
import pty
import re
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from modelmedic.engine import Diagnoser
from modelmedic.interfaces.cli.main import main

from .folders import EXTRA, UNREACHED, Story, build, stories

STORIES = list(stories(Path(__file__).parents[2]))
NAMES = [story.name for story in STORIES]
CASES = [
    pytest.param(story, id=story.name, marks=pytest.mark.xfail(reason=UNREACHED[story.name])
                 if story.name in UNREACHED else ())
    for story in STORIES
]  # fmt: skip
OFFER, QUESTION = "Run it now? It only reads. [Y/n] ", "Enter: not known) "
ENTER, END = "\r", "\x04"
HEADLINE = re.compile(
    r"^\[(?:info|warning|error|blocker)\] (.+?)\s+\((?:certain|likely|possible|symptom)",
    re.MULTILINE | re.DOTALL,
)
STYLES = re.compile(r"\x1b\[[0-9;]*m")

Run = Callable[..., str]


@pytest.fixture
def diagnose(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, compiled: Path) -> Iterator[Run]:
    """Runs the command at a terminal of its own; what the screen showed. One key is pressed: Enter
    at an offer, or the answer to the ``asked`` question; whatever follows ends it."""
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("MODELMEDIC_CACHE", str(compiled))
    master, slave = pty.openpty()
    shown = b""
    keys = Keys()

    def read() -> None:
        nonlocal shown
        while True:
            try:
                shown += os.read(master, 65_536)
            except OSError:
                return
            if key := keys.at(shown.decode("utf-8", "replace")):
                os.write(master, key.encode())

    reader = threading.Thread(target=read, daemon=True)
    reader.start()

    def run(*words: str, asked: Mapping[str, str]) -> str:
        keys.answers = asked
        with os.fdopen(os.dup(slave), "r") as given, os.fdopen(os.dup(slave), "w") as out:
            for name, stream in (("stdin", given), ("stdout", out), ("stderr", out)):
                monkeypatch.setattr(sys, name, stream)
            with pytest.raises(SystemExit):
                main(list(words))
            out.flush()
        monkeypatch.undo()
        os.close(slave)
        reader.join(20)
        return STYLES.sub("", shown.decode("utf-8", "replace")).replace("\r\n", "\n")

    yield run
    os.close(master)


class Keys:
    """The keys pressed at the prompts of a screen: one key, and then the end. ``answers`` has the
    meaning of the answer for each question that the story can answer."""

    def __init__(self) -> None:
        self.answers: Mapping[str, str] = {}
        self._seen = 0
        self._pressed = False

    def at(self, shown: str) -> str:
        """The key for the prompt that the screen ends with; empty if it shows none."""
        screen = STYLES.sub("", shown)
        if len(screen) == self._seen or not screen.endswith((OFFER, QUESTION)):
            return ""
        self._seen = len(screen)
        key = "" if self._pressed else ENTER if screen.endswith(OFFER) else self._answer(screen)
        self._pressed = True
        return key or END

    def _answer(self, screen: str) -> str:
        """The key of the story's answer to the last question."""
        asked = " ".join(screen.rpartition("Question: ")[2].split())
        said = next((answer for text, answer in self.answers.items() if text in asked), "")
        if said in ("yes", "no") or said.isdecimal():
            return said[:1]
        found = re.search(rf"(\d) {re.escape(said)}", asked) if said else None
        return found[1] if found else ""


def verdict(screen: str) -> str:
    """The first headline of the last verdict; empty without one."""
    verdicts = re.split(r"^More: ", STYLES.sub("", screen), flags=re.MULTILINE)
    found = [HEADLINE.search(part) for part in verdicts]
    last = next((match for match in reversed(found) if match), None)
    return " ".join(last[1].split()) if last else ""


@pytest.mark.parametrize("story", CASES)
def test_the_cause_of_a_folder(
    story: Story, diagnose: Run, doctor: Diagnoser, tmp_path: Path
) -> None:
    folder = tmp_path / "case"
    folder.mkdir()
    build(story, folder)
    said = [story.more["said"]] if "said" in story.more else []
    screen = diagnose(str(folder), *said, asked=story.more.get("asked", {}))
    assert "Traceback" not in screen
    assert named(screen, story, doctor), screen


def named(screen: str, story: Story, doctor: Diagnoser) -> bool:
    """Whether the verdict names the diagnosis of the story: as the cause, or, of a sound run, among
    what is fine. Where the story has nothing but a complaint, what explains it says more."""
    if not story.first:
        return not verdict(screen)
    title = doctor.base.summary(story.first).title
    running = " ".join(screen.split())
    explained = running.rpartition(" Explains: ")[2].partition(" Do: ")[0]
    is_complaint = doctor.base.summary(story.first).kind == "symptom"
    if (
        verdict(screen) == title
        or verdict(screen).startswith(f"{title}: ")
        or (is_complaint and title in explained)
    ):
        return True
    fine = running.partition(" Ruled out: ")[0]
    return not verdict(screen) and title in fine


def test_every_entry_is_of_a_story() -> None:
    assert len(set(NAMES)) == len(NAMES)
    assert not set(EXTRA) - set(NAMES)
    assert not set(UNREACHED) - set(NAMES)
