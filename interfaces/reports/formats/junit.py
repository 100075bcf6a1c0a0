"""JUnit XML for test dashboards: a test case for each diagnosis that was considered."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from xml.etree import ElementTree as ET

from ....engine.diagnosis.report import SEVERITIES, Diagnosis, Unexplained
from ....facts import Problem
from ....facts.redaction import Redacted
from ....facts.redaction.masking import cut
from ..layout import Line, text_of
from ..locations import Files, Place
from ..safe_text import one_line, safe
from ..source_text import source_texts
from ..unexplained import origin, place
from ..view import accepted_text, overlay_texts, view_of
from . import Document, Failure
from .text import diagnosis_lines, how_lines

SUFFIX = ".xml"
MAX_NAME = 120


def render(document: Redacted[Document]) -> str:
    """Problems at or above ``--fail-on`` fail, errors that nothing explains are errors, open ones
    are skipped, all others pass."""
    report = document.value.report
    view = view_of(report)
    facts = view.cited
    suite = _suite(report.tool)
    if overlays := overlay_texts(report):
        properties = ET.SubElement(suite, "properties")
        for text in overlays:
            ET.SubElement(properties, "property", {"name": "overlay", "value": one_line(text)})
    files = Files(report)
    for d in report.diagnoses:
        case = _case(suite, d.id, files.of_diagnosis(d))
        _diagnosis(case, d, document, diagnosis_lines(d, view.titles, facts))
    for item in report.ruled_out:
        said = _said(document, how_lines(item.because, facts, 0))
        _text(_case(suite, item.id), "system-out", said)
    for candidate in report.unknown:
        missing = f"{candidate.title}: not known: {'; '.join(candidate.missing)}"
        ET.SubElement(_case(suite, candidate.id), "skipped", {"message": one_line(missing)})
    for error in report.unexplained:
        _unexplained(suite, error, document, files)
    for note in report.notes:
        case = ET.SubElement(suite, "testcase", {"classname": "note", "name": note.code})
        _text(case, "system-out", str(note))
    _errors(suite, report.errors, files)
    return _document(suite)


def render_failure(failure: Redacted[Failure]) -> str:
    """A suite that contains only the errors."""
    suite = _suite(failure.value.tool)
    _errors(suite, failure.value.problems, Files())
    return _document(suite)


def _diagnosis(
    case: ET.Element, d: Diagnosis, document: Redacted[Document], lines: Iterable[Line]
) -> None:
    text = _said(document, lines)
    if d.accepted:
        message = one_line(f"accepted: {accepted_text(d)}")
        _text(case, "skipped", text, {"message": message})
    elif _fails(d, document.value.fail_on):
        message = one_line(f"{d.headline} ({d.confidence})")
        _text(case, "failure", text, {"message": message, "type": d.severity})
    else:
        _text(case, "system-out", text)


def _unexplained(
    suite: ET.Element, error: Unexplained, document: Redacted[Document], files: Files
) -> None:
    """An error from which nothing is concluded. As in the exit code, it does not count with
    ``--fail-on never``."""
    name = {"classname": "unexplained", "name": cut(one_line(error.text), MAX_NAME)}
    case = ET.SubElement(suite, "testcase", name | _at(files.of_facts((error.fact,))))
    how = "skipped" if document.value.fail_on == "never" else "error"
    said = {"message": one_line(f"not explained: {error.text}")}
    kind = {"type": "unexplained"} if how == "error" else {}
    lines = filter(None, (error.text, place(error), origin(error), *source_texts(error.source)))
    _text(case, how, "\n".join(lines), said | kind)


def _said(document: Redacted[Document], lines: Iterable[Line]) -> str:
    """Render lines about the document as text."""
    return text_of(document.map(lambda _: list(lines)))


def _fails(d: Diagnosis, fail_on: str) -> bool:
    """Whether it counts as a failure, as in the exit code."""
    if d.kind == "benign" or d.conflicting or fail_on == "never":
        return False
    return SEVERITIES.index(d.severity) >= SEVERITIES.index(fail_on)


def _errors(suite: ET.Element, problems: Iterable[Problem], files: Files) -> None:
    for problem in problems:
        name = {"classname": "input", "name": problem.code} | _at(files.of_problem(problem))
        case = ET.SubElement(suite, "testcase", name)
        attributes = {"message": one_line(problem.message), "type": problem.code}
        _text(case, "error", str(problem), attributes)


def _suite(tool: Mapping[str, str]) -> ET.Element:
    return ET.Element("testsuite", {"name": one_line(f"{tool['name']} {tool['version']}")})


def _case(suite: ET.Element, diagnosis: str, places: Iterable[Place] = ()) -> ET.Element:
    group, _, _ = diagnosis.rpartition(".")
    name = {"classname": one_line(group), "name": one_line(diagnosis)}
    return ET.SubElement(suite, "testcase", name | _at(places))


def _at(places: Iterable[Place]) -> dict[str, str]:
    """The first file, as most dashboards read it."""
    first = next(iter(places), None)
    if first is None:
        return {}
    return {"file": one_line(first.path)} | ({"line": str(first.line)} if first.line else {})


def _text(
    parent: ET.Element, name: str, text: str, attributes: Mapping[str, str] | None = None
) -> None:
    ET.SubElement(parent, name, dict(attributes or {})).text = safe(text)


def _document(suite: ET.Element) -> str:
    counts = {"tests": len(suite.findall("testcase"))} | {
        f"{name}{plural}": len(suite.findall(f"testcase/{name}"))
        for name, plural in (("failure", "s"), ("error", "s"), ("skipped", ""))
    }
    for name, count in counts.items():
        suite.set(name, str(count))
    suites = ET.Element("testsuites", {n: str(c) for n, c in counts.items() if n != "skipped"})
    suites.append(suite)
    ET.indent(suites)
    body: Any = ET.tostring(suites, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{body}\n'
