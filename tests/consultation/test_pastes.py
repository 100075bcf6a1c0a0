"""A paste of any kind is one answer, whether or not the terminal marks it."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from modelmedic.interfaces.consult.typed_or_pasted import is_paste, plain_paste

Start = Callable[..., Any]
BILLING = 'tinker.BillingError: Error code: 402 - {"detail": "billing is blocked"}'
TRACEBACK = f"""Traceback (most recent call last):
  File "train.py", line 41, in <module>
    main()
{BILLING}
"""
COLOURED = "\n".join(f"\x1b[1;31m{line}\x1b[0m" for line in TRACEBACK.splitlines()) + "\n"
LONG = "\n".join(f"step {n} of 5000 took 2.5 s" for n in range(5_000)) + f"\n{TRACEBACK}"
BINARY = "".join(chr(random.Random(1).randrange(1, 256)) for _ in range(3_000)) + f"\n{TRACEBACK}"
FOUND = "Account is blocked for billing"


@pytest.mark.parametrize("text", ["a\rb", "a\nb", "a\r\nb\r\n", "3\nstep 4\n", TRACEBACK, COLOURED])
def test_two_lines_at_once_are_a_paste(text: str) -> None:
    assert is_paste(text)


@pytest.mark.parametrize("text", ["", "a", "a\r", "\r", "\r\n\r\n", "3\r?\ry\r", "yes\n\n12\n"])
def test_what_is_typed_is_not(text: str) -> None:
    assert not is_paste(text)


def test_a_paste_is_made_plain() -> None:
    assert plain_paste("\x1b[1;31ma\x1b[0m\r\nb\x1b]0;title\x07\rc\udcff\n\n") == "a\nb\nc\ufffd"


@pytest.mark.sweep
@pytest.mark.slow
@pytest.mark.parametrize(
    "text", [TRACEBACK, COLOURED, LONG], ids=["traceback", "coloured", "5,000 lines"]
)
@pytest.mark.parametrize("ends", ["\n", "\r"], ids=["LF", "CR"])
def test_without_marks(terminal: Start, text: str, ends: str) -> None:
    term = terminal()
    term.wait("What is wrong?")
    term.press(text.replace("\n", ends))
    term.wait(f"({text.count(chr(10))} lines pasted)")
    term.wait(FOUND)
    assert "Traceback" not in term.text.replace("(most recent call last)", "")
    term.answer("facts")
    term.wait("1. ")
    assert "2. " not in term.text.partition("facts")[2].partition("Shall")[0][:200]


@pytest.mark.slow
def test_with_marks_and_long(terminal: Start) -> None:
    term = terminal()
    term.wait("What is wrong?")
    term.paste(LONG)
    term.wait("lines pasted)")
    term.wait(FOUND)


@pytest.mark.slow
def test_after_what_was_typed(terminal: Start) -> None:
    term = terminal()
    term.wait("What is wrong?")
    term.type("it says ")
    term.wait("it says")
    term.paste(TRACEBACK)
    term.wait(FOUND)


@pytest.mark.slow
def test_binary(terminal: Start) -> None:
    """Bytes that are not text, control characters among them, end nothing and are one answer."""
    term = terminal()
    term.wait("What is wrong?")
    term.paste(BINARY.replace("\x1b", ""))
    term.wait("lines pasted)")
    term.answer("candidates")
    term.wait(FOUND)
    assert "Press ENTER" not in term.text


@pytest.mark.slow
def test_typed_ahead(terminal: Start) -> None:
    """A paste before the first prompt appears is one answer as well."""
    term = terminal()
    term.send(COLOURED)
    term.wait(FOUND)
    assert "Press ENTER" not in term.text


@pytest.mark.slow
def test_short_answers_typed_ahead_are_answers(terminal: Start) -> None:
    term = terminal()
    term.wait("What is wrong?")
    term.press("14\rn\rn\r")
    term.answer("facts")
    term.wait("1. What is wrong? Steps consist of waiting")
    term.wait("3. ")


@pytest.mark.slow
@pytest.mark.parametrize(
    "text", ["\x1b[31mmy job hangs\x1b[0m\r", "\x1b[1;2R\x1b[<0;1;1M\x1b[?1;2c\r"]
)
def test_codes_of_terminals_are_no_answers(terminal: Start, text: str) -> None:
    term = terminal()
    term.wait("What is wrong?")
    term.press(text)
    term.answer("help")
    term.wait("these commands")
    assert "Press ENTER" not in term.text
    assert "Traceback" not in term.text


@pytest.mark.slow
def test_into_plain_lines(terminal: Start, tmp_path: Path) -> None:
    term = terminal(ACCESSIBLE="1")
    term.wait("your words, or ?] >")
    term.send(LONG)
    term.wait(FOUND)
    term.send("facts\r")
    term.wait("1. ")
