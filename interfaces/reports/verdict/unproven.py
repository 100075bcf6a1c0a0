"""The verdict if no cause is proven: likely causes, parts in order, and the steps that would
decide."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ....engine.diagnosis.report import Diagnosis, NextStep
from ..layout import Line
from ..safe_text import one_line
from ..unexplained import advice
from ..view import NEXT, ReportView
from .commands import action_lines
from .parts import LEADS, MAX_CAUSES, MAX_STEPS, PACKET, asked, is_open, parted, step_command
from .repairs import first_action
from .words import brief, detailed, listed, new, places, reasons, seen, titles

MAX_FINE = 3
STILL_WRONG = (
    "`diagnose inspect FOLDER` reads the folder of a run, `diagnose decode -` an error "
    "message, and `diagnose` asks."
)
"""Follows where nothing was found."""


def without_cause(view: ReportView) -> Iterator[Line]:
    """The verdict if nothing is proven: likely causes, and the steps that would decide."""
    said: set[str] = set()
    for lead in view.leads[:MAX_CAUSES]:
        yield Line(lead.title, 2, "warning", mark=f"[{lead.severity}, possible] ")
        told, _ = parted(new(detailed(lead, reasons(lead, view)[:1]), said))
        yield from (Line(reason, 4) for reason in told)
        if len(view.leads) == 1:
            yield from _shown(lead, view, told)
    yield from titles(LEADS, view.leads[MAX_CAUSES:])
    told = [d.id for d in _with_steps(view)]
    told += [view.port.next.finding] if view.port and view.port.next else []
    fine = [d for d in view.fine if d.id not in told and not d.title.startswith(NEXT)]
    yield from _fine(fine, view, alone=not told and not view.leads)
    yield from _all_right(view)
    goes_on = any(d.title.startswith(NEXT) for d in _with_steps(view))
    steps = [] if goes_on else _steps(view)
    for number, step in enumerate(steps[:MAX_STEPS]):
        yield Line(asked(step), mark="Next: " if number == 0 else "Or:   ")
        if step.command:
            yield from step_command(step)
    if not steps and not view.leads:
        yield from _looked(view)
    if not steps and view.leads:
        first = view.leads[0]
        _, repair = parted(reasons(first, view)[:1])
        tried = first_action(first, repair, places(first, view)) if repair else first.actions
        for line in action_lines(tried, "Try first: ", checked=True, where=""):
            yield line._replace(indent=max(0, line.indent - 2))
        if first.packet:
            yield Line(listed(first.packet, PACKET), mark="To hand over: ")


def _shown(d: Diagnosis, view: ReportView, told: Sequence[str]) -> Iterator[Line]:
    """The evidence of a lead, and its places."""
    where = places(d, view)
    if quote := seen(d, view, (d.headline, where, *told)):
        yield Line(quote, 4, mark="Seen: ")
    if where and where.removeprefix("component ") not in " ".join(told):
        yield Line(where, 4, mark="Where: ")


def _steps(view: ReportView) -> list[NextStep]:
    """The facts to find out if no cause is proven; a lead that can be tried out shows that
    itself."""
    if not is_open(view) or any(lead.actions for lead in view.leads[:1]):
        return []
    return [step for step in view.report.next if step.type != "action"]


def _fine(found: Sequence[Diagnosis], view: ReportView, *, alone: bool) -> Iterator[Line]:
    """A benign finding with its figure; a single one (``alone``) also with its consequence."""
    for d in found[:MAX_FINE]:
        yield Line(one_line(d.title), style="good", mark="No fault: " if d.actions else "Fine: ")
        said = () if view.leads else reasons(d, view)[:1]
        yield from (Line(brief(reason.whole), 2) for reason in said)
    yield from titles("Also fine: ", found[MAX_FINE:], "good")
    if alone and len(found) == 1:
        yield from action_lines(found[0].actions, where="")


def _looked(view: ReportView) -> Iterator[Line]:
    """The basis of "no problem", and the steps that would add evidence: it is not a certificate of
    health."""
    if not view.report.facts or (view.port and view.port.next) or _with_steps(view):
        return
    if view.report.unexplained:
        if told := advice(view.report.unexplained):
            yield Line(told, mark="Next: ")
        return
    yield Line(f"{_looked_at(view)}.", mark="Looked at: ")
    yield Line(STILL_WRONG, mark="Still wrong? ")


def _looked_at(view: ReportView) -> str:
    """The subjects of the facts of a report, by their kinds, the most frequent first."""
    counts: dict[str, int] = {}
    for _, fact, derived in view.report.facts:
        if not derived:
            counts[fact.kind] = counts.get(fact.kind, 0) + 1
    kinds = sorted(counts, key=lambda kind: (-counts[kind], kind))
    return listed(f"{kind.replace('_', ' ')} ({counts[kind]})" for kind in kinds)


def _with_steps(view: ReportView) -> list[Diagnosis]:
    """Benign findings that are shown with the actions."""
    told = view.port.next.finding if view.port and view.port.next else ""
    failed = view.port and any(row.alarming for row in view.port.rows)
    found = [d for d in view.fine if d.actions and d.id != told][::-1][:MAX_STEPS]
    return [d for d in found if d.title.startswith(NEXT) or failed or is_open(view)]


def _all_right(view: ReportView) -> Iterator[Line]:
    """Findings that are not faults and still need an action, such as the next stage of a port."""
    for d in _with_steps(view):
        step = d.title.startswith(NEXT)
        yield Line(d.title.removeprefix(NEXT), 0, "good", mark=NEXT if step else "No fault: ")
        if not (step and view.port):
            yield from (Line(brief(reason.whole), 2) for reason in reasons(d, view)[:1])
        yield from action_lines(d.actions, where="")
