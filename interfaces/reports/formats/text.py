"""Text for people, at a terminal or in a mail; also the parts of it that other answers share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from ....engine.diagnosis.report import Diagnosis, Message, NextStep, Report, Unexplained
from ....facts.problems import did_you_mean
from ....facts.redaction import Redacted
from ..layout import Line, counted, problem_lines, prompt, section, text_of
from ..safe_text import one_line
from ..view import (
    NO_FACTS,
    RETRY,
    ReportView,
    accepted_text,
    action_note,
    by_meaning,
    overlay_lines,
    premise_facts,
    redaction_note,
    severity_style,
    view_of,
)
from . import Document

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


SUFFIX = ".txt"
MAX_QUOTE = 300
MAX_OPEN = 5
MAX_UNEXPLAINED = 10


def render(document: Redacted[Document]) -> str:
    """The report as plain text."""
    return text_of(document.map(lambda _: list(report_text(document))))


def report_text(document: Redacted[Document]) -> Iterator[Line]:
    """The lines of the report, after what was read for it."""
    report, read, detail, _, why, command = document.value
    if read:
        yield from (*read_lines(read), Line())
    if why:
        yield from finding_lines(report, why)
    elif detail == "verdict":
        from ..verdict.screen import verdict_lines

        yield from verdict_lines(report, command)
    else:
        yield from report_lines(report, verbose=detail == "all")
    if document.counts:
        yield Line()
        yield Line(redaction_note(document.counts), style="dim")


def report_lines(report: Report, *, verbose: bool = False) -> Iterator[Line]:
    """The whole report."""
    view = view_of(report)
    facts = view.cited
    if view.port:
        from ..port import port_lines

        yield from (*port_lines(view.port), Line())
    yield Line(view.verdict, style="heading")
    if not report.facts:
        yield Line(NO_FACTS, 2)
    yield from _diagnoses(view.causes, view, facts)
    yield from _plot(report)
    leads = _diagnoses(view.leads, view, facts, apart=False) if verbose else _leads(view.leads)
    yield from section("Leads (weak evidence, do not act on these alone):", leads)
    yield from _diagnoses(view.orphans, view, facts)
    yield from unexplained_lines(report.unexplained, report.messages)
    yield from section("Accepted, not counted:", _accepted(view.accepted))
    yield from _benign(view, verbose)
    yield from section("Ruled out:", _ruled_out(view, facts, whole=verbose or view.port is None))
    yield from section("Still open (partly supported, not known):", _open(report, verbose))
    if view.port:  # the next action is shown above
        steps = [step for step in report.next if step.type != "action"]
        yield from next_lines(steps, "To find out more:")
    else:
        yield from next_lines(report.next)
    yield from section("Not everything could be read:", problem_lines(report.errors), "warning")
    yield from section("Notes:", problem_lines(report.notes))
    yield from overlay_lines(report)


def _plot(report: Report) -> Iterator[Line]:
    """The series that the verdict is about."""
    if any(fact.kind in ("metric_series", "step_timing") for _, fact, _ in report.facts):
        from ..charts.terminal_plot import plot_lines

        yield from plot_lines(report)


def _diagnoses(
    found: Iterable[Diagnosis], view: ReportView, facts: Mapping[str, str], *, apart: bool = True
) -> Iterator[Line]:
    for d in found:
        if apart:
            yield Line()
        yield from diagnosis_lines(d, view.titles, facts)


def diagnosis_lines(
    d: Diagnosis, titles: Mapping[str, str], facts: Mapping[str, str]
) -> Iterator[Line]:
    """One diagnosis with what it explains, why, and what to do."""
    yield Line(f"{d.headline}  ({d.confidence})", mark=f"[{d.severity}] ", style=severity_style(d))
    yield Line(d.id, 2, "dim")
    yield Line(d.gist, 2)
    if d.conflicting:
        yield Line("Conflicting evidence: something else rules this out, see below.", 2, "warning")
    if d.explains:
        yield Line("Accounts for:", 2, "heading")
        for effect in d.explains:
            yield Line(f"{titles[effect]}  ({effect})", 4, mark="- ")
    yield Line("Because:", 2, "heading")
    yield from how_lines(d.explanation["how"], facts, 4)
    yield from action_lines(d.actions, d.packet)


def finding_lines(report: Report, name: str) -> Iterator[Line]:
    """The explanation of one diagnosis: why it is concluded, ruled out, or neither."""
    view = view_of(report)
    for d in report.diagnoses:
        if d.id == name:
            yield from diagnosis_lines(d, view.titles, view.cited)
            return
    for item in report.ruled_out:
        if item.id == name:
            yield Line(f"{item.title}  ({item.id})", style="heading", mark="Ruled out: ")
            yield from how_lines(item.because, view.cited, 2)
            return
    for candidate in report.unknown:
        if candidate.id == name:
            yield Line(f"{candidate.title}  ({candidate.id})", style="heading", mark="Open: ")
            yield from (Line(each, 2, mark="not known: ") for each in candidate.missing)
            return
    known = [d.id for d in report.diagnoses]
    known += [each.id for each in report.ruled_out] + [each.id for each in report.unknown]
    yield Line(f"Nothing here supports or contradicts {one_line(name)}.", style="heading")
    hint = did_you_mean(name, known) or f"`diagnose why-not {one_line(name)}` says what it needs"
    yield Line(hint, 2, mark="-> ")


def how_lines(
    how: Sequence[Mapping[str, Any]], facts: Mapping[str, str], indent: int
) -> Iterator[Line]:
    """A derivation down to the facts."""
    for step in how:
        strength = f", {step['strength']}" if step.get("strength") else ""
        yield Line(step.get("message") or "this rule applies:", indent, mark="- ")
        yield Line(f"rule {step['rule']}{strength}", indent + 2, "dim")
        for premise in step["because"]:
            yield Line(premise["condition"], indent + 4, mark="* ")
            shown, more = premise_facts(premise, facts)
            for fact in shown:
                yield Line(facts[fact], indent + 8, "dim", mark=f"{fact}: ")
            if more:
                yield Line(f"and {more} more facts", indent + 8, "dim")
            yield from how_lines(premise.get("how", ()), facts, indent + 8)


def action_lines(
    actions: Iterable[Mapping[str, Any]], packet: Sequence[str] = ()
) -> Iterator[Line]:
    """The actions, their exact commands, and the checks that they worked."""
    for number, action in enumerate(actions, 1):
        if number == 1:
            yield Line("Do:", 2, "heading")
        note = action_note(action)
        yield Line(action["do"] + (f"  ({note})" if note else ""), 4, mark=f"{number}. ")
        if action.get("command"):
            yield Line(action["command"], 9, "command", mark=prompt(action["command"]), keep=True)
        if action.get("verify"):
            yield Line(action["verify"], 7, mark="Verify: ")
    if packet:
        yield Line("Hand over:", 2, "heading")
        yield from (Line(item, 4, mark="- ") for item in packet)


def next_lines(steps: Sequence[NextStep], heading: str = "Next:") -> Iterator[Line]:
    """The lines of the plan."""
    yield from section(heading, _steps(steps))


def _steps(steps: Sequence[NextStep]) -> Iterator[Line]:
    for number, step in enumerate(steps, 1):
        yield Line(step.text, 2, mark=f"{number}. ")
        if step.command:
            yield Line(step.command, 7, "command", mark=prompt(step.command), keep=True)
        if step.choices:
            yield Line(" / ".join(step.choices), 5, mark="Answers: ")
        if step.why:
            yield Line(step.why, 5, "dim")
        elif step.separates:
            yield Line(", ".join(step.separates[:4]), 5, "dim", mark="bears on: ")


def message_lines(messages: Sequence[Message], total: int) -> Iterator[Line]:
    """The meaning of the error messages."""
    if not messages:
        what = "this message" if total <= 1 else f"any of these {total} messages"
        yield Line(f"Unknown: no row of the error tables explains {what}.", style="heading")
        return
    yield Line("What it says:", style="heading")
    for group in by_meaning(messages):
        message = group.meaning
        yield Line(message.title, 2, mark="- ")
        yield from (Line(_quoted(text), 4, "dim", mark="> ") for text in group.quotes)
        if group.more:
            yield Line(f"and {len(group.more)} more of this kind", 4, "dim")
        yield from _meaning(message)
    yield Line()


def _quoted(text: str) -> str:
    from ....facts.redaction.masking import cut

    return cut(text, MAX_QUOTE)


def _meaning(message: Message) -> Iterator[Line]:
    """The text of a row, and the conditions that decide whether its causes hold."""
    if message.meaning:
        yield Line(message.meaning, 4)
    if message.fix:
        yield Line(message.fix, 4, mark="Fix: ")
    if message.retry:
        yield Line(RETRY[message.retry], 4)
    if message.decides:
        from ..unexplained import decided, way

        yield Line(decided(message.decides, {}), 4, mark="Depends on: ")
        text, command = way(message.decides)
        yield Line(text, 6, mark="-> ")
        if command:
            yield Line(command, 9, "command", mark=prompt(command), keep=True)


def unexplained_lines(errors: Sequence[Unexplained], messages: Sequence[Message]) -> Iterator[Line]:
    """The errors from which nothing is concluded, and what to do next."""
    yield from section("Not explained:", _unexplained(errors, messages), "warning")


def _unexplained(errors: Sequence[Unexplained], messages: Sequence[Message]) -> Iterator[Line]:
    from ..similar import similar_lines
    from ..source_text import source_lines
    from ..unexplained import advice, origin, place, row_of

    for error in errors[:MAX_UNEXPLAINED]:
        where = f"  [{one_line(place(error))}]" if place(error) else ""
        yield Line(_quoted(error.text) + where, 2, mark="- ")
        if origin(error):
            yield Line(origin(error), 4, mark="From: ")
        if error.source:
            yield from source_lines(error.source)
        if message := row_of(error, messages):
            yield Line(message.title, 4)
            yield from _meaning(message)
        yield from similar_lines(error.similar, 4)
    if len(errors) > MAX_UNEXPLAINED:
        yield Line(f"and {len(errors) - MAX_UNEXPLAINED} more", 2, "dim")
    if next_step := advice(errors):
        yield Line(next_step, 2, mark="-> ")


def read_lines(read: Sequence[tuple[str, str, int]]) -> Iterator[Line]:
    """The sources that were read."""
    yield Line("Read:" if read else "Nothing here is an artefact that is known.", style="heading")
    for path, title, count in read:
        yield Line(f"{path}: {title}, {counted(count, 'fact')}", 2, mark="- ")


def _leads(leads: Iterable[Diagnosis]) -> Iterator[Line]:
    """Weakly supported diagnoses in short."""
    for d in leads:
        yield Line(f"{d.title}  ({d.id})", 2, "warning", mark=f"[{d.severity}] ")
        for step in d.explanation["how"][:2]:
            if step.get("message"):
                yield Line(step["message"], 4, mark="- ")
        if d.actions:
            yield Line(d.actions[0]["do"], 4, mark="First: ")
            if command := d.actions[0].get("command"):
                yield Line(command, 6, "command", mark=prompt(command), keep=True)


def _accepted(accepted: Iterable[Diagnosis]) -> Iterator[Line]:
    for d in accepted:
        yield Line(f"{d.title}  ({d.id}, {d.confidence})", 2, mark=f"[{d.severity}] ")
        yield Line(accepted_text(d), 4, "dim")


def _benign(view: ReportView, verbose: bool) -> Iterator[Line]:
    """Benign findings and the state of a workflow, with its next actions. For a port, the stage
    table shows that already."""
    benign, port = view.fine, view.port
    short = port is not None and not verbose
    if port and port.next and short:
        benign = [d for d in benign if d.id != port.next.finding]
    fine = [d for d in benign if short or not d.actions]
    lines = (Line(f"{d.title}  ({d.id})", 2, "good", mark="- ") for d in fine)
    yield from section("Looked at, and fine:", lines)
    for d in benign:
        if d.actions and not short:
            yield Line()
            yield Line(f"{d.title}  ({d.id})", style="heading")
            yield Line(d.summary, 2)
            said = [step["message"] for step in d.explanation["how"][:2] if step.get("message")]
            yield from (Line(message, 2, mark="- ") for message in said)
            yield from action_lines(d.actions, d.packet)


def _ruled_out(view: ReportView, facts: Mapping[str, str], *, whole: bool) -> Iterator[Line]:
    """The diagnoses that are ruled out: with whole derivations or, for a port, which has many, with
    the reasons in words."""
    for item in view.report.ruled_out:
        yield Line(f"{item.title}  ({item.id})", 2, mark="- ")
        if whole:
            yield from how_lines(item.because[:2], facts, 4)
        else:
            reasons = (s.get("message") or f"rule {s['rule']}" for s in item.because[:2])
            yield from (Line(reason, 4, "dim") for reason in reasons)


def _open(report: Report, verbose: bool) -> Iterator[Line]:
    shown = report.unknown if verbose else report.unknown[:MAX_OPEN]
    for candidate in shown:
        yield Line(f"{candidate.title}  ({candidate.id})", 2, mark="- ")
        yield Line("; ".join(candidate.missing[:3]), 4, "dim", mark="not known: ")
    if len(report.unknown) > len(shown):
        yield Line(f"and {len(report.unknown) - len(shown)} more (--all)", 2, "dim")
