"""Small parts of a verdict that several of its sections share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ....engine.diagnosis.report import NextStep
from ..layout import Line
from ..safe_text import one_line
from ..view import ReportView
from .commands import shell_command
from .placeholders import replacements
from .words import brief, listed

MAX_CAUSES = 3
MAX_STEPS = 2
LEADS = "Leads (weaker): "
PACKET = 600
"""Characters of the list of what to hand over: the reader needs every item."""


def titles(mark: str, found: Iterable[Any], style: str = "") -> Iterator[Line]:
    """Titles on a line, if there are any."""
    every = [one_line(each.title) for each in found]
    if every:
        yield Line(listed(every), style=style, mark=mark)


def new(texts: Sequence[str], said: set[str]) -> list[str]:
    """The texts that were not said before; the first one counts as said from now on."""
    new = [text for text in texts if text not in said]
    said.update(new[:1])
    return new


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
        yield Line(replaced, 2, mark="Replace: ")


def is_open(view: ReportView) -> bool:
    """Whether anything calls for a cause: nobody asks a sound run for more."""
    complaint = any(fact.kind == "symptom" for _, fact, derived in view.report.facts if not derived)
    return bool(complaint or view.leads or view.report.unexplained)
