"""The dialogue: a pure state machine whose state follows from its entries."""

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from modelmedic.engine import Diagnoser
from modelmedic.engine.dialogue import UNKNOWN, Dialogue, Offer, Question
from modelmedic.facts import ModelMedicError

MAX_TURNS = 60


@pytest.fixture(scope="module")
def doctor() -> Diagnoser:
    return Diagnoser.load()


def walk(dialogue: Dialogue, choose: Callable[[Question], str]) -> Dialogue:
    """To the end, declining every probe."""
    for _ in range(MAX_TURNS):
        step = dialogue.next()
        if step is None:
            return dialogue
        if isinstance(step, Offer):
            dialogue = dialogue.declined(step)
        else:
            dialogue = dialogue.answered(step, choose(step))
    raise AssertionError("the consultation does not end")


def test_it_opens_with_the_symptoms(doctor: Diagnoser) -> None:
    first = Dialogue(doctor).next()
    assert isinstance(first, Question)
    assert "slow-steps" in first.choices


def test_answers_along_the_triage_reach_the_cause(doctor: Diagnoser) -> None:
    answers = {"symptom": "slow-steps", "tinker.tree.performance/environment": "stable",
               "tinker.tree.performance/pipelining": "sequential"}  # fmt: skip
    done = walk(Dialogue(doctor), lambda q: answers.get(q.id, UNKNOWN))
    assert done.report.diagnoses[0].id == "tinker.perf.missing-pipelining"


def test_a_probe_is_offered_before_its_question(doctor: Diagnoser) -> None:
    dialogue = Dialogue(doctor, runnable=["environment"])
    first = dialogue.next()
    assert isinstance(first, Question)
    offer = dialogue.answered(first, "slow-steps").next()
    assert isinstance(offer, Offer)
    assert offer.probe == "environment"


def test_an_answer_that_does_not_fit_is_refused_with_what_would(doctor: Diagnoser) -> None:
    dialogue = Dialogue(doctor)
    first = dialogue.next()
    assert isinstance(first, Question)
    with pytest.raises(ModelMedicError, match="slow-steps"):
        dialogue.answered(first, "no-such-symptom")


def test_a_number_chooses(doctor: Diagnoser) -> None:
    dialogue = Dialogue(doctor)
    first = dialogue.next()
    assert isinstance(first, Question)
    place = list(first.choices).index("hang") + 1
    assert dialogue.answered(first, str(place)).facts[0].get("name") == "hang"


def seeded(seed: int) -> Callable[[Question], str]:
    """Choices that depend on the question alone, so that every replay makes the same ones."""

    def choose(question: Question) -> str:
        options = [*question.choices, UNKNOWN]
        if not question.choices:
            return UNKNOWN
        return options[(seed * 31 + sum(map(ord, question.id))) % len(options)]

    return choose


@given(seed=st.integers(0, 10_000))
@settings(max_examples=25)
def test_every_session_ends_and_asks_nothing_twice(doctor: Diagnoser, seed: int) -> None:
    done = walk(Dialogue(doctor), seeded(seed))
    asked = [entry.question for entry in done.entries]
    assert len(asked) == len(set(asked))


@given(seed=st.integers(0, 10_000), turns=st.integers(1, 8))
@settings(max_examples=25)
def test_undoing_equals_never_having_answered(doctor: Diagnoser, seed: int, turns: int) -> None:
    choose = seeded(seed)
    dialogue = Dialogue(doctor)
    for _ in range(turns):
        step = dialogue.next()
        if not isinstance(step, Question):
            break
        before, dialogue = dialogue, dialogue.answered(step, choose(step))
        undone = dialogue.undone()
        assert undone.report.plain() == before.report.plain()
        assert undone.next() == step


@given(seed=st.integers(0, 10_000))
@settings(max_examples=15)
def test_changing_an_answer_equals_giving_it_at_once(doctor: Diagnoser, seed: int) -> None:
    choose = seeded(seed)
    first = Dialogue(doctor).next()
    assert isinstance(first, Question)
    names = list(first.choices)
    one, other = names[seed % len(names)], names[(seed + 1) % len(names)]
    changed = Dialogue(doctor).answered(first, one).changed(0, other)
    assert changed.report.plain() == Dialogue(doctor).answered(first, other).report.plain()
    assert (
        walk(changed, choose).report.plain()
        == walk(Dialogue(doctor).answered(first, other), choose).report.plain()
    )
