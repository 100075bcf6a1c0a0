"""The verdict: a report on one screen, for a reader with five seconds. It shows the cause, its
reasons and places, the first action, and what was ruled out; the derivations are in the full text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ....engine.diagnosis.report import SEVERITIES, Diagnosis, Report, Unexplained
from ....facts.records import lazy
from ..layout import Line, counted, problem_lines
from ..safe_text import one_line
from ..view import (
    NEXT,
    NO_FACTS,
    ReportView,
    accepted_text,
    overlay_lines,
    severity_style,
    view_of,
)
from .commands import (
    DECIDES,
    MAX_LINES,
    OURS,
    action_lines,
    command_lines,
)
from .parts import LEADS, MAX_CAUSES, MAX_STEPS, PACKET, SUSPECTED, fitted, is_open, parted
from .placeholders import REPLACE, glossary_lines
from .words import (
    brief,
    detailed,
    effects,
    known_from,
    listed,
    new,
    places,
    reasons,
    rivals,
    same_evidence,
    seen,
    titles,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


MAX_REASONS = 2
SCREEN = (24, 24, 32, 40)
"""Lines of 80 columns for a verdict with no cause, one, two, and three."""
LONG = 160
"""Characters of a reason that needs no other one."""
MAX_PROBLEMS = 3
MAX_COMMAND = 160
"""Characters of a command that is given once more, below the verdict."""
SYMPTOM = "symptom, cause open"
"""Stands for the confidence of what was observed while its cause is open."""
TO_DECIDE = "; the step below tells"
"""Stands behind the confidence of a cause whose first step is to find out."""
CONFLICT = "Not settled: other facts contradict it (`-v` says which); decide first."
SAME = "Rests on the same facts as '{}': settle that first, then look again."
_LEADS_COUNTED = lazy(r"(?<=, and )\d{1,6} leads?(?=\.)")
_BEGUN = ""
"""Stands among what was said for the first thing to do."""


def verdict_lines(report: Report, command: str = "") -> list[Line]:
    """The verdict on a report, for terminals. For one cause at most 24 lines of 80 columns, for
    three at most 40. ``command`` produced the report."""
    view = view_of(report)
    most, later = MAX_LINES, MAX_LINES if len(view.causes) < 3 else 3
    told: list[str] = []
    lines: list[Line] = []
    put: set[str] = set()
    for line in verdict_parts(view, command):
        if line.mark == REPLACE and not (line := _put_once(line, put)).text:
            continue
        told += [] if line.keep else [line.mark + line.text]
        if line.keep and line.style == "command":
            lines += command_lines(line, most)
            most = later
        elif "diagnose " in line.text:  # which is an English word, too
            lines.append(line._replace(text=OURS.sub(r"`\g<0>`", line.text)))
        else:
            lines.append(line)
    lines += [*glossary_lines("\n".join(told)), *_close(view, command)]
    room = SCREEN[min(len(view.causes), len(SCREEN) - 1)]
    return _leads_said(fitted(lines, room) if len(lines) > room // 3 else lines)


def _leads_said(lines: list[Line]) -> list[Line]:
    """A heading that counts leads without a line left gives the option that shows them."""
    if any(line.mark in (LEADS, SUSPECTED) for line in lines):
        return lines
    return [
        line._replace(text=_LEADS_COUNTED.sub(r"\g<0> (`-v`)", line.text, count=1))
        if line.style == "heading"
        else line
        for line in lines
    ]


def _put_once(line: Line, told: set[str]) -> Line:
    """A placeholder with the same meaning in several commands is explained once."""
    fresh = [part for part in line.text.split("; ") if part not in told]
    told.update(fresh)
    return line._replace(text="; ".join(fresh))


def verdict_parts(view: ReportView, command: str = "") -> Iterator[Line]:
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
        yield from _cause(cause, view, number if len(causes) > 1 else None, said, command)
    yield from titles("Also: ", causes[MAX_CAUSES:])
    if causes:
        if view.port:
            from .stages import stage_after

            yield from stage_after(view.port, command=len(causes) == 1 and not _commands(causes[0]))
        if not _undecided(view):
            yield from titles(LEADS, view.leads)
    else:
        from .unproven import without_cause

        yield from without_cause(view)
    yield from _rest(view)


def _cause(
    d: Diagnosis, view: ReportView, number: int | None, said: set[str], given: str
) -> Iterator[Line]:
    """A cause; ``number`` is its place among several. Texts already ``said`` by earlier causes are
    not repeated: findings of one message share its meaning and fix. ``given`` is the command behind
    the report."""
    alone = number is None
    is_open = not number and d.kind == "symptom" and bool(view.leads) and _undecided(view)
    sure = _sure(d, view)
    yield Line(f"{d.title}  ({sure})", mark=f"[{d.severity}] ", style=severity_style(d))
    why = reasons(d, view)[: MAX_REASONS if alone else 1]
    fresh = new(detailed(d, why) if d.detail else why, said)
    if number and not fresh and (other := same_evidence(d, view.causes[:number], view)):
        yield Line(SAME.format(one_line(other.title)), 2)
        return
    enough = d.kind == "symptom" or (fresh and len(fresh[0].whole) > LONG)
    told, repair = parted(fresh[:1] if enough else fresh)
    for reason in told:
        yield Line(reason, 2)
    where = places(d, view)
    yield from _rests_on(d, view, told, "" if where in said else where, alone=alone)
    said.update([where] if where else [])
    if explained := _new_effects(effects(d, view), said):
        yield Line(listed(explained), 2, mark=_accounts(d, view, explained))
    actions: Sequence[Mapping[str, Any]] = d.actions
    otherwise: Sequence[Line] = ()
    packet: Sequence[str] = d.packet
    if is_open:
        from .deciding import deciding

        suspects, step, actions, otherwise, packet = deciding(
            d, view, given, told, decided=_BEGUN in said
        )
        yield from suspects
        if step:
            yield from step
            said.add(_BEGUN)
            return
    first = _BEGUN not in said
    left = [action for action in actions if action["do"] not in said]
    if repair and left:
        from .repairs import first_action  # few findings name one

        left = first_action(d, repair, where)
    said.update(action["do"] for action in left[:1])
    mark = "Do: " if alone else "Do first: " if first else "Then: "
    yield from action_lines(left, mark, checked=True, where=where)
    yield from otherwise
    if packet and alone:
        yield Line(listed(packet, PACKET), 2, mark="To hand over: ")
    said.update([_BEGUN] if left else [])


def _rests_on(
    d: Diagnosis, view: ReportView, told: Sequence[str], where: str, *, alone: bool
) -> Iterator[Line]:
    """The evidence of a cause, and its places."""
    if alone and (quote := seen(d, view, (d.headline, where, *told))):
        yield Line(quote, 2, mark="Seen: ")
    elif alone and not (where or d.packet) and (source := known_from(d, view, told)):
        yield Line(source, 2, mark="Known from: ")
    if d.conflicting:
        yield Line(CONFLICT, 2, "warning")
    if where:
        yield Line(where, 2, mark="Where: ")


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
    """A warning, such as a gap in the tests, proves no error, but may be its cause."""
    worst = max(
        (SEVERITIES.index(e.severity) for e in view.report.diagnoses if e.id in d.explains),
        default=0,
    )
    explains = "Explains" if SEVERITIES.index(d.severity) >= worst else "May explain"
    return f"{explains} your words: " if explained[0].startswith('"') else f"{explains}: "


def _undecided(view: ReportView) -> bool:
    """Whether no more is known than symptoms."""
    return all(d.kind == "symptom" for d in view.causes)


def proposed_commands(report: Report) -> Iterator[tuple[str, str]]:
    """The first commands of the verdict, each with what it is for; if it has no more than symptoms,
    those of the plan too."""
    view = view_of(report)
    for d in view.causes[:MAX_CAUSES]:
        for action in d.actions[:1]:
            yield str(action.get("command", "")), str(action["do"])
    if is_open(view) and _undecided(view):
        yield from ((step.command, step.text) for step in report.next[:MAX_STEPS])


def _rest(view: ReportView) -> Iterator[Line]:
    """Errors without explanation, inputs not read, and ruled-out causes."""
    report = view.report
    if report.unexplained:
        yield from _not_explained(report.unexplained)
    yield from problem_lines(report.errors[:MAX_PROBLEMS])
    if len(report.errors) > MAX_PROBLEMS:
        yield Line(f"and {len(report.errors) - MAX_PROBLEMS} more that could not be read", 2, "dim")
    yield from problem_lines(report.notes[:MAX_PROBLEMS])
    for d in view.accepted:
        yield Line(brief(f"{d.title}: {accepted_text(d)}"), style="dim", mark="Accepted: ")
    yield from titles("Ruled out: ", rivals(view))
    yield from overlay_lines(report)


def _not_explained(errors: Sequence[Unexplained]) -> Iterator[Line]:
    from ..similar import similar_lines
    from ..unexplained import origin, place

    for error in errors[:MAX_STEPS]:
        stands = f"  [{one_line(place(error))}]" if place(error) else ""
        yield Line(brief(one_line(error.text)) + stands, 2, "warning", mark="Not explained: ")
        if origin(error):
            yield Line(origin(error), 4, mark="From: ")
        yield from similar_lines(error.similar[:1], 4)
    if len(errors) > MAX_STEPS:
        yield Line(f"and {counted(len(errors) - MAX_STEPS, 'error')} more", 2, "dim")


def _close(view: ReportView, command: str) -> Iterator[Line]:
    """How to see more, and, of several causes, the one to begin with: its title may have scrolled
    away. A single cause is still on the screen."""
    if not view.report.facts:
        return
    fine = [d for d in view.fine if not d.title.startswith(NEXT)]
    ids = [d.id for d in (*view.causes, *view.leads, *fine)]
    ids += [r.id for r in view.report.ruled_out]
    if command and len(command) <= MAX_COMMAND:
        head, dash, words = command.partition(" -- ")  # behind it, options are the user's command's
        option = f"--why {ids[0]}" if ids else "--all"
        more = f"`{head} {option}{dash}{words}`" + (" (or `-v`, `--all`)" if ids else "")
    else:
        more = f"`diagnose explain {ids[0]}`" if ids else "`-v` for the evidence"
        more += "; the same command with `-v` or `--all`" if ids else ", `--all` for everything"
    yield Line(f"{more}.", style="dim", mark="More: ")
    if len(view.causes) > 1:
        first = view.causes[0]
        yield Line(f"{first.title} ({_sure(first, view)}).", mark="=> First: ", style="heading")
