"""``diagnose kb issues``: the known issues that a text looks like, or all of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from ....engine.diagnosis.report import SimilarIssue
from ....facts import Fact
from ... import output
from ...context import Context
from ...reports.layout import Line
from ...reports.safe_text import one_line
from ...reports.similar import differences, title
from ..options import LAYERS, TEXT_OR_JSON, command, path_option
from .group import kb

MOST = 5


@command(kb)
@click.argument("words", metavar="[TEXT]...", nargs=-1)
@path_option("--facts", "Facts with the installed versions.", "FILE")
@LAYERS
@TEXT_OR_JSON
def issues(context: Context, words: Sequence[str], facts: Path | None) -> int:
    """List known issues of packages that resemble TEXT, best first, with the differences. Without
    TEXT, list all. A resemblance is a lead, never a diagnosis."""
    from ....engine.diagnosis.known_issues import similar_issues

    base = context.base
    if not words:
        return _all(context)
    known: Sequence[Fact] = ()
    if facts is not None:
        from ....facts.fact_file import read_facts

        known = read_facts(facts, base.vocabulary)
    found = similar_issues(" ".join(words), base, known, MOST)
    plain = [issue._asdict() | {"differs": list(issue.differs)} for issue in found]
    none = [Line("No known issue has any of these words.")]
    context.emit({"schema": "modelmedic/issues-like/1", "issues": plain}, [*_lines(found)] or none)
    return output.OK


def _lines(found: Sequence[SimilarIssue]) -> Iterator[Line]:
    for issue in found:
        yield Line(f"{title(issue)}  ({issue.share:.0%} of your words)", mark="- ")
        if said := differences(issue):
            yield Line(said, 4, mark="But: ")
        yield Line(f"{issue.link}  {issue.id}", 4, "dim", keep=True)


def _all(context: Context) -> int:
    from ....engine.diagnosis.known_issues import said_versions

    base = context.base
    plain, lines = [], []
    for name, shown in base.catalogue["issues"].items():
        about = base.summary(name).title
        plain.append({"id": name, "title": about, **shown})
        versions = said_versions(shown["affected"])
        said = f"{name}  {about}  [{shown['package']} {versions}; {shown['confirmed']}]"
        lines.append(Line(one_line(said), keep=True))
    context.emit({"schema": "modelmedic/issues-like/1", "issues": plain}, lines)
    return output.OK
