"""The embedding API, as ``engine/diagnosis/diagnoser.py`` documents it."""

import doctest
import json
import pickle
from concurrent.futures import ThreadPoolExecutor

import pytest

from modelmedic.engine import (
    Consultation,
    Diagnoser,
    Diagnosis,
    Evidence,
    KnowledgeBase,
    NextStep,
    Report,
    RuledOut,
)
from modelmedic.engine.diagnosis import diagnoser
from modelmedic.facts import Fact, ModelMedicError, Problem

PYDANTIC = "tinker.env.pydantic-prerelease-serialization"


@pytest.fixture(scope="module", params=["auto", "reference"])
def doctor(request, compiled):
    return Diagnoser.load(engine=request.param, cache=compiled)


@pytest.fixture(scope="module")
def facts(doctor, slow_steps):
    plain = json.loads(slow_steps.read_text())["facts"]
    return [
        doctor.base.vocabulary.fact(
            item["kind"], **{n: v for n, v in item.items() if n not in ("kind", "provenance")}
        )
        for item in plain
    ]


@pytest.fixture(scope="module")
def report(doctor, facts):
    return doctor.diagnose(facts)


def test_the_examples_in_the_documentation():
    assert doctest.testmod(diagnoser).attempted >= 3
    assert doctest.testmod(diagnoser).failed == 0


def test_the_report_is_typed(report, facts):
    assert isinstance(report, Report)
    assert (report.status, report.worst()) == ("findings", "error")
    first = report.diagnoses[0]
    assert type(first) is Diagnosis
    assert first.id == PYDANTIC
    assert all(isinstance(e, Evidence) for e in first.evidence)
    assert all(isinstance(step, NextStep) for step in report.next)
    assert {fact for _, fact, derived in report.facts if not derived} == set(facts)
    assert report.knowledge["digest"] and report.tool["name"] == "modelmedic"


def test_the_report_is_frozen(report):
    for value in (report, report.diagnoses[0], report.diagnoses[0].evidence[0], report.facts[0][1]):
        for name in ("id", "status", "kind", "anything"):
            with pytest.raises(AttributeError):
                setattr(value, name, "changed")
    for part in (report.diagnoses, report.ruled_out, report.unknown, report.next, report.facts):
        assert isinstance(part, tuple)


def test_the_report_can_be_pickled(report):
    copy = pickle.loads(pickle.dumps(report))
    assert copy == report
    assert copy.plain() == report.plain()
    assert isinstance(copy.diagnoses[0], Diagnosis)


def test_its_plain_form_is_what_the_command_prints(doctor, diagnose, slow_steps):
    from modelmedic.facts.fact_file import read_facts

    plain = doctor.diagnose(read_facts(slow_steps, doctor.base.vocabulary)).plain()
    assert plain == diagnose("--facts", slow_steps, "--format", "json").json


def test_changing_the_plain_form_changes_no_report(doctor, facts, report):
    wanted = json.dumps(report.plain())
    plain = doctor.diagnose(facts).plain()
    for part in ("diagnoses", "facts", "next", "unknown"):
        plain[part].clear()
    plain["knowledge"].clear()
    assert json.dumps(doctor.diagnose(facts).plain()) == wanted
    assert json.dumps(report.plain()) == wanted


def test_the_same_facts_give_the_same_report(doctor, facts, report):
    assert doctor.diagnose(facts) == report
    assert doctor.diagnose(iter(facts[::-1])) == report
    assert doctor.diagnose([*facts, *facts]) == report
    assert doctor.diagnose(facts[1:]) != report
    assert Diagnoser.of(doctor.base).diagnose(facts) == report


def test_threads_may_share_it(doctor, facts):
    """Different facts at the same time: nothing of one consultation reaches another."""
    variants = [facts[:n] for n in range(len(facts) + 1)]
    wanted = [json.dumps(doctor.diagnose(variant).plain()) for variant in variants]
    assert len(set(wanted)) == len(wanted)
    shared = Diagnoser.of(doctor.base)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda v: json.dumps(shared.diagnose(v).plain()), variants * 8))
    assert found == wanted * 8


@pytest.mark.usefixtures("small_base")
def test_threads_may_load_at_once(tmp_path):
    with ThreadPoolExecutor(4) as pool:
        loaded = list(pool.map(lambda _: Diagnoser.load(cache=tmp_path / "cache"), range(4)))
    assert len({doctor.base.digest for doctor in loaded}) == 1
    assert all(doctor.diagnose([]).status == "clear" for doctor in loaded)
    kept = {path.name.partition("-")[0] for path in (tmp_path / "cache").iterdir()}
    assert kept <= {"knowledge", "digests"}, "a draft was left behind"
    assert len(list((tmp_path / "cache").glob("knowledge-*"))) == 1


def test_a_consultation_answers_about_one_set_of_facts(doctor, facts, report):
    consultation = doctor.consult(facts)
    assert isinstance(consultation, Consultation)
    assert consultation.report() == report
    assert consultation.explain_absence(PYDANTIC)["concluded"]
    assert not doctor.consult([]).explain_absence(PYDANTIC)["concluded"]


def test_what_if(doctor, facts):
    change = [doctor.base.vocabulary.fact("package", name="pydantic", version="2.14.3")]
    assert PYDANTIC in doctor.what_if(facts, change)["lost"]


def test_no_facts_are_clear(doctor):
    report = doctor.diagnose([])
    assert (report.status, report.worst(), report.diagnoses) == ("clear", None, ())


def test_problems_of_gathering_are_passed_on(doctor, facts, report):
    problem = Problem("MM430", "a file could not be read", None, "look at it")
    assert doctor.diagnose(facts, [problem]).errors == (problem,)
    assert doctor.diagnose(facts, [problem]).diagnoses == report.diagnoses
    assert doctor.diagnose([], [problem]).status == "error"


def test_facts_are_checked_when_they_are_made(doctor):
    with pytest.raises(ModelMedicError) as error:
        doctor.base.vocabulary.fact("package", nam="pydantic")
    assert {p.code for p in error.value.problems} == {"MM114", "MM116"}
    assert str(pickle.loads(pickle.dumps(error.value))) == str(error.value)


def test_ruled_out_is_typed(doctor):
    fact = doctor.base.vocabulary.fact
    report = doctor.diagnose(
        [
            fact("package", name="pydantic", version="2.14.3"),
            fact("serialization_benchmark", seconds=0.005, batch_size=4, seq_len=8192),
        ]
    )
    assert all(isinstance(r, RuledOut) for r in report.ruled_out)
    assert PYDANTIC in {r.id for r in report.ruled_out}


def test_an_overlay_is_given_as_a_folder(tmp_path):
    (tmp_path / "diagnoses.yaml").write_text(
        "schema: modelmedic/diagnoses/1\ndomain: local\nsources: [{ref: here}]\ndiagnoses:\n"
        "  - {id: local.x.y, title: X, severity: info, kind: benign, summary: X.}\n"
    )
    doctor = Diagnoser.load([tmp_path])
    assert isinstance(doctor.base, KnowledgeBase)
    assert doctor.base.summary("local.x.y").title == "X"
    with pytest.raises(ModelMedicError):
        Diagnoser.load([tmp_path / "none"])


def test_it_writes_nothing(doctor, facts, capfd):
    doctor.diagnose(facts)
    doctor.diagnose([Fact.of("kind_that_nobody_knows", x=1)])
    assert capfd.readouterr() == ("", "")
