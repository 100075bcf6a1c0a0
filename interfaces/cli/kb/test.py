"""``diagnose kb test``: runs the cases beside the knowledge."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ....facts import Problem
from ... import output
from ...context import Context
from ...reports.layout import Line
from ..candidates import files
from ..options import LAYERS, TEXT_OR_JSON, command, path_option
from .group import built_knowledge, decoder, doctor_of, kb, named_by, tell_interrupted

if TYPE_CHECKING:
    from ....authoring.testing.case_runner import Result, Tested, Wanted
    from ....engine.compiler.build import Built
    from ....facts.redaction import Redacted


@command(kb)
@click.argument("paths", nargs=-1, shell_complete=files)
@click.option("--changed", is_flag=True, help="Only cases that changed files can affect.")
@path_option(
    "--junit",
    "Write the results as JUnit XML too.",
    type=click.Path(path_type=Path, dir_okay=False),
)
@LAYERS
@TEXT_OR_JSON
def test(context: Context, paths: Sequence[str], changed: bool, junit: Path | None) -> int:
    """Run the test cases, samples, near misses, healthy sets and generated boundary cases (of files
    whose path contains one of PATHS). Exit code 3 if one fails."""
    from .changed import remember

    overlays = context.overlays
    built = built_knowledge(overlays)
    selected = _changed(built, overlays) if changed else None
    results, left = _results(built, paths, overlays, selected)
    if junit is not None:
        output.save(_junit(results), junit)
    context.emit(_plain(results, left), _lines(results))
    if built.problems:
        _tell(built.problems)
    if left:
        tell_interrupted(f"{len(results):,} cases were run, {left:,} others were not")
        return output.INTERRUPTED
    failed = any(result.failures for result in results) or bool(built.problems)
    if not failed and not paths:
        remember(overlays)
    if not results and not changed:
        sys.stderr.write("no case was run\n")
    return output.BAD_KNOWLEDGE if failed or not (results or changed) else output.OK


def _tell(problems: Sequence[Problem]) -> None:
    """Report files that could not take part; their cases neither passed nor failed."""
    from ....engine.compiler.build import ordered
    from ...reports.layout import problem_lines, write

    write(problem_lines(ordered(problems)), sys.stderr)


def _changed(built: Built, overlays: Sequence[str]) -> Wanted | None:
    """The cases that a change affects; None, with a notice, for all."""
    from ....authoring.testing.selection import Selection
    from .changed import changed_files

    found = changed_files(overlays)
    if found.notice:
        sys.stderr.write(f"all cases are run: {found.notice}\n")
        return None
    return Selection(built, found.files).wants


def _results(
    built: Built, paths: Sequence[str], overlays: Sequence[str], selected: Wanted | None
) -> tuple[list[Result], int]:
    """The results, and how many cases Ctrl-C left out."""
    from ....authoring.testing.case_runner import CaseRunner
    from ....engine.compiler.knowledge_base import SHIPPED_KNOWLEDGE
    from ...waiting import watched

    named = named_by(paths)

    def only(path: str, part: Tested) -> bool:
        return named(path) and (selected is None or selected(path, part))

    runner = CaseRunner(
        doctor_of(built), built.source, decoder(built.vocabulary), built.forms.places
    )
    total = runner.count(only)
    healthy: list[Path] = []
    if (selected is None or total) and (not paths or any("healthy" in path for path in paths)):
        folders = map(Path, (SHIPPED_KNOWLEDGE, *overlays))
        healthy = [path for folder in folders for path in sorted(folder.glob("healthy/*.json"))]
    total += len(healthy)
    results: list[Result] = []
    with watched() as watch, watch.part("cases", total, ends_early=True) as step:
        for result in chain(runner.run(only), map(runner.healthy, healthy)):
            results.append(result)
            if not step():
                return results, total - len(results)
    return results, 0


Row = tuple[str, int, str, str, str, tuple[str, ...]]
"""Path, line, entry, name, kind and failures of a result."""


def _lines(results: Sequence[Result]) -> Iterator[Line]:
    """Failed cases with the conditions that they depend on; then the counts."""
    failed = [result for result in results if result.failures]
    for result in failed:
        yield Line(_heading(result), mark="FAILED ", style="error")
        for failure in result.failures:
            said, *leaves = failure.split("\n")
            yield Line(said, 4, mark="- ")
            yield from (Line(leaf, 8) for leaf in leaves)
    yield Line(f"{len(results) - len(failed)} passed, {len(failed)} failed")


def _heading(result: Result) -> str:
    """The location of a case, its kind and name."""
    about = f" [{result.entry}]" if result.entry else ""
    return f"{result.where}: {result.kind}{about}: {result.name}"


def _plain(results: Sequence[Result], left: int) -> Mapping[str, Any]:
    """In JSON form; ``left`` is the number of cases that were not run."""
    failed = [result for result in results if result.failures]
    return {
        "schema": "modelmedic/test-results/1",
        "passed": len(results) - len(failed),
        "failed": [
            {
                "case": result.name,
                "entry": result.entry,
                "kind": result.kind,
                "where": str(result.where),
                "failures": list(result.failures),
            }
            for result in failed
        ],
        **({"not_run": left} if left else {}),
    }


def _junit(results: Sequence[Result]) -> Redacted[str]:
    """A suite for each file, a test case for each case, sample, near miss and healthy set."""
    from ...reports.output_guard import redacted

    rows = [(r.where.path, r.where.line, r.entry, r.name, r.kind, r.failures) for r in results]
    return redacted(rows).map(_document)


def _document(rows: Sequence[Row]) -> str:
    from xml.etree import ElementTree as ET

    from ...reports.safe_text import one_line, safe

    suites: dict[str, ET.Element] = {}
    for path, line, entry, name, kind, failures in rows:
        if path not in suites:
            suites[path] = ET.Element("testsuite", {"name": one_line(path)})
        names = {"classname": one_line(entry or path), "name": one_line(name)}
        place = {"file": one_line(path), "line": str(line)}
        case = ET.SubElement(suites[path], "testcase", names | place)
        if failures:
            message = one_line(failures[0].split("\n")[0])
            failure = ET.SubElement(case, "failure", {"message": message, "type": kind})
            failure.text = safe("\n".join(failures))
    root = ET.Element("testsuites", _counts(suites.values()))
    for suite in suites.values():
        suite.attrib.update(_counts([suite]))
        root.append(suite)
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _counts(suites: Any) -> dict[str, str]:
    found = list(suites)
    failures = sum(len(suite.findall("testcase/failure")) for suite in found)
    return {"tests": str(sum(map(len, found))), "failures": str(failures), "errors": "0"}
