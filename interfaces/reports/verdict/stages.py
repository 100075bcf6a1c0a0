"""The stages of a port in a verdict: their states, what failed without a name, and what follows."""

from __future__ import annotations

from collections.abc import Iterator

from ..layout import Line
from ..port import UNKNOWN, UNSET, Port, StageRow, next_stage_lines
from ..view import ReportView
from .commands import shell_command
from .placeholders import REPLACE, replacements
from .words import listed

STAGES = 170
"""Characters of the states of all stages: about two lines."""
_COMPONENTS = 2
"""The stage that tests each component."""
_LOCALISED = (_COMPONENTS, 3, 5)
"""The stages that fail because of a component."""
_UNSETTLED = "no stage, before"


def stage_lines(port: Port, view: ReportView) -> Iterator[Line]:
    """The stages of a port, before its causes; without causes, the next step."""
    yield Line(listed(_states(port), STAGES), mark="Stages: ")
    if view.causes:
        yield from _unnamed_failures(port, view)
    elif port.next:
        for line in next_stage_lines(port.next):  # an id is a word of the engine
            unset = line.text.replace(", ", " $") if line.mark == UNSET else ""
            if put := replacements(f"${unset}", ""):
                yield line._replace(text=put, mark=REPLACE)
            else:
                yield line._replace(text=line.text.removesuffix(f"  ({port.next.finding})"))


def _states(port: Port) -> Iterator[str]:
    """The stages of a port: ``0 done``, those that call for something with their names, and unknown
    ones as a range."""
    rows = list(port.rows)
    while rows:
        row = rows.pop(0)
        last = row
        while rows and _alike(row, rows[0]):
            last = rows.pop(0)
        numbers = f"{row.stage}" if last is row else f"{row.stage}-{last.stage}"
        named = row.alarming or row.due
        title = f" ({_short(row)})" if named else ""
        yield f"{numbers}{title} {_shown_state(row)}"


def _alike(one: StageRow, other: StageRow) -> bool:
    """Whether two adjacent stages can be shown as one range: neither needs attention, and both show
    the same state."""
    named = one.alarming or one.due or other.due
    return not named and _shown_state(one) == _shown_state(other)


def _shown_state(row: StageRow) -> str:
    """The state of a stage as shown. A stage that is done and due was only done in part."""
    known = "some results" if row.evidence else "nothing known"
    state = known if row.state == UNKNOWN else row.state
    if not row.due or row.alarming:
        return state
    return "done in part, files are missing" if row.state == "done" else f"{state}, comes next"


def _short(row: StageRow) -> str:
    return row.title.partition(" (")[0]


def _unnamed_failures(port: Port, view: ReportView) -> Iterator[Line]:
    """A line for failed component stages without a result that names the component."""
    if port.rows[_COMPONENTS].state != "failed":
        return
    results = (fact for _, fact, _ in view.report.facts if fact.kind == "component_result")
    if any(fact.get("status") == "fail" for fact in results):
        return
    failed = [str(s) for s in _LOCALISED if port.rows[s].state == "failed"]
    noun, last = ("Stages" if len(failed) > 1 else "Stage"), failed.pop()
    numbers = f"{', '.join(failed)} and {last}" if failed else last
    text = f"{noun} {numbers}; which component is wrong is not known here: see results/stage2.json."
    yield Line(text, style="error", mark="Failed: ")


def stage_after(port: Port, *, command: bool = False) -> Iterator[Line]:
    """The stage to repeat after the repair, with its command if the cause has none of its own."""
    if not port.next or port.next.title.startswith(_UNSETTLED):
        return
    if port.next.missing and any(row.due and row.state == "done" for row in port.rows):
        return
    yield Line(port.next.title, mark="Next stage: ")
    if command and port.next.command:
        yield shell_command(port.next.command)
        if put := replacements(port.next.command, ""):
            yield Line(put, 2, mark=REPLACE)
