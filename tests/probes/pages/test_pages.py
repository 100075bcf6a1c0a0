"""A text keeps its answer whatever a page, a chat or a person did to it: the answer may get lost
with its basis, but another one must not take its place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

from modelmedic.engine import Diagnoser
from modelmedic.facts import Fact
from modelmedic.probes.messages.probe import read_messages

from . import people
from .distortions import CUTS, DISTORTIONS

assert people.last_line_cut.__name__ in CUTS  # the module adds to the table
TEXTS: dict[str, str] = yaml.safe_load(Path(__file__).with_name("texts.yaml").read_text("utf-8"))
# Shares of all pairs of a text and a distortion, but for those that cut the answer off.
LEAST = 0.99
LEAST_READ = 0.98
# Of one distortion. The beginning of a short text holds its message.
LEAST_OF_ONE = 0.8


class Answer(NamedTuple):
    """The first diagnosis, or row where there is none; whether it is more than possible; all."""

    first: str
    sure: bool
    all: frozenset[str]


def gathered(doctor: Diagnoser, text: str) -> tuple[Fact, ...]:
    return tuple(read_messages(text, doctor.base.vocabulary).facts)


def answer(doctor: Diagnoser, text: str) -> Answer:
    report = doctor.diagnose(gathered(doctor, text))
    rows = [message.row for message in report.messages]
    ids = [each.id for each in report.diagnoses]
    first = next(iter([*ids, *rows]), "")
    sure = bool(report.diagnoses) and report.diagnoses[0].confidence != "possible"
    return Answer(first, sure, frozenset([*ids, *rows]))


@pytest.fixture(scope="module")
def doctor() -> Diagnoser:
    return Diagnoser.load()


@pytest.fixture(scope="module")
def plain(doctor: Diagnoser) -> dict[str, Answer]:
    return {name: answer(doctor, text) for name, text in TEXTS.items()}


def distorted(names: set[str]) -> Iterator[tuple[str, str, str]]:
    for how in sorted(names):
        for name, text in TEXTS.items():
            changed = DISTORTIONS[how](text)
            if changed != text:
                yield how, name, changed


def test_there_are_enough_texts_and_distortions(plain):
    assert len(TEXTS) >= 35
    assert len(DISTORTIONS) >= 60
    assert not [name for name, found in plain.items() if not found.first]
    every = {how for how, _, _ in distorted(set(DISTORTIONS))}
    assert every == set(DISTORTIONS), "the others leave every text as it is"


def test_a_text_keeps_its_answer(doctor, plain):
    count, failed = Counter[str](), Counter[str]()
    told = []
    for how, name, text in distorted(set(DISTORTIONS) - CUTS):
        count[how] += 1
        found = answer(doctor, text)
        if found.first != plain[name].first:
            failed[how] += 1
            told.append(f"{how}: {name}: {found.first or 'none'} instead of {plain[name].first}")
    print(f"{count.total() - failed.total()} of {count.total()}", *told, sep="\n")
    assert failed.total() <= (1 - LEAST) * count.total(), "\n".join(told)
    weak = [how for how in failed if failed[how] > (1 - LEAST_OF_ONE) * count[how]]
    assert not weak, "\n".join(told)


def test_no_distortion_makes_another_answer_sure(doctor, plain):
    told = []
    for how, name, text in distorted(set(DISTORTIONS)):
        found = answer(doctor, text)
        if found.sure and found.first not in plain[name].all:
            told.append(f"{how}: {name}: {found.first} instead of {plain[name].first}")
    assert not told, "\n".join(told)


def named(doctor: Diagnoser, text: str) -> set[tuple[object, object]]:
    """The classes of the exceptions, and whose they are."""
    return {
        (fact.get("exception"), fact.get("owner"))
        for fact in gathered(doctor, text)
        if fact.kind == "error_message" and fact.get("exception")
    }


def test_an_exception_keeps_its_class_and_its_owner(doctor):
    bare = {name: named(doctor, text) for name, text in TEXTS.items()}
    told = []
    count = 0
    for how, name, text in distorted(set(DISTORTIONS) - CUTS):
        count += 1
        missing = bare[name] - named(doctor, text)
        if missing:
            told.append(f"{how}: {name}: {missing}")
    assert len(told) <= (1 - LEAST_READ) * count, "\n".join(told)


@pytest.mark.parametrize("between", ["\n", "\n\n", "\n\nAnd on the other machine:\n"])
def test_two_texts_are_read_as_each_of_them(between, doctor):
    for first, second in pairwise(TEXTS.values()):
        both = named(doctor, first + between + second)
        assert {name for name, _ in named(doctor, first)} <= {name for name, _ in both}
        assert {name for name, _ in named(doctor, second)} <= {name for name, _ in both}
