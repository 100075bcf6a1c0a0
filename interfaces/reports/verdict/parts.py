"""Small parts of a verdict that several of its sections share."""

from __future__ import annotations

from collections.abc import Iterator

from ....engine.diagnosis.report import NextStep
from ..layout import Line
from ..view import ReportView
from .commands import shell_command
from .placeholders import REPLACE, replacements
from .words import brief

MAX_CAUSES = 3
MAX_STEPS = 2
LEADS = "Leads (weaker): "
PACKET = 600
"""Characters of the list of what to hand over: the reader needs every item."""


def asked(step: NextStep) -> str:
    """A step in words, with the choices of a question."""
    if step.type != "question":
        return brief(step.text)
    choices = f" ({' / '.join(step.choices)})" if step.choices else ""
    return f"{step.text}{choices}"


def step_command(step: NextStep) -> Iterator[Line]:
    """The command of a step, and what to put into it."""
    yield shell_command(step.command)
    if replaced := replacements(step.command, step.text):
        yield Line(replaced, 2, mark=REPLACE)


def is_open(view: ReportView) -> bool:
    """Whether anything calls for a cause: nobody asks a sound run for more."""
    complaint = any(fact.kind == "symptom" for _, fact, derived in view.report.facts if not derived)
    return bool(complaint or view.leads or view.report.unexplained)
