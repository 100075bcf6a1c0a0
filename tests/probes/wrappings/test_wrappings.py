"""A message gets the same first answer in whatever form it arrives."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from modelmedic.engine import Diagnoser
from modelmedic.probes.messages.probe import read_messages
from modelmedic.reading.text.plain_text import plain_text

from . import LOSE_CLASS, NEED_EXCEPTION, WRAPPINGS, Sent

pytestmark = pytest.mark.deep

# Shares of all pairs of a message and a form: the same first answer; the same class and words.
LEAST = 0.98
LEAST_WORDS = 0.95
HERE = Path(__file__).parent
HEALTHY = (HERE / "healthy.txt").read_text("utf-8").splitlines()
MESSAGES = [Sent(**json.loads(line))
            for line in (HERE / "messages.jsonl").read_text("utf-8").splitlines()]  # fmt: skip


@pytest.fixture(scope="module")
def doctor() -> Diagnoser:
    return Diagnoser.load()


def answer(doctor: Diagnoser, text: str) -> str:
    report = doctor.diagnose(read_messages(text, doctor.base.vocabulary).facts)
    return report.diagnoses[0].id if report.diagnoses else ""


def pairs() -> Iterator[tuple[Sent, str]]:
    for sent in MESSAGES:
        for name in WRAPPINGS:
            if sent.exception or name not in NEED_EXCEPTION:
                yield sent, name


def test_there_are_enough_messages_and_forms():
    assert len([sent for sent in MESSAGES if sent.exception]) >= 60
    assert len(set(WRAPPINGS)) >= 30
    idle = [name for name, wrapped in WRAPPINGS.items()
            if all(wrapped(sent) == sent.line for sent in MESSAGES)]  # fmt: skip
    assert not idle, "these leave every message as it is"


def test_a_message_gets_the_same_first_answer_in_every_form(doctor):
    bare = {sent.id: answer(doctor, sent.line) for sent in MESSAGES}
    silent = [name for name, found in bare.items() if not found]
    assert not silent, "these have no answer even when they come bare"
    failures = []
    count = 0
    for sent, name in pairs():
        count += 1
        found = answer(doctor, WRAPPINGS[name](sent))
        if found != bare[sent.id]:
            failures.append(f"{name}: {sent.id}: {found or 'none'} instead of {bare[sent.id]}")
    print(f"{count - len(failures)} of {count}")
    print(*failures, sep="\n")
    assert len(failures) <= (1 - LEAST) * count, "\n".join(failures)


def words(text: str) -> str:
    return " ".join(" ".join(line.text for line in plain_text(text, 100_000).lines).split())


def test_a_message_is_read_with_its_class_and_its_words(vocabulary):
    failures = []
    count = 0
    for sent, name in pairs():
        count += 1
        facts = read_messages(WRAPPINGS[name](sent), vocabulary).facts
        found = {
            (str(fact.get("exception") or ""), words(str(fact.get("text") or "")))
            for fact in facts
            if fact.kind == "error_message"
        }
        exception = "" if name in LOSE_CLASS else sent.exception.rpartition(".")[2]
        if (exception, words(sent.text)) not in found:
            failures.append(f"{name}: {sent.id}: {found}")
    assert len(failures) <= (1 - LEAST_WORDS) * count, "\n".join(failures)


@pytest.mark.parametrize("text", HEALTHY)
def test_text_without_an_error_gives_none_in_any_form(text, doctor):
    sent = Sent("healthy", "", "", text)
    for name in WRAPPINGS.keys() - NEED_EXCEPTION:
        facts = read_messages(WRAPPINGS[name](sent), doctor.base.vocabulary).facts
        named = [fact.get("exception") for fact in facts if fact.kind == "error_message"]
        assert not any(named), name
        assert not doctor.diagnose(facts).diagnoses, name
