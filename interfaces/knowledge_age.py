"""Adds one line to a report if the knowledge about releases is old."""

from __future__ import annotations

from ..engine.diagnosis.report import Report
from ..facts import Problem

DAYS = 90


def with_age(report: Report, verified: str, today: str) -> Report:
    """Add a note to the report if known issues were looked up more than 90 days before ``today``.
    Days are written as 2027-01-31; an empty or malformed one adds nothing."""
    from datetime import date

    try:
        days = (date.fromisoformat(today) - date.fromisoformat(verified)).days
    except ValueError:
        return report
    if days <= DAYS:
        return report
    message = (
        f"what is known of releases was verified {days} days ago, on {verified}; later ones may"
        " have issues that are not known here"
    )
    return report._replace(notes=(*report.notes, Problem("MM347", message)))
