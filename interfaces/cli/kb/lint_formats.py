"""Problems of the knowledge as SARIF, for code scanning, and as GitHub annotations."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ....engine.compiler.knowledge_base import SHIPPED_FOLDERS, VERSION
from ....engine.compiler.source.problem_codes import problem_codes
from ....facts import Location, Problem
from ...reports.formats.github import command
from ...reports.formats.sarif import sarif_log
from ...reports.layout import Line


def sarif(problems: Sequence[Problem], overlays: Sequence[str]) -> dict[str, Any]:
    """A SARIF 2.1.0 log."""
    meanings = problem_codes()
    codes = sorted({problem.code for problem in problems})
    rules = []
    for code in codes:
        rule: dict[str, Any] = {"id": code}
        if code in meanings:
            rule["shortDescription"] = {"text": meanings[code].title}
            rule["fullDescription"] = {"text": meanings[code].why}
            rule["help"] = {"text": meanings[code].fix}
        rules.append(rule)
    driver = {"name": "modelmedic kb lint", "version": VERSION, "rules": rules}
    results = [_result(problem, codes, overlays) for problem in problems]
    return sarif_log({"tool": {"driver": driver}, "results": results})


def _result(problem: Problem, codes: list[str], overlays: Sequence[str]) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": problem.code,
        "ruleIndex": codes.index(problem.code),
        "level": "error",
        "message": {"text": _said(problem)},
    }
    if problem.where is not None:
        place: dict[str, Any] = {"artifactLocation": {"uri": _file(problem.where, overlays)}}
        if problem.where.line:
            line, column = problem.where.line, problem.where.column
            place["region"] = {"startLine": line, "startColumn": column}
        result["locations"] = [{"physicalLocation": place}]
    return result


def github(problems: Sequence[Problem], overlays: Sequence[str]) -> Iterator[Line]:
    """Workflow commands, one per problem; GitHub shows them in the pull request."""
    for problem in problems:
        properties = {}
        if problem.where is not None:
            properties["file"] = _file(problem.where, overlays)
            if problem.where.line:
                properties |= {"line": f"{problem.where.line}", "col": f"{problem.where.column}"}
        text = command("error", properties | {"title": problem.code}, _said(problem))
        yield Line(text, keep=True)


def _said(problem: Problem) -> str:
    return f"{problem.message} ({problem.hint})" if problem.hint else problem.message


def _file(where: Location, overlays: Sequence[str]) -> str:
    """The path from the working folder; locations begin with the name of the knowledge folder."""
    top, _, rest = where.path.partition("/")
    for folder in map(Path, (*overlays, *SHIPPED_FOLDERS)):
        if folder.name == top and (folder / rest).exists():
            return os.path.relpath(folder / rest).replace(os.sep, "/")
    return where.path
