"""The verdict needs a plan only while no cause is decided."""

from pathlib import Path

import pytest

from modelmedic.engine import Diagnoser
from modelmedic.facts import Provenance
from modelmedic.facts.strict_yaml import load
from modelmedic.interfaces.reports.formats import Document
from modelmedic.interfaces.reports.formats.text import report_text
from modelmedic.interfaces.reports.layout import text_of
from modelmedic.interfaces.reports.output_guard import redacted

KNOWLEDGE = Path(__file__).parents[2] / "knowledge"
EVERY = 23


def sets():
    paths = [*KNOWLEDGE.glob("*/stories/*.test.yaml"), *KNOWLEDGE.glob("*/*/*.test.yaml")]
    found = [
        case["facts"]
        for path in sorted(set(paths))
        for case in load(path.read_text(encoding="utf-8"), str(path)).data["cases"]
        if case["kind"] in ("story", "fires", "healthy")
    ]
    return found[::EVERY]


@pytest.fixture(scope="module")
def doctor():
    return Diagnoser.load()


def text(report):
    document = redacted(Document(report, command="diagnose --facts facts.json"))
    return text_of(document.map(lambda _: list(report_text(document))), 80)


def test_the_verdict_is_the_same_without_the_plan_where_a_cause_is_decided(doctor):
    decided = 0
    for items in sets():
        facts = [doctor.base.vocabulary.trusted(i, Provenance("file", "facts.json")) for i in items]
        whole, short = doctor.diagnose(facts), doctor.diagnose(facts, plan="open")
        assert text(short) == text(whole)
        assert short.diagnoses == whole.diagnoses and short.ruled_out == whole.ruled_out
        if whole.is_decided:
            decided += 1
            assert short.next == short.unknown == ()
        else:
            assert short == whole
    assert decided > 30
