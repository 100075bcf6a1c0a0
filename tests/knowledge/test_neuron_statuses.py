"""Each status of the Neuron runtime is recognised by its number alone, in any message."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from modelmedic.engine import Diagnoser
from modelmedic.probes.messages.probe import read_messages

DATA = yaml.safe_load(
    (Path(__file__).parent / "neuron_statuses" / "statuses.yaml").read_text(encoding="utf-8")
)


@pytest.fixture(scope="module")
def doctor() -> Diagnoser:
    return Diagnoser.load()


def said(doctor: Diagnoser, text: str) -> list[str]:
    outcome = read_messages(text, doctor.base.vocabulary)
    return [d.id for d in doctor.diagnose(outcome.facts, outcome.problems).diagnoses]


@pytest.mark.parametrize("form", DATA["forms"])
def test_each_number_is_known(form: str, doctor: Diagnoser) -> None:
    found = {number: said(doctor, form.format(number=number))[:1] for number in DATA["first"]}
    assert found == {number: [wanted] for number, wanted in DATA["first"].items()}


@pytest.mark.parametrize("text", DATA["silent"])
def test_other_numbers_say_nothing(text: str, doctor: Diagnoser) -> None:
    assert said(doctor, text) == []
