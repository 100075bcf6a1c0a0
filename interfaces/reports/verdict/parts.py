"""Small parts of a verdict that several of its sections share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ....engine.diagnosis.report import NextStep
from ..layout import Line, wrapped
from ..view import ReportView
from .commands import TO_RUN, WIDTH, shell_command
from .placeholders import REPLACE, replacements
from .words import Reason, brief

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ....engine.inference.program import Repair

MAX_CAUSES = 3
MAX_STEPS = 2
LEADS = "Leads (weaker): "
SUSPECTED = "Suspected: "
FOR_THAT = "For that:"
"""Stands above the command of what follows where a suspect is not the cause."""
SPARED = (
    "Ruled out: ", "Worked if: ", FOR_THAT, "Terms: ", TO_RUN, LEADS, "Known from: ", "Explains: ",
    REPLACE, "=> First: ",
    "To hand over: ",
)  # fmt: skip
"""The texts after the part that readers act on; of the words of commands, the last ones."""
PACKET = 600
"""Characters of the list of what to hand over: the reader needs every item."""


def parted(found: Sequence[Reason]) -> tuple[list[str], Repair | None]:
    """Reasons as shown, and the repair that one of them names."""
    told: list[str] = []
    first = None
    for text, repair, _ in found:
        first = first or repair
        told += [brief(text)] if text else []
    return told, first


def fitted(lines: list[Line], most: int) -> list[Line]:
    """The lines of a screen; if there are too many, without the least important ones."""
    left = list(lines)
    heights = [len(wrapped(line, WIDTH)) for line in lines]
    for mark in SPARED:
        while sum(heights) > most:
            found = [n for n, line in enumerate(left) if line.mark.startswith(mark)]
            if len(found) < (2 if mark in (REPLACE, "Worked if: ") else 1):
                break  # the first step keeps its words
            end = found[-1] + 1
            while (
                mark in (TO_RUN, FOR_THAT)
                and end < len(left)
                and (left[end].keep or left[end].mark == REPLACE)
            ):
                end += 1
            del left[found[-1] : end], heights[found[-1] : end]
    return left


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
    """Whether anything needs a cause; a sound run does not."""
    complaint = any(fact.kind == "symptom" for _, fact, derived in view.report.facts if not derived)
    return bool(complaint or view.leads or view.report.unexplained)
