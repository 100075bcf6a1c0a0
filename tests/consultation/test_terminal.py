"""The consultation in a real terminal: stories of people, keys, sizes, what is kept."""

import json
import re
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

Start = Callable[..., Any]
TRACEBACK = """Traceback (most recent call last):
  File "train.py", line 41, in <module>
    main()
  File "train.py", line 30, in main
    future.result()
tinker.BillingError: Error code: 402 - {"detail": "billing is blocked"}
"""


_OFFER = re.compile(r"\b[nN]\b.*\] >$")
PIPELINING = "Does the loop wait for a result before it submits the next call?"


def until(term: Any, wanted: str, *, most: int = 30) -> None:
    """Answer "I do not know", and "no" to every probe, and ask on, until ``wanted`` is shown."""
    for _ in range(most):
        if wanted in term.text:
            return
        asks_on = term.prompt.strip() == ">" and "`more` asks on" in term.text
        term.answer("more" if asks_on else "n" if _OFFER.search(term.prompt) else "?")
    raise AssertionError(f"{wanted!r} is never shown; the screen:\n" + "\n".join(term.lines))


def to_pipelining(term: Any) -> None:
    """Slow training, up to the question about pipelining."""
    term.wait("What is wrong?")
    term.answer("training is really slow, every step takes minutes")
    until(term, PIPELINING)


def test_slow_training(terminal: Start) -> None:
    term = terminal()
    to_pipelining(term)
    term.answer("yes")
    term.wait("API calls are not pipelined")
    assert "missing-pipelining" in "".join(term.text)


def test_a_pasted_traceback_is_taken_at_once(terminal: Start) -> None:
    term = terminal()
    term.wait("What is wrong?")
    term.paste(TRACEBACK)
    term.wait("(6 lines pasted)")
    term.wait("Account is blocked for billing")


def test_a_traceback_can_be_pasted_at_any_question(terminal: Start) -> None:
    term = terminal()
    to_pipelining(term)
    term.paste(TRACEBACK)
    term.wait("Account is blocked for billing")


@pytest.mark.deep
def test_someone_who_knows_nothing_is_asked_what_can_be_looked_at(
    terminal: Start, tmp_path: Path
) -> None:
    log = tmp_path / "job.log"
    log.write_text(TRACEBACK)
    term = terminal()
    term.wait("What is wrong?")
    term.answer("I don't know")
    term.wait("What do you have that I could look at?")
    term.answer(str(log))
    term.wait("Account is blocked for billing")


@pytest.mark.deep
def test_someone_who_knows_and_has_nothing_is_told_what_would_help(terminal: Start) -> None:
    term = terminal()
    term.wait("What is wrong?")
    until(term, "Give me something to go by")
    term.answer("my job hangs")
    term.wait("understood: A step, a call or the start of the job never comes to an end")


@pytest.mark.deep
def test_ctrl_c_once_puts_aside_twice_leaves_and_resume_goes_on(
    terminal: Start, home: Path
) -> None:
    term = terminal()
    to_pipelining(term)
    term.interrupt()
    term.wait("Question put aside; Ctrl-C again leaves.")
    assert term.end("\x03") in (0, 1)
    term.wait("`diagnose --resume` goes on")
    kept = home / "modelmedic" / "sessions" / "slow-steps-1.json"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    again = terminal("--resume")
    again.answer("facts")
    again.wait("1. What is wrong? Training steps take longer")
    again.wait(f"{PIPELINING} not known")


def test_ctrl_c_clears_a_line_that_is_being_typed(terminal: Start) -> None:
    term = terminal()
    term.wait("What is wrong?")
    term.type("half a line")
    term.wait("half a line")
    term.type("\x03")
    term.wait_for(lambda: "half a line" not in term.text, "for the line to be cleared")
    assert "again leaves" not in term.text


@pytest.mark.deep
def test_it_explains_why_how_why_not_and_what_if(terminal: Start) -> None:
    term = terminal(rows=60)
    to_pipelining(term)
    term.answer("why")
    term.wait("How to tell: forward_backward(...)")
    term.answer("how tinker.perf.slow-steps")
    term.wait("rule tinker.rule.perf-slow-steps")
    term.answer("why-not tinker.billing.blocked")
    term.wait("Account is blocked for billing (tinker.billing.blocked) is not concluded.")
    term.answer("whatif sequential")
    term.wait("New: - API calls are not pipelined")
    term.answer("why-not tinker.billing.blokced")
    term.wait("did you mean 'tinker.billing.blocked'?")


@pytest.mark.deep
def test_forty_columns(terminal: Start) -> None:
    term = terminal(columns=40, rows=90)
    term.answer("help")
    term.wait("the session is kept for")
    assert any(line.startswith("      why this is asked") for line in term.lines)
    to_pipelining(term)
    assert "Does the loop wait for a result" in term.text
    term.answer("yes")
    term.wait("API calls are not pipelined")
    term.wait_for(lambda: term.toolbar.endswith("F1 help"), "for a toolbar that fits")


