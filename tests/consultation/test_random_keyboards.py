"""Any keys at all: no traceback, no error of the line editor, and what was said is kept.

A few keyboards at a real terminal, many more at the line editor in this process: 60 in deep runs,
200 with `make keyboards`.
"""

import os
import random
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from prompt_toolkit.buffer import Buffer

from modelmedic.engine import Diagnoser
from modelmedic.interfaces.consult import keyboard as keyboard_module

from .typist import SIZES, play

pytestmark = pytest.mark.slow

Start = Callable[..., Any]
WORDS = ("my job hangs", "?", "1", "2", "n", "yes", "why", "back", "facts", "more", "candidates",
         "change 1", "whatif yes", "whatif 1=2", "conclude", "how", "skip", "inspect /dev/null",
         "paste", "report", "why-not x", "none", "12 s", "steps are slow", "loss is nan", "help",
         "tinker.BillingError: Error code: 402")  # fmt: skip
KEYS = (*"abcxyz0123 .-=/?'\"\\", *"éß漢🐌", "\t", "\r", "\r", "\x7f", "\x01", "\x05", "\x0b",
        "\x0c", "\x12", "\x15", "\x17", "\x18", "\x03", "\x1b", "\x1b[A", "\x1b[B", "\x1b[C",
        "\x1b[D", "\x1bOP", "\x1bOQ", "\x1bOR", "\x1bOS", "\x1b[31m", "\x1b[0m", "\x1b[5~",
        "\x1b[200~two\nlines\x1b[201~", "\x1b]0;x\x07", "\x00", "\xff", "\x1b[M")  # fmt: skip
# Only where no real terminal is in between: what arrives cut in two, and half a character.
BROKEN = ("\x1b[200~half a paste\nof two lines", "\x1b[201~", "\x1b[20", "0~", "\x1b[1;", "\udcff",
          "\u202e", "e\u0301", "\x1b[200~\x1b[200~", "\x1b[201~\x1b[201~")  # fmt: skip
LEAVE = "\x04"
MANY = 300
AT_A_TERMINAL, NORMALLY, ALL = 6, 20, int(os.environ.get("KEYBOARDS") or 60)


def keyboard(seed: int, more: tuple[str, ...] = ()) -> list[str]:
    """Pieces of 1 to 20 keys, as they arrive together."""
    chance = random.Random(seed)
    every = KEYS + more
    keys = [
        chance.choice(WORDS) + "\r" if chance.random() < 0.15 else chance.choice(every)
        for _ in range(MANY)
    ]
    pieces = []
    while keys:
        size = chance.randint(1, 20)
        pieces.append("".join(keys[:size]))
        keys = keys[size:]
    return pieces


def resizing(pieces: list[str], seed: int) -> Iterator[str]:
    """The pieces, with windows that become narrow and wide again in between."""
    chance = random.Random(seed)
    for piece in pieces:
        yield piece
        if chance.random() < 0.2:
            yield chance.choice(list(SIZES))


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(AT_A_TERMINAL))
def test_random_keys(terminal: Start, seed: int) -> None:
    term = terminal(rows=60)
    term.wait("What is wrong?")
    for piece in keyboard(seed):
        if not term.alive:
            break
        term.send(piece)
        term.look()
    term.finish()
    assert "Press ENTER" not in term.text
    assert "Traceback (most recent call last)" not in term.text
    assert term.status in (0, 1, 4, 130) or term.interrupted


@pytest.mark.sweep
@pytest.mark.parametrize("seed", [
    seed if seed < NORMALLY else pytest.param(seed, marks=pytest.mark.deep)
    for seed in range(AT_A_TERMINAL, ALL)
])  # fmt: skip
def test_nothing_that_was_said_is_lost(
    seed: int, doctor: Diagnoser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(keyboard_module, "LOST_S", 0.01)
    pieces = deque(resizing(keyboard(seed, BROKEN), seed))
    state = tmp_path / "state"
    last = play(doctor, state, pieces)
    shown = last.shown
    while pieces:
        said = last.dialogue.entries
        last = play(doctor, state, pieces, resume=bool(said))
        shown += last.shown
    shown += capsys.readouterr().out
    assert "Press ENTER" not in shown
    assert "Traceback (most recent call last)" not in shown
    said = last.dialogue.entries
    if said:
        again = play(doctor, state, [LEAVE], resume=True)
        assert [entry[:2] for entry in again.dialogue.entries] == [entry[:2] for entry in said]
        assert again.dialogue.report.diagnoses == last.dialogue.report.diagnoses


def test_a_key_that_the_line_editor_fails_at(
    doctor: Diagnoser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some commands of vi fail like this; keys typed afterwards are still taken."""

    def fails(buffer: Buffer) -> None:
        raise AssertionError("cursor_position=8, len_text=0")

    monkeypatch.setattr(Buffer, "undo", fails)
    undo = "\x1f"
    last = play(doctor, tmp_path / "state", ["my job", undo, "\x15", "my job hangs\r"])
    assert "Press ENTER" not in last.shown
    assert last.dialogue.entries
