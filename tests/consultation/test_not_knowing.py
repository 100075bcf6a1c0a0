""" "I do not know" to everything: few questions, no conclusion, and what would decide it."""

import io

import pytest

from modelmedic.engine import Diagnoser
from modelmedic.engine.diagnosis.dialogue.dialogue import MAX_UNKNOWN, Dialogue, Offer
from modelmedic.interfaces.consult.drivers import ScriptDriver
from modelmedic.interfaces.consult.input_handler import Sources
from modelmedic.interfaces.consult.loop import Consultation

NOT_ENOUGH = "Not enough is known; "


def symptoms(doctor: Diagnoser) -> list[str]:
    return sorted(Dialogue(doctor).symptoms())


def knows_nothing(dialogue: Dialogue) -> Dialogue:
    while (step := dialogue.next()) is not None:
        dialogue = (
            dialogue.declined(step)
            if isinstance(step, Offer)
            else dialogue.answered(step, "I don't know" if dialogue.entries[1:] else "?")
        )
    return dialogue


def concluded(dialogue: Dialogue) -> set[tuple[str, str]]:
    return {(d.id, d.confidence) for d in dialogue.report.diagnoses}


@pytest.mark.parametrize("offers", [False, True], ids=["questions", "questions and probes"])
def test_to_every_symptom(doctor: Diagnoser, offers: bool) -> None:
    sources = Sources(doctor)
    probes = (sources.runnable, sources.readable) if offers else ((), ())
    assert len(symptoms(doctor)) >= 19
    for symptom in symptoms(doctor):
        start = Dialogue(doctor, (), *probes)
        first = start.next()
        complaint = start.answered(first, symptom)  # type: ignore[arg-type]
        end = knows_nothing(complaint)
        assert len(end.entries) - 1 <= MAX_UNKNOWN == 8, symptom
        assert concluded(end) == concluded(complaint), symptom
        assert {r.id for r in end.report.ruled_out} == {r.id for r in complaint.report.ruled_out}
        assert not [c for c in end.conclusion.causes if c.diagnosis.kind != "symptom"], symptom
        assert 1 <= len(end.deciding) <= 2, symptom


def test_the_end_says_what_would_decide_it(doctor: Diagnoser) -> None:
    for symptom in symptoms(doctor):
        shown = io.StringIO()
        start = Dialogue(doctor)
        driver = ScriptDriver([symptom, *["idk"] * MAX_UNKNOWN], shown)
        end = Consultation(start, driver, Sources(doctor)).run()
        text = " ".join(shown.getvalue().split())
        assert NOT_ENOUGH in text, symptom
        said = text.partition(NOT_ENOUGH)[2]
        assert all(" ".join(step.text.split()) in said for step in end.deciding), symptom


def test_the_second_step_decides_something_else(doctor: Diagnoser) -> None:
    start = Dialogue(doctor)
    end = knows_nothing(start.answered(start.next(), "slow-steps"))  # type: ignore[arg-type]
    first, second = end.deciding
    assert not set(second.separates) <= set(first.separates)


def test_who_wants_more_questions_gets_them(doctor: Diagnoser) -> None:
    start = Dialogue(doctor)
    end = knows_nothing(start.answered(start.next(), "poor-quality"))  # type: ignore[arg-type]
    assert end.paused
    assert end.more().next() is not None
    assert not end.more().paused
    assert end.more().undone().entries == end.entries
    more = knows_nothing(end.more())
    assert len(more.entries) > len(end.entries) + 1
    assert concluded(more) == concluded(end)


def test_an_answer_in_between_starts_the_count_again(doctor: Diagnoser) -> None:
    start = Dialogue(doctor)
    dialogue = start.answered(start.next(), "poor-quality")  # type: ignore[arg-type]
    for _ in range(MAX_UNKNOWN - 1):
        dialogue = dialogue.answered(dialogue.next(), "?")  # type: ignore[arg-type]
    step = dialogue.next()
    assert step is not None and not isinstance(step, Offer)
    told = dialogue.answered(step, next(iter(step.choices), "1"))
    assert not told.paused


def test_more_is_possible_only_with_a_reason(doctor: Diagnoser) -> None:
    """The triage of the loss leads on to that of the quality, with its many causes."""
    shown = io.StringIO()
    driver = ScriptDriver(["loss-flat", *["?"] * 5], shown)
    Consultation(Dialogue(doctor), driver, Sources(doctor)).run()
    text = " ".join(shown.getvalue().split())
    assert "without that answer the search goes on elsewhere and opened" in text
