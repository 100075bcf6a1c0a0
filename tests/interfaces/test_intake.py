"""Descriptions and pasted texts, against the symptoms and error tables as they are shipped."""

import pytest

from modelmedic.engine import Diagnoser
from modelmedic.interfaces.intake import STATEMENTS, Intake
from modelmedic.interfaces.stated import read_line


@pytest.fixture(scope="module")
def intake(doctor: Diagnoser) -> Intake:
    return Intake(doctor)


@pytest.mark.parametrize(
    ("text", "symptom"),
    [
        ("training got really slow, every step takes minutes", "slow-steps"),
        ("my job hangs", "hang"),
        ("the loss does not go down", "loss-flat"),
        ("is tinker down?", "is-it-down"),
        ("vllm gives different answers than tinker", "output-mismatch"),
        ("I want to check my port to neuron", "port-check"),
    ],
)
def test_a_description_is_matched(intake: Intake, text: str, symptom: str) -> None:
    found = intake.read(text)
    assert [fact.get("name") for fact in found.facts] == [symptom]


@pytest.mark.parametrize("text", ["hello", "everything is broken", "??", "学習が遅い", "\x00"])
def test_what_fits_nothing_gives_nothing(intake: Intake, text: str) -> None:
    assert intake.read(text).facts == ()


def test_what_comes_near_is_offered_and_not_taken(intake: Intake) -> None:
    found = intake.read("the reward and the loss")
    assert found.facts == ()
    assert found.near
    assert len(found.near) <= 4
    taken = intake.read("the loss isn't going down").facts
    assert [fact.get("name") for fact in taken] == ["loss-flat"]


def test_what_is_denied_and_which_cause_is_named_comes_along(intake: Intake) -> None:
    found = intake.read("not slow, it hangs")
    assert [(f.get("name"), f.get("present") is not False) for f in found.facts] == [
        ("hang", True),
        ("slow-steps", False),
    ]
    assert intake.read("I am out of credits").causes == ("tinker.billing.blocked",)


def test_a_known_error_is_explained(intake: Intake) -> None:
    found = intake.read('tinker.BillingError: Error code: 402 - {"detail": "blocked"}')
    assert found.messages
    assert all(fact.kind != "symptom" for fact in found.facts)


def test_an_unknown_error_is_an_error_all_the_same(intake: Intake) -> None:
    found = intake.read("Traceback (most recent call last):\nzebra.StripeError: 17 stripes")
    assert not found.messages
    assert found.is_error
    assert [fact.kind for fact in found.facts] == ["error_message"]


def test_a_text_may_state_figures_and_nothing_else(intake: Intake, doctor: Diagnoser) -> None:
    found = intake.read("LoRA rank 32, learning rate 4e-4", "notes")
    assert found.title == STATEMENTS
    assert not found.is_error
    assert {fact.provenance[0].location for fact in found.facts} == {"notes:1"}
    said = read_line(found.facts, doctor.base.vocabulary)
    assert said == "Read from your text: LoRA rank 32; learning rate 0.0004."


def test_errors_and_descriptions_bring_their_figures(intake: Intake, doctor: Diagnoser) -> None:
    found = intake.read("AssertionError: rotary: R-ratio 48.31 exceeds tolerance 1.2")
    assert found.is_error
    said = read_line(found.facts, doctor.base.vocabulary)
    assert said == "Read from your text: R-ratio of rotary 48.31, tolerance 1.2."
    found = intake.read("my training is slow (step time 90 s)")
    assert {fact.kind for fact in found.facts} == {"symptom", "timing_summary"}


def test_a_user_who_names_software_reports_no_error(intake: Intake) -> None:
    found = intake.read("the token match rate is 46 % on trn1.32xlarge with tp_degree=8")
    assert found.title == STATEMENTS
    kinds = {fact.kind for fact in found.facts}
    assert kinds == {"text_subject", "smoke_result", "neuron_machine", "neuron_config"}
