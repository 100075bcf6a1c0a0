"""`diagnose inspect` over transcripts: each recorded call by itself, and all of them together."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from modelmedic.engine import Diagnoser, Report
from modelmedic.interfaces.inspection import gather

HERE = Path(__file__).parent
CALLS = HERE.parent / "probes/data/transcripts/calls.jsonl"
LINES = CALLS.read_text(encoding="utf-8").splitlines()
RULES: list[dict[str, Any]] = json.loads((HERE / "transcripts.json").read_text(encoding="utf-8"))
SAID = ("exception", "message", "status_code", "outcome", "seconds", "call", "log")


def expected(record: dict[str, Any]) -> list[str]:
    """The diagnoses, one of which must come first; none for a call without fault."""
    for rule in RULES:
        fits = re.fullmatch(rule["scenario"], record["scenario"])
        if fits and rule.get("outcome", record["outcome"]) == record["outcome"]:
            return list(rule["first"])
    raise AssertionError(f"no expectation for {record['scenario']}")


def inspected(doctor: Diagnoser, path: Path) -> Report:
    facts, problems, read = gather([path], doctor.base.vocabulary)
    assert [title for _, title, _ in read] == ["transcript of calls"]
    assert not problems
    return doctor.diagnose(facts, problems)


def problems_of(report: Report) -> list[str]:
    return [d.id for d in report.diagnoses if d.kind != "benign"]


def proven_errors(report: Report) -> list[str]:
    return [
        d.id
        for d in report.diagnoses
        if d.severity in ("error", "blocker") and d.confidence != "possible" and not d.explained_by
    ]


@pytest.mark.parametrize("line", LINES, ids=[json.loads(line)["scenario"] for line in LINES])
def test_a_call_by_itself(doctor: Diagnoser, tmp_path: Path, line: str) -> None:
    path = tmp_path / "call.json"
    path.write_text(line, encoding="utf-8")
    report = inspected(doctor, path)
    wanted = expected(json.loads(line))
    first = problems_of(report)[:1]
    assert first == wanted[:1] or set(first) & set(wanted)
    assert proven_errors(report)[1:] == [], "unrelated error-level diagnoses"


@pytest.mark.parametrize(
    "line",
    [line for line in LINES if json.loads(line)["outcome"] == "raised"],
    ids=lambda line: json.loads(line)["scenario"],
)
def test_what_the_client_saw_is_enough(doctor: Diagnoser, tmp_path: Path, line: str) -> None:
    """The same record without what only the maker of the fault can know, in another layout."""
    record = json.loads(line)
    seen = {name: record[name] for name in SAID if record[name] is not None}
    path = tmp_path / "report.txt"
    path.write_text(json.dumps([seen], indent=2), encoding="utf-8")
    report = inspected(doctor, path)
    wanted = {*expected(record), "tinker.checkpoint.already-exists"}
    if "stuck" in record["scenario"]:  # what was retried so long is not told
        wanted.add("tinker.service.retries-exhausted")
    assert problems_of(report)[0] in wanted
    assert set(proven_errors(report)) <= wanted


def test_all_calls_together_are_listed_and_capped(doctor: Diagnoser) -> None:
    report = inspected(doctor, CALLS)
    found = problems_of(report)
    assert {
        "tinker.billing.blocked", "tinker.auth.api-key-invalid", "tinker.auth.access-denied",
        "tinker.service.unreachable", "tinker.service.rate-limited", "tinker.service.overloaded",
        "tinker.service.internal-error", "tinker.sampling.prompt-too-long",
    } <= set(found)  # fmt: skip
    assert len(found) < 30
    facts, _, _ = gather([CALLS], doctor.base.vocabulary)
    assert 50 < len(facts) < 600
    lines = {p.location for fact in facts for p in fact.provenance if p.location != str(CALLS)}
    assert all(re.fullmatch(r".*calls\.jsonl:\d+", line) for line in lines)
    assert len(lines) > 50
