"""Everything that the command prints as JSON fits the schema that is published; and the schema
refuses what is not a report."""

import json

import jsonschema
import pytest

from modelmedic.engine.diagnosis.consultation import TOOL
from modelmedic.facts import ModelMedicError, Problem
from modelmedic.facts.fact_file import read_facts
from modelmedic.interfaces.reports.formats import Document, Failure, render, render_failure
from modelmedic.interfaces.reports.output_guard import redacted


@pytest.fixture(scope="module")
def validator(report_schema):
    jsonschema.Draft202012Validator.check_schema(report_schema)
    return jsonschema.Draft202012Validator(report_schema)


@pytest.fixture(scope="module")
def reports(doctor, root):
    """Reports on the examples and the healthy sets that ship, and on nothing."""
    paths = [*(root / "facts" / "examples").glob("*.json"),
             *(root / "knowledge").glob("**/healthy/**/*.json")]  # fmt: skip
    found = [doctor.diagnose([])]
    for path in sorted(paths):
        try:
            found.append(doctor.diagnose(read_facts(path, doctor.base.vocabulary)))
        except ModelMedicError:
            continue
    assert len(found) > 5
    return found


def test_reports_fit(validator, reports):
    for report in reports:
        plain = json.loads(render(redacted(Document(report)), "json").value)
        assert [e.message for e in validator.iter_errors(plain)] == []


def test_reports_fit_sarif(sarif_schema, reports):
    validator = jsonschema.Draft4Validator(sarif_schema)
    for report in reports:
        log = json.loads(render(redacted(Document(report)), "sarif").value)
        assert [e.message for e in validator.iter_errors(log)] == []


def test_failures_fit(validator):
    failure = redacted(Failure(TOOL, (Problem("MM101", "no such file"),)))
    document = render_failure(failure, "json")
    assert document is not None
    validator.validate(json.loads(document.value))


@pytest.mark.parametrize(
    "change",
    [
        {"schema": "modelmedic/report/2"}, {"status": "fine"}, {"facts": [{"kind": "x"}]},
        {"diagnoses": [{"id": "a"}]}, {"unheard": 1}, {"redacted": {"API_KEY": 0}},
        {"errors": [{"code": "X1", "message": "", "where": "", "hint": ""}]},
    ],
)  # fmt: skip
def test_what_is_no_report_is_refused(validator, reports, change):
    plain = reports[0].plain()
    assert validator.is_valid(plain)
    assert not validator.is_valid(plain | change)
