"""Statements in texts: those that were learned from, others, and hostile ones."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modelmedic.facts.statements import Statement
from modelmedic.reading.statements.reader import read_statements

from .learn_statements import APART, TEXTS, WEIGHTS, bare, declared, learned_file, observable, told

PULSE = Statement(
    "pulse", "animal", "rate", names=("resting pulse",), units=(("bpm", 1.0),),
    minimum=0, maximum=400, integer=True, subject="species",
    subjects=(("dog", ("dog", "hound")), ("cat", ("cat",))),
)  # fmt: skip
AGE = Statement(
    "age", "animal", "age", names=("age",), integer=True, about=("dog",), unless=("stone age",)
)


@pytest.fixture(scope="module")
def statements() -> tuple[Statement, ...]:
    return declared()


def read(text, statements):
    said = read_statements(text, statements)
    return {(observable(s.statement), bare(s.value)) for s in said if observable(s.statement)}


@pytest.mark.parametrize(("folder", "right", "wrong"), [(TEXTS, 0.8, 0.01), (APART, 0.7, 0.03)])
def test_most_is_read_and_hardly_anything_wrongly(folder, right, wrong, statements):
    """The texts ``apart`` are by somebody else and were never learned from."""
    texts = told(folder)
    found = [(read(each.text, statements), each.values) for each in texts]
    stated = sum(len(values) for _, values in found)
    assert len(texts) > 300
    assert sum(len(values & seen) for seen, values in found) >= right * stated
    assert sum(len(seen - values) for seen, values in found if values) <= wrong * stated
    other = [seen for each, (seen, _) in zip(texts, found, strict=True) if not each.values]
    assert sum(map(bool, other)) <= max(0.01, wrong / 2) * len(other)


def test_a_domain_of_ones_own():
    """The weights know no observable, only how people write."""
    (said,) = read_statements("The hound's resting pulse was 80 bpm.", (PULSE,))
    assert (said.value, said.subject, said.line) == (80, "dog", 1)
    assert read_statements("resting-pulse: 80; R-ratio 5", (PULSE,))[0].value == 80
    assert read_statements("species,resting_pulse\ncat,90", (PULSE,))[0].subject == "cat"
    for text in ("resting pulse 80.5", "resting pulse 500", "a pulse of 80"):
        assert read_statements(text, (PULSE,)) == []


def test_words_that_a_text_must_have_or_must_not_have():
    assert read_statements("cat\nage = 7", (AGE,)) == []
    assert read_statements("dog\nage = 7", (AGE,))[0].value == 7
    assert read_statements("dog of the stone age\nage = 7", (AGE,)) == []


@pytest.mark.parametrize(
    ("text", "value", "limit", "line"),
    [
        ("a\nmlp: R-ratio 2.4, limit 1.5", 2.4, 1.5, 2),
        ('{\n "mlp": {\n  "r_ratio": 2.4\n }\n}', 2.4, None, 3),
        ("| part | R-ratio |\n|---|---|\n| mlp | 2.4 |", 2.4, None, 3),
        ("stage2:\n  mlp:\n    r_ratio: 2.4", 2.4, None, 3),
    ],
)
def test_the_place_subject_and_limit_of_a_figure(text, value, limit, line, statements):
    (said,) = read_statements(text, statements)
    assert (said.subject, said.value, said.limit, said.line) == ("mlp", value, limit, line)


@given(st.text(alphabet="R-ratio 0123456789.:=|,{}[]()\n\t\"'%<td>kelmsx", max_size=400))
def test_any_text_may_be_read(text):
    for said in read_statements(text, declared_once()):
        assert 1 <= said.line <= text.count("\n") + 1


_KEPT: list[tuple[Statement, ...]] = []


def declared_once():
    if not _KEPT:
        _KEPT.append(declared())
    return _KEPT[0]


@pytest.mark.parametrize(
    "unit",
    ["R-ratio ", "1.5 ", "R-ratio 1.5 ", "R-ratio: ", "{", "[", '{"a":', "| a ", "a: \n", "  a:\n",
     "<td>", "a, b\n", "1,000", "lr=", "- a: b\n", "e-", "tok/s 5 "],
)  # fmt: skip
def test_the_work_grows_with_the_text_and_not_faster(unit, statements):
    def cost(size):
        begun = time.process_time()
        read_statements((unit * (size // len(unit) + 1))[:size], statements)
        return time.process_time() - begun

    cost(1_000)
    small, large = min(cost(10_000) for _ in range(2)), min(cost(80_000) for _ in range(2))
    assert large < 0.1 or large < 24 * small


@pytest.mark.deep
def test_learning_again_gives_the_same_weights():
    before, now = json.loads(WEIGHTS.read_text("utf-8")), json.loads(learned_file())
    assert len(before.keys() ^ now.keys()) < 0.02 * len(before)
    both = before.keys() & now.keys()
    assert all(abs(a - b) < 0.1 for sign in both
               for a, b in zip(before[sign], now[sign], strict=True))  # fmt: skip
