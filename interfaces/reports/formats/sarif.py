"""SARIF 2.1.0 for code scanning: one result a problem, at the places of its evidence."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ....engine.diagnosis.report import Diagnosis, Unexplained
from ....facts import Problem
from ....facts.redaction import Redacted
from ..locations import Change, Files, Place, is_inside, uri
from ..safe_text import one_line, safe_plain
from ..unexplained import ADVICE
from ..view import accepted_text
from . import Document, Failure

SUFFIX = ".sarif"
_SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
_LEVELS = {"info": "note", "warning": "warning", "error": "error", "blocker": "error"}
MAX_PLACES = 10
_BASES = {
    "%SRCROOT%": {"description": {"text": "The root of the repository."}},
    "HOME": {"description": {"text": "The home folder of whoever made the report."}},
}
_UNEXPLAINED: dict[str, Any] = {
    "id": "unexplained-error",
    "shortDescription": {"text": "Nothing explains an error"},
    "fullDescription": {"text": "An error from which no diagnosis could be concluded."},
    "help": {"text": ADVICE.replace("`", "")},
}


def render(document: Redacted[Document]) -> str:
    """The report as a SARIF log."""
    report = document.value.report
    problems = [d for d in report.diagnoses if d.kind != "benign"]
    files = Files(report)
    run = _run(report.tool, report.errors, files, successful=True)
    notes = [_notification(p, "note", files) for p in report.notes]
    run["invocations"][0]["toolExecutionNotifications"] += notes
    left = report.unexplained
    run["tool"]["driver"]["rules"] = [*map(_rule, problems), *([_UNEXPLAINED] if left else [])]
    run["results"] = [
        *(_result(d, number, files) for number, d in enumerate(problems)),
        *(_open_result(error, len(problems), files) for error in left),
    ]
    run["properties"] = {
        "knowledge": report.knowledge,
        "status": report.status,
        "fine": [d.id for d in report.diagnoses if d.kind == "benign"],
        "ruledOut": [r.id for r in report.ruled_out],
        "stillOpen": [c.id for c in report.unknown],
        "redacted": dict(document.counts),
    }
    return _log(run)


def render_failure(failure: Redacted[Failure]) -> str:
    """A log of a run that did not succeed."""
    run = _run(failure.value.tool, failure.value.problems, Files(), successful=False)
    run["results"] = []
    return _log(run)


def _log(run: dict[str, Any]) -> str:
    return json.dumps(safe_plain(sarif_log(run)), indent=2, ensure_ascii=True) + "\n"


def sarif_log(run: dict[str, Any]) -> dict[str, Any]:
    """A log of one run."""
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def _run(
    tool: Mapping[str, str], problems: Sequence[Problem], files: Files, *, successful: bool
) -> dict[str, Any]:
    driver = {"name": tool["name"], "version": tool["version"], "rules": []}
    level = "warning" if successful else "error"
    notifications = [_notification(p, level, files) for p in problems]
    invocation = {
        "executionSuccessful": successful,
        "toolExecutionNotifications": notifications,
    }
    return {
        "tool": {"driver": driver},
        "invocations": [invocation],
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": _BASES,
    }


def _notification(problem: Problem, level: str, files: Files) -> dict[str, Any]:
    hint = f" ({problem.hint})" if problem.hint else ""
    notification: dict[str, Any] = {
        "descriptor": {"id": problem.code},
        "level": level,
        "message": {"text": problem.message + hint},
    }
    if places := files.of_problem(problem):
        notification["locations"] = [*map(_location, places)]
    elif problem.where:
        notification["locations"] = [_named(problem.where.path)]
    return notification


def _rule(d: Diagnosis) -> dict[str, Any]:
    help_text = "\n".join(_action(number, a) for number, a in enumerate(d.actions, 1))
    return {
        "id": d.id,
        "shortDescription": {"text": d.title},
        "fullDescription": {"text": d.summary},
        "help": {"text": help_text or d.summary},
        "defaultConfiguration": {"level": _LEVELS[d.severity]},
        "properties": {"kind": d.kind, "severity": d.severity},
    }


def _action(number: int, action: Mapping[str, str]) -> str:
    command = f"\n   $ {action['command']}" if action.get("command") else ""
    verify = f"\n   Verify: {action['verify']}" if action.get("verify") else ""
    return f"{number}. {action['do']}{command}{verify}"


def _result(d: Diagnosis, number: int, files: Files) -> dict[str, Any]:
    reasons = [s["message"] for s in d.explanation["how"] if s.get("message")]
    result: dict[str, Any] = {
        "ruleId": d.id,
        "ruleIndex": number,
        "kind": "fail",
        "level": _LEVELS[d.severity],
        "message": {"text": "\n".join([f"{d.headline} ({d.confidence}).", *reasons])},
        "locations": [*map(_location, files.of_diagnosis(d)[:MAX_PLACES])],
        "partialFingerprints": {"diagnosis/v1": d.id},
        "properties": {
            "confidence": d.confidence,
            "severity": d.severity,
            "conflicting": d.conflicting,
            "explains": list(d.explains),
            "explainedBy": list(d.explained_by),
            "evidence": [f"{e.fact}: {e.text}" for e in d.evidence],
        },
    }
    if changes := files.changes(d):
        result["fixes"] = [_fix(changes)]
    if d.accepted:
        kind = "external" if d.accepted.until else "inSource"
        why = {"kind": kind, "status": "accepted", "justification": accepted_text(d)}
        result["suppressions"] = [why]
    return result


def _open_result(error: Unexplained, number: int, files: Files) -> dict[str, Any]:
    """An error without an explanation: neither a problem nor harmless."""
    known = {n: v for n, v in error._asdict().items() if v and n not in ("text", "source")}
    return {
        "ruleId": _UNEXPLAINED["id"],
        "ruleIndex": number,
        "kind": "open",
        "level": "none",
        "message": {"text": f"Not explained: {error.text}"},
        "locations": [*map(_location, files.of_facts((error.fact,))[:MAX_PLACES])],
        "properties": known,
    }


def _fix(changes: Sequence[Change]) -> dict[str, Any]:
    """All changes together; a viewer offers them as one."""
    files: dict[str, list[Change]] = {}
    for change in changes:
        files.setdefault(change.place.path, []).append(change)
    return {
        "description": {"text": "Replace what the API does not take."},
        "artifactChanges": [
            {
                "artifactLocation": _artefact(of_file[0].place),
                "replacements": [
                    {"deletedRegion": _region(c.place), "insertedContent": {"text": c.text}}
                    for c in of_file
                ],
            }
            for of_file in files.values()
        ],
    }


def _region(place: Place) -> dict[str, int]:
    known = {
        "startLine": place.line,
        "startColumn": place.column,
        "endLine": place.end_line,
        "endColumn": place.end_column,
    }
    return {name: number for name, number in known.items() if number}


def _artefact(place: Place) -> dict[str, str]:
    artefact = {"uri": uri(place.path.removeprefix("~/"))}
    if place.path.startswith("~/"):
        artefact["uriBaseId"] = "HOME"
    elif is_inside(place.path):
        artefact["uriBaseId"] = "%SRCROOT%"
    return artefact


def _location(place: Place) -> dict[str, Any]:
    physical: dict[str, Any] = {"artifactLocation": _artefact(place)}
    if place.line:
        physical["region"] = _region(place)
    named = _named(place.part) if place.part else {}
    return {"physicalLocation": physical} | named


def _named(place: str) -> dict[str, Any]:
    """A place that is not a file: a part of a file, or a missing file."""
    return {"logicalLocations": [{"fullyQualifiedName": one_line(place)}]}
