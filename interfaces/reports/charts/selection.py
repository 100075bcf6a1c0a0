"""The charts for which the facts of a report have the figures."""

from __future__ import annotations

from collections.abc import Sequence

from ....engine.diagnosis.report import Report
from ....facts import Fact
from .call_time import call_time
from .chart import Chart
from .r_profile import r_profile
from .run_course import run_course
from .step_time import step_time
from .token_alignment import token_alignment


def charts_of(facts: Sequence[Fact], *, steps: bool = True) -> list[Chart]:
    """At most one of each kind; without ``steps``, single steps are left to another picture."""
    drawn = step_time(facts, columns=steps)
    return [
        chart
        for chart in (drawn, call_time(facts), token_alignment(facts), r_profile(facts))
        if chart
    ]


def charts_of_report(report: Report) -> list[Chart]:
    """The charts of its facts, and first the course of the run with the findings on it."""
    facts = [fact for _, fact, _ in report.facts]
    course = run_course(report)
    return [course, *charts_of(facts, steps=False)] if course else charts_of(facts)
