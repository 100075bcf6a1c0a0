"""How a known issue is judged: versions decide, a message or facts show it, a likeness is a
lead."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from modelmedic.authoring.lint import lint
from modelmedic.authoring.testing.case_runner import CaseRunner
from modelmedic.engine import Diagnoser
from modelmedic.engine.compiler.build import build
from modelmedic.engine.compiler.knowledge_base import KnowledgeBase, shipped_layer
from modelmedic.engine.compiler.store.files import read_folder
from modelmedic.engine.diagnosis.known_issues import similar_issues
from modelmedic.engine.diagnosis.report import Report
from modelmedic.facts import Location, Provenance
from modelmedic.probes.messages.probe import read_messages

FOLDER = Path(__file__).with_name("issue_form")
SCHEMA = Path(__file__).parents[2] / "knowledge" / "schemas" / "report-1.json"
LEAK, SHAPE, SLOW = "acme.issue.kettle-leaks", "acme.issue.kettle-shape", "acme.issue.kettle-slow"


@pytest.fixture(scope="module")
def kettle():
    """Knowledge of three issues, and nothing else."""
    vocabulary, _ = shipped_layer(tests=False).texts()
    return build(vocabulary, read_folder(FOLDER), tests=True)


@pytest.fixture(scope="module")
def doctor(kettle) -> Diagnoser:
    return Diagnoser.of(KnowledgeBase.of(kettle.compiled, "kettle"))


def report(doctor: Diagnoser, text: str, *facts: dict[str, Any]) -> Report:
    vocabulary = doctor.base.vocabulary
    read = [vocabulary.read(f, Location("test"), Provenance("test")) for f in facts]
    return doctor.diagnose([*read_messages(text, vocabulary).facts, *read])


def kettle_of(version: str) -> dict[str, Any]:
    return {"kind": "package", "name": "kettle", "version": version}


MESSAGE = "KettleError: the lid of pot 7 leaks steam into the pipe"
MODEL = {"kind": "base_model", "name": "acme/teapot"}


def test_the_form_is_sound_and_its_own_cases_pass(kettle, doctor) -> None:
    assert [p for p in lint(kettle) if p.code != "MM258"] == []
    decode = lambda text: read_messages(text, kettle.vocabulary).facts  # noqa: E731
    results = list(CaseRunner(doctor, kettle.source, decode).run())
    kinds = {"fires", "silent", "unknown", "samples", "near_misses", "boundary"}
    assert {r.kind for r in results} == kinds
    assert [r for r in results if r.failures] == []


@pytest.mark.parametrize("version", ["1.2.0", "1.2.3", "1.4.1"])
def test_a_message_with_an_affected_version_is_a_diagnosis(doctor, version) -> None:
    [found] = report(doctor, MESSAGE, kettle_of(version)).diagnoses
    assert (found.id, found.confidence) == (LEAK, "likely")
    commands = [action["command"] for action in found.actions if "command" in action]
    assert commands == ['pip install "kettle>=1.5.0"']


def test_a_message_without_a_version_is_a_lead(doctor) -> None:
    [found] = report(doctor, MESSAGE).diagnoses
    assert (found.id, found.confidence) == (LEAK, "possible")


@pytest.mark.parametrize("version", ["1.1.0", "1.3.0", "1.5.0", "2.0"])
def test_another_version_rules_it_out_and_says_so(doctor, version) -> None:
    found = report(doctor, MESSAGE, kettle_of(version))
    assert found.diagnoses == ()
    [out] = found.ruled_out
    assert out.id == LEAK
    assert (
        out.because[0]["message"] == f"kettle {version} is outside of the versions that have this."
    )


def test_facts_show_it_as_surely_as_it_was_confirmed(doctor) -> None:
    [found] = report(doctor, "", kettle_of("3.0"), MODEL).diagnoses
    assert (found.id, found.confidence) == (SHAPE, "certain")


def test_a_version_alone_shows_nothing(doctor) -> None:
    assert report(doctor, "", kettle_of("1.2.0"), kettle_of("3.0")).diagnoses == ()


def test_nothing_is_ruled_out_by_versions_of_reports(doctor) -> None:
    text = "the spout of the kettle drips slowly"
    [found] = report(doctor, text, kettle_of("0.9")).diagnoses
    assert (found.id, found.confidence) == (SLOW, "possible")
    other = report(doctor, text, kettle_of("0.8"))
    assert (other.diagnoses, other.ruled_out) == ((), ())


def test_free_text_finds_it_and_says_what_differs(doctor) -> None:
    near, *_ = similar_issues("water comes out at the handle of the kettle", doctor.base)
    assert near.id == LEAK
    assert near.differs == (
        "the version of kettle is not known; it is known of 1.2.0 and later, before 1.3.0,"
        " 1.4.0 and later, before 1.5.0",
    )


def test_an_error_that_no_row_knows_is_shown_what_it_looks_like(doctor) -> None:
    found = report(
        doctor, "PotError: handle burnt, steam escapes from kettle lid", kettle_of("2.0")
    )
    assert found.diagnoses == ()
    [error] = found.unexplained
    assert [issue.id for issue in error.similar] == [LEAK]
    assert error.similar[0].differs == (
        "kettle 2.0 is installed; it is known of 1.2.0 and later, before 1.3.0,"
        " 1.4.0 and later, before 1.5.0",
    )
    plain = found.plain()
    assert plain["unexplained"][0]["similar"][0]["id"] == LEAK
    jsonschema.validate(plain, json.loads(SCHEMA.read_text(encoding="utf-8")))


def test_an_error_of_other_matters_looks_like_nothing(doctor) -> None:
    [error] = report(doctor, "KeyError: 'kettle'").unexplained
    assert error.similar == ()


@pytest.mark.parametrize(
    ("part", "said"),
    [
        ("link: ftp://x", "a link starts with https://"),
        ('versions: [{introduced: "2.0", fixed: "1.0"}]', "no later than"),
        ("versions: [{introduced: next}]", "is not a version"),
        ('reported: "2026-02-30"', ""),
        ("replaces: acme.issue.other", "replaces nothing"),
    ],
)
def test_what_cannot_be_true_is_refused(part, said) -> None:
    name = part.partition(":")[0]
    base = {
        "id": "acme.issue.x", "title": "X", "severity": "error", "summary": "Y", "package": "p",
        "versions": '[{introduced: "1.0"}]', "seen": "[it]", "link": "https://x",
        "confirmed": "reported",
    }  # fmt: skip
    lines = [part, *(f"{n}: {v}" for n, v in base.items() if n != name)]
    head = 'schema: modelmedic/issues/1\ndomain: acme\nverified: "2026-01-01"\nissues:\n  - '
    text = head + "\n    ".join(lines)
    vocabulary, _ = shipped_layer(tests=False).texts()
    [problem] = build(vocabulary, [("x.yaml", text + "\n")]).problems
    assert (problem.code, said in problem.message) == ("MM220", True)
