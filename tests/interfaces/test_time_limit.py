"""`--time-limit`: a command ends, and what it left out is said, never silently."""

import json

import pytest

from modelmedic.engine.compiler.knowledge_base import KnowledgeBase
from modelmedic.facts import ModelMedicError
from modelmedic.facts.fact_file import read_facts
from modelmedic.interfaces.deadline import Deadline
from modelmedic.interfaces.inspection import gather

AT_ONCE = "0.000001"


class Patience:
    """Says that time is up when it has been asked so often."""

    def __init__(self, questions):
        self.questions = questions

    def __call__(self):
        self.questions -= 1
        return self.questions < 0


@pytest.fixture(scope="module")
def facts(doctor, slow_steps):
    return read_facts(slow_steps, doctor.base.vocabulary)


def codes(report):
    return [problem.code for problem in report.errors]


@pytest.mark.parametrize("engine", ["auto", "native", "reference"])
def test_a_report_without_time_is_no_verdict(diagnose, slow_steps, engine):
    options = ("--facts", slow_steps, "--engine", engine, "-f", "json")
    answer = diagnose(*options, "--time-limit", AT_ONCE)
    assert answer.code == 4
    assert answer.json["status"] == "incomplete"
    assert [error["code"] for error in answer.json["errors"]] == ["MM319"]
    assert len(answer.json["facts"]) == len(json.loads(slow_steps.read_text())["facts"])


def test_a_limit_that_is_not_reached_changes_nothing(diagnose, slow_steps):
    answer = diagnose("--facts", slow_steps, "-f", "json")
    assert diagnose("--facts", slow_steps, "-f", "json", "--time-limit", "500") == answer
    assert not answer.json["errors"]


@pytest.mark.parametrize("limit", ["0", "-1", "soon", "nan"])
def test_limits_that_are_none(diagnose, slow_steps, limit):
    assert diagnose("--facts", slow_steps, "--time-limit", limit).code == 2


def test_whenever_time_is_up_what_is_found_holds(doctor, facts):
    """A part of the findings at most, and the report says that it is a part."""
    whole = doctor.diagnose(facts)
    asked = 0
    for questions in range(100):
        report = doctor.diagnose(facts, time_is_up=Patience(questions))
        assert {d.id for d in report.diagnoses} <= {d.id for d in whole.diagnoses}
        if report == whole:
            break
        assert codes(report) == ["MM319"]
        asked += 1
    assert report == whole
    assert asked


def test_knowledge_is_not_compiled_in_part():
    with pytest.raises(ModelMedicError) as caught:
        KnowledgeBase.load(time_is_up=Patience(3))
    assert [problem.code for problem in caught.value.problems] == ["MM319"]


def test_compiling_reaches_the_limit(diagnose, slow_steps):
    answer = diagnose("--facts", slow_steps, "--time-limit", AT_ONCE, MODELMEDIC_CACHE="")
    assert (answer.code, "MM319" in answer.err) == (2, True)


def test_what_was_not_read_is_said(diagnose, tmp_path):
    (tmp_path / "run.log").write_text("2026-03-01 09:00:00,000 ERROR x: shard is broken\n" * 3)
    answer = diagnose("inspect", tmp_path, "--time-limit", AT_ONCE, "-f", "json")
    assert (answer.code, answer.json["status"]) == (4, "incomplete")
    assert {error["code"] for error in answer.json["errors"]} == {"MM319"}
    message = answer.json["errors"][0]["message"]
    assert "nothing was read" in message or "not read: " in message
    assert diagnose("decode", "ValueError: x", "--time-limit", AT_ONCE).code == 4


def test_reading_ends_in_the_middle(doctor, tmp_path):
    """A log that takes seconds, and a tenth of a second for it."""
    line = b"2026-03-01 09:00:00,000 ERROR x: shard is broken\n"
    (tmp_path / "run.log").write_bytes(line * 2_000_000)
    facts, problems, _ = gather([tmp_path], doctor.base.vocabulary, deadline=Deadline(0.1))
    assert {problem.code for problem in problems} == {"MM319"}
    assert all("time limit" in problem.message for problem in problems)
    assert len(facts) < 10
