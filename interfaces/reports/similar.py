"""Texts for known issues that an error resembles. They are leads, and marked as such."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...engine.diagnosis.report import SimilarIssue
from .layout import Line
from .safe_text import one_line

HEADING = "A known issue that looks like this: "
REST = "This is a likeness of words, not a diagnosis."


def title(issue: SimilarIssue) -> str:
    """The issue in one line."""
    return one_line(f"{issue.package}: {issue.title}")


def differences(issue: SimilarIssue) -> str:
    """The contradicting conditions; empty if there are none."""
    return one_line("; ".join(issue.differs) + "." if issue.differs else "")


def similar_lines(issues: Iterable[SimilarIssue], indent: int = 2) -> Iterator[Line]:
    """Each issue, what differs, and where to read on."""
    for issue in issues:
        yield Line(title(issue), indent, mark=HEADING)
        if said := differences(issue):
            yield Line(said, indent + 2, mark="But: ")
        yield Line(issue.link, indent + 2, "dim", keep=True)
        yield Line(f"`diagnose explain {issue.id}`", indent + 2, "dim", keep=True)
