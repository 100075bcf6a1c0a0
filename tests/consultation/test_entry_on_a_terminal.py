"""`diagnose ANYTHING` in a real terminal: a probe can be run from the verdict, words start a
consultation, probes print for people."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

Start = Callable[..., Any]
QUESTION = "Run it now? It only reads. [Y/n]"
ASKED = "Enter: not known)"


@pytest.fixture
def complaint(tmp_path: Path) -> str:
    """A facts file whose verdict proposes a probe that only reads."""
    path = tmp_path / "facts.json"
    facts = [{"kind": "symptom", "name": "slow-steps"}]
    path.write_text(json.dumps({"schema": "modelmedic/facts/1", "facts": facts}))
    return str(path)


def ended(term: Any, keys: str) -> None:
    """Send keys, and wait for the end. Whether a question comes first depends on what this machine
    has; it stays unanswered."""
    term.send(keys)
    term.wait_for(lambda: not term._child.isalive() or ASKED in term.text, "for the end")
    if term._child.isalive():
        term.send("\r")
    term.wait_for(lambda: not term._child.isalive(), "for the end")
    term._read()


@pytest.mark.parametrize("command", [(), ("inspect",), ("--facts",)],
                         ids=["anything", "inspect", "facts"])  # fmt: skip
def test_a_probe_runs_from_the_verdict(terminal: Start, complaint: str, command: Any) -> None:
    term = terminal(*command, complaint, CI="")
    term.wait(QUESTION)
    assert "$ diagnose probe environment" in term.text
    ended(term, "\r")
    assert "Running diagnose probe environment ..." in term.text
    assert "this machine: environment" in term.text
    assert term.text.count("More: `diagnose") == 2, "no second verdict"
    assert term.text.count(QUESTION) == 1
    again = term.text.rpartition("this machine: environment")[2]
    assert "diagnose probe environment" not in again, "what was done is proposed"


def test_a_decoded_error_goes_on(terminal: Start) -> None:
    term = terminal("decode", "Session heartbeat failed for 120 seconds", CI="")
    term.wait(QUESTION)
    ended(term, "\r")
    assert "this machine: environment" in term.text


def test_one_key_answers_the_question_behind_a_verdict(terminal: Start, tmp_path: Path) -> None:
    path = tmp_path / "facts.json"
    facts = [
        {"kind": "symptom", "name": "numerical-instability"},
        {"kind": "merge", "method": "cookbook", "family": "qwen3", "moe": False, "vision": False},
    ]
    path.write_text(json.dumps({"schema": "modelmedic/facts/1", "facts": facts}))
    term = terminal(str(path), CI="")
    term.wait(ASKED)
    assert "Question: Is the model stable when the engine does not quantize it?" in term.text
    term.send("1")
    term.wait("$ vllm serve ./model --dtype bfloat16")
    ended(term, "")


@pytest.mark.parametrize("keys", ["\r", "?", "9", "\x03", "\x04", "12 lines\r"], ids=repr)
def test_no_answer_is_the_end(terminal: Start, tmp_path: Path, keys: str) -> None:
    path = tmp_path / "facts.json"
    facts = [{"kind": "symptom", "name": "numerical-instability"}]
    path.write_text(json.dumps({"schema": "modelmedic/facts/1", "facts": facts}))
    term = terminal(str(path), CI="")
    term.wait(ASKED)
    ended(term, keys)
    assert "Traceback" not in term.text
    assert term.text.count("More: `diagnose") == 1


@pytest.mark.parametrize("keys", ["n\r", "maybe\r", "\x03", "\x04"], ids=repr)
def test_it_is_only_an_offer(terminal: Start, complaint: str, keys: str) -> None:
    term = terminal(complaint, CI="")
    term.wait(QUESTION)
    ended(term, keys)
    assert "Running" not in term.text
    assert "Traceback" not in term.text
    assert term._child.exitstatus == 0


def test_nothing_is_asked_where_nobody_answers(terminal: Start, complaint: str) -> None:
    term = terminal(complaint, CI="true")
    ended(term, "")
    assert "Training steps are slow" in term.text
    assert QUESTION not in term.text


def test_words_start_a_consultation(terminal: Start) -> None:
    term = terminal("training", "is", "really", "slow", CI="")
    term.wait("Taken as a description")
    term.ready()
    assert "What is wrong?" not in term.text, "it was told already"
    assert term.end("quit\r") == 0


def test_a_probe_prints_for_people(terminal: Start) -> None:
    term = terminal("probe", "environment")
    term.wait("add `--format json | diagnose -`")
    assert "modelmedic/facts/1" not in term.text
