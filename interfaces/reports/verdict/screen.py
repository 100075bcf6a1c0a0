"""The verdict: a report on one screen, for somebody who has five seconds.

What is wrong, why, where, what to do, what was ruled out; the derivations stand in the full text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ....engine.diagnosis.report import SEVERITIES, Diagnosis, NextStep, Report
from ..formats.text import overlay_lines, problem_lines, severity_style
from ..layout import Line, counted
from ..safe_text import one_line
from ..similar import similar_lines
from ..unexplained import advice, origin, place
from ..view import NEXT, NO_FACTS, ReportView, accepted_text, view_of
from .commands import (
    DECIDES,
    MAX_LINES,
    OURS,
    RIGHT_FORM,
    action_lines,
    command_lines,
    corrected,
    shell_command,
)
from .placeholders import glossary_lines, replacements
from .words import (
    brief,
    effects,
    known_from,
    listed,
    looked_at,
    places,
    reasons,
    rivals,
    same_evidence,
    seen,
)

MAX_CAUSES = 3
MAX_FINE = 3
MAX_REASONS = 2
MAX_PROBLEMS = 3
MAX_STEPS = 2
MAX_COMMAND = 160
"""Characters of a command that is given once more, below the verdict."""
LEADS = "Leads (weaker): "
SYMPTOM = "symptom, cause open"
"""Stands for the confidence of what was observed while its cause is open."""
TO_DECIDE = "; the step below tells"
"""Stands behind the confidence of a cause whose first step is to find out."""
STILL_WRONG = (
    "`diagnose inspect FOLDER` reads the folder of a run, `diagnose decode -` an error "
    "message, and `diagnose` asks."
)
"""Follows where nothing was found."""
CONFLICT = "Not settled: other facts speak against it (`-v` says which); decide first."
SAME = "Seen in the same facts as one above: settle that one, then look again."
PACKET = 600
"""Characters of the list of what to hand over: the reader needs every item."""
_PLACEHOLDER = re.compile(r"(?<!\$)\b[A-Z][A-Z_]+\b")
_BEGUN = ""
"""Stands among what was said for the first thing to do."""


def verdict_lines(report: Report, command: str = "") -> Iterator[Line]:
    """The verdict on a report, for terminals. For one cause at most 24 lines of 80 columns, for
    three at most 40. ``command`` is what gave the report."""
    view = view_of(report)
    most, later = MAX_LINES, MAX_LINES if len(view.causes) < 3 else 3
    told: list[str] = []
    for line in verdict_parts(view):
        told += [] if line.keep else [line.mark + line.text]
        if line.keep and line.style == "command":
            yield from command_lines(line, most)
            most = later
        else:  # "diagnose" is an English word, too
            yield line._replace(text=OURS.sub(r"`\g<0>`", line.text))
    yield from glossary_lines("\n".join(told))
    yield from _close(view, command)


def verdict_parts(view: ReportView) -> Iterator[Line]:
    """The verdict in the words that all formats for people share; commands are whole."""
    report, causes = view.report, view.causes
    if view.port:
        from .stages import stage_lines

        yield from stage_lines(view.port, view)
    if len(causes) != 1:
        yield Line(view.verdict, style="heading")
    if not report.facts:
        yield Line(NO_FACTS, 2)
    said: set[str] = set()
    for number, cause in enumerate(causes[:MAX_CAUSES]):
        if number or len(causes) > 1:
            yield Line()
        yield from _cause(cause, view, number if len(causes) > 1 else None, said)
    yield from _titles("Also: ", causes[MAX_CAUSES:])
    if causes:
        if view.port:
            from .stages import stage_after

            yield from stage_after(view.port, command=len(causes) == 1 and not _commands(causes[0]))
        if not _undecided(view):
            yield from _titles(LEADS, view.leads)
    else:
        yield from _without_cause(view)
    yield from _rest(view)


def _cause(d: Diagnosis, view: ReportView, number: int | None, said: set[str]) -> Iterator[Line]:
    """A cause; ``number`` is its place among several. What those before have ``said`` is not said
    again: findings of one message have its meaning and its fix in common."""
    alone = number is None
    is_open = not number and d.kind == "symptom" and bool(view.leads) and _undecided(view)
    sure = _sure(d, view)
    yield Line(f"{d.headline}  ({sure})", mark=f"[{d.severity}] ", style=severity_style(d))
    told: list[str] = []
    form = ""
    new = _new(reasons(d, view)[: MAX_REASONS if alone else 1], said)
    if number and not new and same_evidence(d, view.causes[:number], view):
        yield Line(SAME, 2)
        return
    for reason in new:
        reason, _, right = reason.partition(RIGHT_FORM)
        form = form or right
        told.append(brief(reason))
        yield Line(told[-1], 2)
    where = places(d, view)
    if alone and (quote := seen(d, view, (d.headline, where, *told))):
        yield Line(quote, 2, mark="Seen: ")
    elif alone and not (where or d.packet) and (source := known_from(d, view, told)):
        yield Line(source, 2, mark="Known from: ")
    if d.conflicting:
        yield Line(CONFLICT, 2, "warning")
    if where:
        yield Line(where, 2, mark="Where: ")
    if explained := _new_effects(effects(d, view), said):
        yield Line(listed(explained), 2, mark=_accounts(d, view, explained))
    if is_open:
        yield from _deciding(view)
        if _decider(view):
            said.add(_BEGUN)
            return
    first = _BEGUN not in said
    left = [action for action in d.actions if action["do"] not in said]
    if form and left:
        left = [corrected(form, d)]
    said.update(action["do"] for action in left[:1])
    mark = "Do: " if alone else "Do first: " if first else "Then: "
    yield from action_lines(left, mark, checked=first, where=where)
    if d.packet and alone:
        yield Line(listed(d.packet, PACKET), 2, mark="To hand over: ")
    said.update([_BEGUN] if left else [])


def _sure(d: Diagnosis, view: ReportView) -> str:
    """How sure a finding is. A symptom is seen for certain, and while nothing is known that causes
    it, its confidence would be taken for that of a cause."""
    if d.kind == "symptom" and _undecided(view):
        return SYMPTOM
    if d.kind == "symptom":
        return f"symptom, {d.confidence}"
    decides = bool(d.actions) and DECIDES in d.actions[0]["do"]
    return d.confidence + TO_DECIDE * decides


def _commands(d: Diagnosis) -> bool:
    return any(action.get("command") for action in d.actions[:1])


def _new_effects(found: Sequence[str], said: set[str]) -> list[str]:
    """The effects that no cause before accounts for."""
    new = [effect for effect in found if effect not in said]
    said.update(new)
    return new


def _accounts(d: Diagnosis, view: ReportView, explained: Sequence[str]) -> str:
    """A warning, such as a gap in the tests, proves no error; it may be behind one."""
    worst = max(
        (SEVERITIES.index(e.severity) for e in view.report.diagnoses if e.id in d.explains),
        default=0,
    )
    explains = "Explains" if SEVERITIES.index(d.severity) >= worst else "May explain"
    return f"{explains} your words: " if explained[0].startswith('"') else f"{explains}: "


def _new(texts: Sequence[str], said: set[str]) -> list[str]:
    """The texts that were not said before; the first one counts as said from now on."""
    new = [text for text in texts if text not in said]
    said.update(new[:1])
    return new


def _undecided(view: ReportView) -> bool:
    """Whether no more is known than symptoms."""
    return all(d.kind == "symptom" for d in view.causes)


def _deciding(view: ReportView) -> Iterator[Line]:
    """What could be behind a symptom, and the step that tells."""
    leads = [d for d in view.leads if d.kind != "symptom"] or view.leads
    perhaps = f"; perhaps: {'; or: '.join(one_line(d.title) for d in leads[:2])}" if leads else ""
    yield Line(f"not decided yet{perhaps}.", 2, mark="Cause: ")
    if step := _decider(view):
        yield Line(_asked(step), 2, mark="This decides: ")
        if step.command:
            yield from _step_command(step)


def _step_command(step: NextStep) -> Iterator[Line]:
    """The command of a step, and what to put into it."""
    yield shell_command(step.command)
    if replaced := replacements(step.command, step.text):
        yield Line(replaced, 2, mark="Replace: ")


def _decider(view: ReportView) -> NextStep | None:
    """The step that tells most of the causes that come into question apart."""
    leads = {d.id for d in view.leads}
    steps = [step for step in view.report.next if step.type != "action"]
    best = [step for step in steps if leads.intersection(step.separates)]
    return max(
        best or steps,
        key=lambda s: (len(leads.intersection(s.separates)), not _PLACEHOLDER.search(s.command)),
        default=None,
    )


def _asked(step: NextStep) -> str:
    if step.type != "question":
        return brief(step.text)
    choices = f" ({' / '.join(step.choices)})" if step.choices else ""
    return f"{step.text}{choices}"


def _without_cause(view: ReportView) -> Iterator[Line]:
    """Nothing is proven: what is likely, and what would tell."""
    said: set[str] = set()
    for lead in view.leads[:MAX_CAUSES]:
        yield Line(lead.headline, 2, "warning", mark=f"[{lead.severity}, possible] ")
        told = [brief(reason) for reason in _new(reasons(lead, view)[:1], said)]
        yield from (Line(reason, 4) for reason in told)
        if len(view.leads) == 1:
            yield from _evidence(lead, view, told)
    yield from _titles(LEADS, view.leads[MAX_CAUSES:])
    told = [d.id for d in _with_steps(view)]
    told += [view.port.next.finding] if view.port and view.port.next else []
    fine = [d for d in view.fine if d.id not in told and not d.title.startswith(NEXT)]
    yield from _fine(fine, view, alone=not told and not view.leads)
    yield from _all_right(view)
    steps = _steps(view)
    for number, step in enumerate(steps[:MAX_STEPS]):
        yield Line(_asked(step), mark="Next: " if number == 0 else "Or:   ")
        if step.command:
            yield from _step_command(step)
    if not steps and not view.leads:
        yield from _looked(view)
    if not steps and view.leads:
        first = view.leads[0]
        for line in action_lines(first.actions, "Try first: ", checked=True, where=""):
            yield line._replace(indent=max(0, line.indent - 2))
        if first.packet:
            yield Line(listed(first.packet, PACKET), mark="To hand over: ")


def _evidence(d: Diagnosis, view: ReportView, told: Sequence[str]) -> Iterator[Line]:
    """What shows that a lead holds, and where."""
    where = places(d, view)
    if quote := seen(d, view, (d.headline, where, *told)):
        yield Line(quote, 4, mark="Seen: ")
    if where and where.removeprefix("component ") not in " ".join(told):
        yield Line(where, 4, mark="Where: ")


def _steps(view: ReportView) -> list[NextStep]:
    """What to find out where no cause is proven: of leads that can be tried out, only what tells
    them apart."""
    if not _is_open(view):
        return []
    steps = [step for step in view.report.next if step.type != "action"]
    leads = {d.id for d in view.leads}
    telling = [step for step in steps if leads.intersection(step.separates)]
    return telling if telling or (leads and view.leads[0].actions) else steps


def _fine(found: Sequence[Diagnosis], view: ReportView, *, alone: bool) -> Iterator[Line]:
    """What is in order, and by what figure; of one that stands ``alone`` also what follows."""
    for d in found[:MAX_FINE]:
        yield Line(one_line(d.title), style="good", mark="No fault: " if d.actions else "Fine: ")
        yield from (Line(brief(reason), 2) for reason in reasons(d, view)[:1])
    yield from _titles("Also fine: ", found[MAX_FINE:], "good")
    if alone and len(found) == 1:
        yield from action_lines(found[0].actions, where="")


def _looked(view: ReportView) -> Iterator[Line]:
    """What "no problem" rests on, and what would tell more: it is no certificate of health."""
    if not view.report.facts or (view.port and view.port.next) or _with_steps(view):
        return
    if view.report.unexplained:
        if told := advice(view.report.unexplained):
            yield Line(told, mark="Next: ")
        return
    yield Line(f"{looked_at(view)}.", mark="Looked at: ")
    yield Line(STILL_WRONG, mark="Still wrong? ")


def _with_steps(view: ReportView) -> list[Diagnosis]:
    """What is fine and told with what to do."""
    told = view.port.next.finding if view.port and view.port.next else ""
    failed = view.port and any(row.alarming for row in view.port.rows)
    found = [d for d in view.fine if d.actions and d.id != told][::-1][:MAX_STEPS]
    return [d for d in found if d.title.startswith(NEXT) or failed or _is_open(view)]


def _all_right(view: ReportView) -> Iterator[Line]:
    """What is no fault and still calls for something, such as the next stage of a port."""
    for d in _with_steps(view):
        step = d.title.startswith(NEXT)
        yield Line(d.title.removeprefix(NEXT), 0, "good", mark=NEXT if step else "No fault: ")
        if not step:
            yield from (Line(brief(reason), 2) for reason in reasons(d, view)[:1])
        yield from action_lines(d.actions, where="")


def proposed_commands(report: Report) -> Iterator[tuple[str, str]]:
    """The first commands of the verdict, each with what it is for; where it has no more than
    symptoms, those of the plan too."""
    view = view_of(report)
    for d in view.causes[:MAX_CAUSES]:
        for action in d.actions[:1]:
            yield str(action.get("command", "")), str(action["do"])
    if _is_open(view) and _undecided(view):
        yield from ((step.command, step.text) for step in report.next[:MAX_STEPS])


def _is_open(view: ReportView) -> bool:
    """Whether anything calls for a cause: nobody asks a sound run for more."""
    complaint = any(fact.kind == "symptom" for _, fact, derived in view.report.facts if not derived)
    return bool(complaint or view.leads or view.report.unexplained)


def _rest(view: ReportView) -> Iterator[Line]:
    """What was not explained, not read, ruled out."""
    report = view.report
    for error in report.unexplained[:MAX_STEPS]:
        stands = f"  [{one_line(place(error))}]" if place(error) else ""
        yield Line(brief(one_line(error.text)) + stands, 2, "warning", mark="Not explained: ")
        if origin(error):
            yield Line(origin(error), 4, mark="From: ")
        yield from similar_lines(error.similar[:1], 4)
    if len(report.unexplained) > MAX_STEPS:
        yield Line(f"and {counted(len(report.unexplained) - MAX_STEPS, 'error')} more", 2, "dim")
    yield from problem_lines(report.errors[:MAX_PROBLEMS])
    if len(report.errors) > MAX_PROBLEMS:
        yield Line(f"and {len(report.errors) - MAX_PROBLEMS} more that could not be read", 2, "dim")
    yield from problem_lines(report.notes[:MAX_PROBLEMS])
    for d in view.accepted:
        yield Line(brief(f"{d.title}: {accepted_text(d)}"), style="dim", mark="Accepted: ")
    yield from _titles("Ruled out: ", rivals(view))
    yield from overlay_lines(report)


def _titles(mark: str, found: Iterable[Any], style: str = "") -> Iterator[Line]:
    titles = [one_line(each.title) for each in found]
    if titles:
        yield Line(listed(titles), style=style, mark=mark)


def _close(view: ReportView, command: str) -> Iterator[Line]:
    """How to see more, and, of several causes, the one to begin with: its title may have scrolled
    by. One cause still stands on the screen."""
    if not view.report.facts:
        return
    fine = [d for d in view.fine if not d.title.startswith(NEXT)]
    ids = [d.id for d in (*view.causes, *view.leads, *fine)]
    ids += [r.id for r in view.report.ruled_out]
    if command and len(command) <= MAX_COMMAND:
        more = f"`{command} --why {ids[0]}` (or `-v`, `--all`)" if ids else f"`{command} --all`"
    else:
        more = f"`diagnose explain {ids[0]}`" if ids else "`-v` for the evidence"
        more += "; the same command with `-v` or `--all`" if ids else ", `--all` for everything"
    yield Line(f"{more}.", style="dim", mark="More: ")
    if len(view.causes) > 1:
        first = view.causes[0]
        yield Line(f"{first.title} ({_sure(first, view)}).", mark="=> First: ", style="heading")
