"""Descriptions and pasted texts, against the symptoms and error tables as they are shipped."""

import pytest

from modelmedic.engine import Diagnoser
from modelmedic.engine.diagnosis.dialogue.dialogue import Dialogue
from modelmedic.interfaces.consult.text_matching import TextMatcher


@pytest.fixture(scope="module")
def matcher(doctor: Diagnoser) -> TextMatcher:
    return TextMatcher(doctor, Dialogue(doctor).symptoms())


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
def test_a_description_is_matched(matcher: TextMatcher, text: str, symptom: str) -> None:
    found = matcher.read(text)
    assert [fact.get("name") for fact in found.facts] == [symptom]


@pytest.mark.parametrize("text", ["hello", "everything is broken", "??", "学習が遅い", "\x00"])
def test_what_fits_nothing_gives_nothing(matcher: TextMatcher, text: str) -> None:
    assert matcher.read(text).facts == ()


def test_what_comes_near_is_offered_and_not_taken(matcher: TextMatcher) -> None:
    found = matcher.read("the reward and the loss")
    assert found.facts == ()
    assert found.near
    assert len(found.near) <= 4
    taken = matcher.read("the loss isn't going down").facts
    assert [fact.get("name") for fact in taken] == ["loss-flat"]


def test_what_is_denied_and_which_cause_is_named_comes_along(matcher: TextMatcher) -> None:
    found = matcher.read("not slow, it hangs")
    assert [(f.get("name"), f.get("present") is not False) for f in found.facts] == [
        ("hang", True),
        ("slow-steps", False),
    ]
    assert matcher.read("I am out of credits").causes == ("tinker.billing.blocked",)


def test_a_known_error_is_explained(matcher: TextMatcher) -> None:
    found = matcher.read('tinker.BillingError: Error code: 402 - {"detail": "blocked"}')
    assert found.messages
    assert all(fact.kind != "symptom" for fact in found.facts)


def test_an_unknown_error_starts_its_triage(matcher: TextMatcher) -> None:
    found = matcher.read("Traceback (most recent call last):\nzebra.StripeError: 17 stripes")
    assert not found.messages
    assert {fact.kind for fact in found.facts} >= {"symptom", "error_message"}
