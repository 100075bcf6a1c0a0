"""Descriptions and pasted texts, against the symptoms and error tables as they are shipped."""

import json

import pytest

from modelmedic.engine import Diagnoser
from modelmedic.interfaces.inspection import gather
from modelmedic.interfaces.intake import STATEMENTS, Intake
from modelmedic.interfaces.reports.verdict.screen import verdict_lines
from modelmedic.interfaces.reports.view import view_of
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


NOTEBOOK = {
    "cells": [
        {"cell_type": "markdown", "source": ["# R-ratio, bf16\n"]},
        {"cell_type": "code", "source": "show()", "outputs": [
            {"output_type": "stream", "name": "stdout", "text": ["mlp: 2.41\n"]}]},
    ]
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "content", "ratios"),
    [
        ("note.md", "## R-ratio\n\n- mlp: 2.41\n- norm: 1.01\n", {"mlp": 2.41, "norm": 1.01}),
        ("own.json", '{"mlp": {"r_ratio": 2.41}}', {"mlp": 2.41}),
        ("nb.ipynb", json.dumps(NOTEBOOK), {"mlp": 2.41}),
    ],
)
def test_figures_in_files_of_ones_own(intake, doctor, tmp_path, name, content, ratios) -> None:
    """A folder is read for the figures that its notes, values and notebooks state."""
    (tmp_path / name).write_text(content)
    facts, problems, _ = gather([tmp_path], doctor.base.vocabulary, intake=intake)
    found = {f.get("component"): f.get("r_ratio") for f in facts if f.kind == "component_result"}
    assert found == ratios
    assert problems == []


def test_figures_that_are_not_understood_are_no_health(intake, doctor, tmp_path) -> None:
    """The verdict does not say "no problem" beside figures that are not understood."""
    note = tmp_path / "parts.txt"
    note.write_text("norm 1.01\nlong rope 131.7\nmlp 1.03\n")
    facts, problems, _ = gather([tmp_path], doctor.base.vocabulary, intake=intake)
    assert [problem.code for problem in problems] == ["MM449"]
    report = doctor.diagnose(facts, problems)
    assert (report.errors, report.notes) == ((), tuple(problems))
    assert "Not judged" in "".join(line.text for line in verdict_lines(report))
    note.write_text("R-ratio of norm: 1.01\n\nlong rope 131.7\n")
    facts, problems, _ = gather([tmp_path], doctor.base.vocabulary, intake=intake)
    assert any(fact.kind == "unread_figures" for fact in facts)
    found = doctor.diagnose(facts, problems).diagnoses
    assert not any(d.id.startswith("neuron.flow") for d in found)


def test_what_comes_next_follows_from_figures_alone(intake, doctor) -> None:
    facts = intake.read("match rate 0.97\n").facts
    assert "neuron.flow.stage-2-next" in {d.id for d in doctor.diagnose(facts).diagnoses}


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("tensor parallel degree 8", "Not judged: "),
        ("Versions: tinker 0.38.0, transformers 4.57.1", "Not judged: "),
        ('{"run": "abc", "settings": {"tp_degree": 8, "seq_len": 4096}}', "Not judged: "),
        ("token match rate 100 %", "No problem found"),
        ("R-ratio of mlp: 1.01 (limit 1.2)", "No problem found"),
    ],
)
def test_health_follows_from_something(text, verdict, doctor: Diagnoser):
    """A fact that only describes does not prove that nothing is wrong."""
    report = doctor.diagnose(Intake(doctor).read(text).facts)
    assert view_of(report).verdict.startswith(verdict)