@pytest.mark.deep
def test_the_window_can_change_its_size(terminal: Start) -> None:
    term = terminal(columns=100)
    term.ready()
    term.wait("Tab completes")
    term.resize(40, 24)
    term.wait_for(lambda: "Tab completes" not in term.toolbar and "F1" in term.toolbar,
                  "for a shorter toolbar")  # fmt: skip
    term.answer("help")
    term.wait("why this is asked")


@pytest.mark.deep
def test_words_complete_fuzzily(terminal: Start) -> None:
    term = terminal()
    term.wait("What is wrong?")
    term.type("why-not tpmp\t")
    term.wait("tinker.perf.missing-pipelining")


def test_paths_complete(terminal: Start, tmp_path: Path) -> None:
    (tmp_path / "some-training-log.txt").write_text("nothing")
    term = terminal()
    term.wait("What is wrong?")
    term.type(f"inspect {tmp_path}/stl\t")
    term.wait_for(lambda: "some-training-log.txt" in term.text, "for the path")


def test_colour_is_never_alone(terminal: Start) -> None:
    term = terminal(NO_COLOR="1")
    term.paste(TRACEBACK)
    term.wait("[blocker] Account is blocked for billing")
    assert not any(f"\x1b[{n}m" in term.raw for n in (31, 32, 33, 34, 35, 36))


@pytest.mark.deep
def test_answers_in_any_script(terminal: Start) -> None:
    term = terminal()
    term.wait("What is wrong?")
    term.answer("モデルの学習が遅い – ça ne marche pas 🐌")
    term.wait("No symptom and no known error fits that well")


def test_hostile_text_is_shown_escaped(terminal: Start) -> None:
    term = terminal()
    term.wait("What is wrong?")
    hostile = "zebra.StripeError: \x1b]0;owned\x07 \u202egnp.exe \x9b31m"
    term.paste(f"Traceback (most recent call last):\n{hostile}\n")
    term.wait("lines pasted")
    term.answer("facts")
    term.wait("gnp.exe")
    for control in ("\x1b]0;owned", "\u202e", "\x9b31m"):
        assert control not in term.raw


@pytest.mark.deep
def test_screen_readers_get_plain_lines(terminal: Start) -> None:
    term = terminal(ACCESSIBLE="1", NO_COLOR="1")
    term.wait("your words, or ?] >")
    term.send(TRACEBACK)
    term.wait("likely: Account is blocked for billing")
    assert "\x1b[?2004h" not in term.raw
    assert "F1 help" not in term.text


def test_keys(terminal: Start) -> None:
    term = terminal()
    term.wait("What is wrong?")
    term.press("\x1bOP")
    term.wait("these commands")
    term.type("\x1bOS")
    term.wait_for(lambda: term.toolbar.endswith(" vi"), "for the mode of the keys")


@pytest.mark.deep
def test_keys_of_vi(terminal: Start) -> None:
    term = terminal("--vi")
    term.wait("What is wrong?")
    term.wait_for(lambda: term.toolbar.endswith(" vi"), "for the mode of the keys")
    term.type("helpp\x1bx\r")
    term.wait("these commands")


@pytest.mark.deep
def test_history_is_private_and_holds_no_keys(terminal: Start, home: Path) -> None:
    term = terminal()
    term.wait("What is wrong?")
    term.answer("my key tml-abcdefghijklmnop fails")
    term.answer("candidates")
    kept = home / "modelmedic" / "history"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    text = kept.read_text(encoding="utf-8")
    assert "candidates" in text
    assert "abcdefghijklmnop" not in text


@pytest.mark.deep
def test_saving_reporting_and_handing_over(terminal: Start, tmp_path: Path) -> None:
    term = terminal()
    to_pipelining(term)
    term.answer("yes")
    term.answer(f"save {tmp_path}/facts.json")
    term.wait("diagnose --facts")
    assert json.loads((tmp_path / "facts.json").read_text())["schema"] == "modelmedic/facts/1"
    term.answer(f"report {tmp_path}/report.json")
    term.wait("report.json")
    term.answer(f"report packet {tmp_path}/packet.md")
    term.wait("Saved " + str(tmp_path / "packet.md"))
    assert json.loads((tmp_path / "report.json").read_text())["schema"] == "modelmedic/report/1"
    assert "API calls are not pipelined" in (tmp_path / "packet.md").read_text()
    term.answer("report packt")
    term.wait("did you mean 'packet'?")


@pytest.mark.deep
def test_the_opening_fits_a_small_screen(terminal: Start) -> None:
    term = terminal(columns=80, rows=24)
    term.wait("Enter shows 15 to 26")
    term.ready()
    shown = "\n".join(term.lines)
    assert "1. What is wrong?" in shown
    assert "14) " in shown and "?) I do not know" in shown and "your words, or ?] >" in shown
    term.answer("")
    term.wait("26) ")
    assert "1. What is wrong?" in "\n".join(term.lines)
    term.answer("3")
    term.wait("2. ")
