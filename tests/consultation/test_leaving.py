"""Ctrl-C and Ctrl-D at every kind of prompt, and pastes there: nothing breaks, nothing is lost."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from modelmedic.engine import Diagnoser
from modelmedic.interfaces.consult import keyboard

from .test_pastes import BILLING, BINARY, COLOURED, FOUND, LONG
from .typist import Played, play

pytestmark = pytest.mark.slow

CTRL_C, CTRL_D = "\x03", "\x04"
OFFER = ["my job hangs\r"]
CHOICE = ["steps are slow\r", "n\r", "none\r"]
VALUE = [*CHOICE, "more\r", *["?\r"] * 3]
PLACES = {
    "the opening question": [],
    "half a line": ["half a li"],
    "an offer to run a probe": OFFER,
    "a choice": CHOICE,
    "a later question": VALUE,
    "a paste by command": [*CHOICE, "paste\r"],
    "in the middle of one": [*CHOICE, "paste\r", "Traceback\r"],
    "an answer that is changed": [*CHOICE, "change 1\r"],
    "a search": [*CHOICE, "\x12", "slow"],
    "a half paste": [*CHOICE, "\x1b[200~one\ntwo"],
    "completions": [*CHOICE, "w\t"],
    "the end": [BILLING + "\r"],
    "vi keys": ["\x1bOS", *CHOICE, "\x1b"],
}  # fmt: skip
Play = Callable[..., tuple[Played, str]]


@pytest.fixture
def typed(
    doctor: Diagnoser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Play:  # fmt: skip
    """Types pieces into a consultation: what came of it, and everything shown."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(keyboard, "LOST_S", 0.01)

    def run(pieces: list[str], *, resume: bool = False) -> tuple[Played, str]:
        played = play(doctor, tmp_path / "state", pieces, resume=resume)
        shown = capsys.readouterr().out
        for bad in ("Press ENTER", "Unhandled exception", 'File "'):
            assert bad not in shown + played.shown.replace(COLOURED, "")
        return played, shown

    return run


@pytest.mark.sweep
@pytest.mark.parametrize("place", PLACES)
def test_keys_that_end_things(typed: Play, place: str) -> None:
    """Ctrl-D leaves; so does Ctrl-C, at the second time at the latest. No answer is lost."""
    before, _ = typed(PLACES[place])
    said = answers(before)
    for keys in (CTRL_D, CTRL_C + CTRL_C, CTRL_C + CTRL_D):
        after, shown = typed([*PLACES[place], *keys])
        assert answers(after)[: len(said)] == said, f"an answer is lost after {keys!r}"
        assert "Goodbye." in shown or "goes on." in shown
    if said:
        again, _ = typed([CTRL_D], resume=True)
        assert answers(again) == answers(after)


def answers(played: Played) -> list[tuple[str, str]]:
    """The questions with their answers; a question that Ctrl-C put aside has no answer."""
    entries = played.dialogue.entries
    return [(entry.question, entry.answer) for entry in entries if entry.answer != "unknown"]


@pytest.mark.parametrize(("text", "places"), [
    (LONG, ("the opening question", "a choice", "an offer to run a probe", "a paste by command")),
    (BINARY, ("the opening question", "a choice", "a search", "half a line")),
    (COLOURED, ("the opening question", "a later question", "completions", "a paste by command",
                "the end")),
], ids=["5,000 lines", "binary", "ANSI"])  # fmt: skip
def test_a_paste_is_one_answer_anywhere(typed: Play, text: str, places: tuple[str, ...]) -> None:
    for place in places:
        before, _ = typed(PLACES[place])
        after, shown = typed([*PLACES[place], text])
        new = after.dialogue.entries[len(before.dialogue.entries) :]
        assert len(new) <= 2, f"{place}: each line became an answer"
        assert FOUND in shown, place


@pytest.mark.parametrize("key", [CTRL_C, CTRL_D], ids=["C", "D"])
def test_the_list_of_what_is_kept(
    terminal: Callable[..., Any], typed: Play, home: Path, doctor: Diagnoser, key: str
) -> None:
    for said in ("hang", "slow-steps"):
        play(doctor, home / "modelmedic", [said + "\r"])
    before = kept_files(home)
    term = terminal("--resume")
    term.wait("Which consultation?")
    assert term.end(key) == 0
    assert "Traceback" not in term.text
    assert kept_files(home) == before


def kept_files(home: Path) -> dict[str, str]:
    return {path.name: path.read_text("utf-8") for path in home.rglob("sessions/*.json")}
