"""The answer to a complaint in words: it names no cause, but shows how to find it."""

from __future__ import annotations

from collections.abc import Iterator

from ...engine.diagnosis.report import Report
from .formats.text import next_lines
from .layout import Line
from .view import overlay_lines, view_of

MAX_STEPS = 4


def complaint_lines(report: Report) -> Iterator[Line]:
    """The possible causes of a complaint, the most informative steps, and how to continue."""
    causes = [d for d in view_of(report).causes if d.kind != "symptom"]
    for d in causes:
        yield Line(f"{d.headline}  ({d.confidence})", mark=f"[{d.severity}] ", style="warning")
        yield Line(d.summary, 2)
    if not causes:
        yield Line("A complaint alone names no cause.", style="heading")
    yield from next_lines(report.next[:MAX_STEPS], "What would tell most:")
    yield Line()
    yield Line("`diagnose PATH...` reads what you have: a run folder, a log, the script.")
    yield Line("`diagnose`, on a terminal, asks one question at a time.")
    yield from overlay_lines(report)
