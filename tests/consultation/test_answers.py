"""Answers that people type, and how they are understood."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modelmedic.facts import Attribute, ModelMedicError
from modelmedic.interfaces.consult.answers import choose, consent, is_unsure, value_of

CHOICES = {
    "sequential": "Yes, it waits between two submissions",
    "overlapping": "No, it submits both calls first",
    "cookbook": "It is the cookbook's supervised.train or rl.train",
}
SECONDS = Attribute("seconds", "number", unit="s")
SHARE = Attribute("share", "number", minimum=0, maximum=1)
RATIO = Attribute("over_usual", "number", minimum=0)
HEADROOM = Attribute("headroom", "integer")


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("1", "sequential"),
        ("2)", "overlapping"),
        ("sequential", "sequential"),
        ("over", "overlapping"),
        ("YES", "sequential"),
        ("n", "overlapping"),
        ("supervised.train", "cookbook"),
        ("yes,  it waits between two submissions", "sequential"),
        ("0", None),
        ("4", None),
        ("-1", None),
        ("it", None),
        ("", None),
        ("submi", None),  # both meanings have it
    ],
)
def test_a_choice_is_understood(text: str, meant: str | None) -> None:
    assert choose(text, CHOICES) == meant


@given(st.text())
def test_no_text_is_taken_for_a_choice_that_is_not_there(text: str) -> None:
    assert choose(text, CHOICES) in {*CHOICES, None}
    assert choose(text, {}) is None


@pytest.mark.parametrize("text", [
    "?", "??", "unknown", "I don't know.", "i don’t know", "No idea!", "i dont know", "idk",
    "I really don't know", "I have no clue", "not sure about that", "can't say", "n/a", "dunno",
])  # fmt: skip
def test_not_knowing_has_many_words(text: str) -> None:
    assert is_unsure(text)


@pytest.mark.parametrize("text", [
    "", "no", "I don't know why it hangs", "not sure it is slow", "unknown model", "not",
    "no idea what OOM means",
])  # fmt: skip
def test_more_than_not_knowing_is_said(text: str) -> None:
    assert not is_unsure(text)


@pytest.mark.parametrize(("text", "meant"), [("y", True), ("No", False), ("maybe", None)])
def test_consent(text: str, meant: bool | None) -> None:
    assert consent(text) is meant


@pytest.mark.parametrize(
    ("text", "attribute", "value"),
    [
        ("30", SECONDS, "30"),
        ("30s", SECONDS, "30"),
        ("2 min", SECONDS, "120"),
        ("250 ms", SECONDS, "0.25"),
        ("0,5", SECONDS, "0.5"),
        ("1e-3", SECONDS, "1e-3"),
        ("30 %", SHARE, "0.3"),
        ("3 of 12", SHARE, "0.25"),
        ("3 out of 12", SHARE, "0.25"),
        ("2.1 s / 8.4 s", SHARE, "0.25"),
        ("500 ms of 2 s", SHARE, "0.25"),
        ("3 apples of 12 pears", SHARE, "3 apples of 12 pears"),
        ("3 of 0", SHARE, "3 of 0"),
        ("3 of many", SHARE, "3 of many"),
        ("600 / 45", RATIO, "13.3333333333"),
        ("32768 - 900 - 4096", HEADROOM, "27772"),
        ("900-4096", HEADROOM, "-3196"),
        ("-12", HEADROOM, "-12"),
        ("5 - 10", SECONDS, "5 - 10"),
        ("1 / 2", SECONDS, "1 / 2"),
        ("3 apples", SECONDS, "3 apples"),  # for the vocabulary to refuse
        ("30 %", SECONDS, "30 %"),
        (" 2.14.3 ", Attribute("version", "version"), "2.14.3"),
    ],
)
def test_a_value_is_taken_in_the_unit_of_its_attribute(
    text: str, attribute: Attribute, value: str
) -> None:
    assert value_of(text, attribute) == value


def test_a_number_that_could_be_two_is_refused() -> None:
    with pytest.raises(ModelMedicError, match=r"write 1000, or 1\.000"):
        value_of("1,000", SECONDS)
