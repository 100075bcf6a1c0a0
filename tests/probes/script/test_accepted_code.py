"""Findings that a comment in the code accepts, and baselines that survive moved lines."""

import json

import pytest

from modelmedic.engine.diagnosis.baseline import accept
from modelmedic.facts import Fact
from modelmedic.interfaces.baseline_file import baseline_text, read_baseline
from modelmedic.interfaces.reports.formats import Document, render
from modelmedic.interfaces.reports.output_guard import redacted
from modelmedic.probes.script.probe import gather_script

IGNORED = "tinker.usage.silently-ignored-argument"
WRONG = "p = tinker.SamplingParams(max_new_tokens=5)"


@pytest.fixture
def report_on(vocabulary, doctor):
    def report_on(text, *facts):
        outcome = gather_script("train.py", vocabulary, text=f"import tinker\n{text}\n")
        return doctor.diagnose([*outcome.facts, *facts], outcome.problems, plan=False)

    return report_on


def of(report, id=IGNORED):
    return next(d for d in report.diagnoses if d.id == id)


def codes(report):
    return [p.code for p in (*report.errors, *report.notes)]


@pytest.mark.parametrize(
    "text",
    [
        f"{WRONG}  # modelmedic: ignore[api-max-new-tokens] the server reads it",
        f"{WRONG}  # modelmedic: ignore[{IGNORED}] the server reads it",
        f"#modelmedic:ignore[api-max-new-tokens]   the server reads it\n\n# more\n{WRONG}",
        f"{WRONG}  # modelmedic: ignore[api-archive-url, api-max-new-tokens] the server reads it",
        "p = tinker.SamplingParams(\n  max_new_tokens=5,\n"
        ")  # modelmedic: ignore[api-max-new-tokens] the server reads it",
    ],
)
def test_a_comment_with_a_reason_accepts(text, report_on):
    report = report_on(text)
    assert of(report).accepted.reason == "the server reads it"
    assert report.worst() is None
    for format_, shown in (("text", "the server reads it (in the code)"), ("sarif", "inSource")):
        assert shown in render(redacted(Document(report)), format_).value


@pytest.mark.parametrize(
    ("comment", "code"),
    [
        ("ignore[api-max-new-tokens]", "MM469"),
        ("ignore[api-max-new-tokens]   ", "MM469"),
        ("ignore it", "MM469"),
        ("ignore[] because", "MM469"),
        ("ignore[api-no-such-pattern] because", "MM349"),
        ("ignore[tinker.usage.no-such] because", "MM349"),
        ("ignore[api-stop-sequences] because", "MM343"),
    ],
)
def test_a_comment_that_accepts_nothing_says_so_with_its_line(comment, code, report_on):
    report = report_on(f"{WRONG}  # modelmedic: {comment}")
    assert codes(report) == [code]
    problem = [*report.errors, *report.notes][0]
    assert (problem.where.path, problem.where.line) == ("train.py", 2)
    assert of(report).accepted is None


def test_another_place_and_other_evidence_are_not_accepted(report_on):
    comment = "# modelmedic: ignore[api-max-new-tokens] known"
    assert of(report_on(f"{WRONG}  {comment}\n{WRONG}")).accepted is None
    assert of(report_on(f"{WRONG}  {comment}\n{WRONG}  {comment} too")).accepted
    assert of(report_on(f"x = '''{comment}'''\n{WRONG}")).accepted is None
    stop = "q = tinker.SamplingParams(stop_sequences=['a'])"
    assert of(report_on(f"{WRONG}  {comment}\n{stop}")).accepted is None


def test_a_version_beside_the_code_does_not_end_an_acceptance(report_on):
    text = (
        "c = tinker.ServiceClient(timeout=60)  # modelmedic: ignore[api-service-client-options] ok"
    )
    package = Fact.of("package", name="tinker", version="0.38.0")
    assert of(report_on(text, package)).accepted


def test_a_notebook_accepts_by_cell(vocabulary, doctor):
    cells = [{"cell_type": "code", "source": text} for text in (
        "import tinker", f"{WRONG}  # modelmedic: ignore[api-max-new-tokens] known")]  # fmt: skip
    text = json.dumps({"cells": cells})
    facts = gather_script("a.ipynb", vocabulary, text=text).facts
    assert of(doctor.diagnose(facts, plan=False)).accepted


@pytest.fixture
def with_baseline(tmp_path, vocabulary):
    """A report with the baseline that is written for an earlier one."""

    def with_baseline(earlier, later):
        path = tmp_path / "known.yaml"
        path.write_text(baseline_text(earlier, "2027-01-01").replace('reason: ""', "reason: known"))
        return accept(later, read_baseline(path, vocabulary), "2027-01-02")

    return with_baseline


def test_a_baseline_holds_where_lines_move_and_code_is_indented(report_on, with_baseline):
    later = report_on(f"\n# new\nif True:\n    {WRONG}\nprint(p)")
    assert of(with_baseline(report_on(WRONG), later)).accepted


def test_a_baseline_does_not_hold_for_new_code(report_on, with_baseline):
    other = "q = tinker.SamplingParams(max_new_tokens=6)"
    later = with_baseline(report_on(WRONG), report_on(f"{WRONG}\n{other}"))
    assert of(later).accepted is None and codes(later) == ["MM343"]
    twice = with_baseline(report_on(WRONG), report_on(f"{WRONG}\n{WRONG}"))
    assert of(twice).accepted is None


def test_mending_one_of_two_leaves_the_other_accepted(report_on, with_baseline):
    other = "q = tinker.SamplingParams(max_new_tokens=6)"
    both = report_on(f"{WRONG}\n{other}")
    assert of(with_baseline(both, report_on(other))).accepted
