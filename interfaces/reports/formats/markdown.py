"""Markdown (CommonMark with tables) for issues, merge requests and wikis: the verdict, and the rest
folded where HTML is shown.

Texts are escaped. Values from facts are code spans, in which nothing is markup, a mention or a
link. The only HTML is that of folding, which holds no text but ours.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ....engine.diagnosis.report import Diagnosis, NextStep, Unexplained
from ....facts import Problem
from ....facts.redaction import Redacted
from .. import similar
from ..derivation import Derivation, derivation
from ..layout import Line
from ..safe_text import one_line, safe
from ..similar import differences
from ..source_text import HEADING, source_details, source_sentence
from ..unexplained import advice, decided, origin, place, way
from ..verdict.screen import verdict_parts
from ..view import (
    ReportView,
    accepted_text,
    action_note,
    provenance_rows,
    redaction_note,
    view_of,
)
from . import Document

if TYPE_CHECKING:
    from ..port import Port

SUFFIX = ".md"
_FROM_FACTS = ("Replace: ", "Where: ", "Not explained: ", "From: ")
# A dot before two letters, as in train.py, makes some readers take the name for that of a host.
_SPECIAL = re.compile(
    r"[\\`*\[\]<>&|~$@#!{}]|(?<![^\W_])_|_(?![^\W_])|:(?=//)|(?<=www)\."
    r"|(?<=\w)\.(?=(?:[A-Za-z]{2}|com|org|net|edu|gov|info|pro|web|name)\b)"
)
_LEADING = re.compile(r"^([-+=:]|\d{1,9}(?=[.)]))")


def render(document: Redacted[Document]) -> str:
    """The report as one Markdown document."""
    return "\n".join(_lines(document)).lstrip("\n") + "\n"


def escaped(text: str) -> str:
    """Text on one line in which no character is markup."""
    shown = one_line(text).strip()
    shown = _SPECIAL.sub(lambda found: "\\" + found[0], shown)
    return _LEADING.sub(lambda f: f[0] + "\\" if f[0][0].isdigit() else "\\" + f[0], shown)


def code(text: str) -> str:
    """Text as a code span; the fence is longer than any run of backticks within."""
    shown = one_line(text)
    if not shown:
        return ""
    fence = "`" * (max((len(run) for run in re.findall("`+", shown)), default=0) + 1)
    edge = shown[0] in "` " or shown[-1] in "` "
    return f"{fence} {shown} {fence}" if edge else f"{fence}{shown}{fence}"


def block(text: str, indent: str = "") -> Iterator[str]:
    """Text as a fenced block."""
    shown = safe(text)
    fence = "`" * max(3, max((len(run) for run in re.findall("`+", shown)), default=0) + 1)
    yield from (f"{indent}{line}".rstrip(" ") for line in (fence, *shown.split("\n"), fence))


def _lines(document: Redacted[Document]) -> Iterator[str]:
    report = document.value.report
    view = view_of(report)
    yield from _verdict(view)
    if document.counts:
        yield from ("", escaped(redaction_note(document.counts)))
    yield from folded("Evidence, and all that can be done", _each(view.causes, view))
    if view.port:
        yield from folded("Where the port stands", _port(view.port))
    yield from folded("What the messages say", _messages(view))
    yield from folded("Not explained", _unexplained(report.unexplained))
    yield from folded("Leads (weak evidence, do not act on these alone)", _each(view.leads, view))
    explained = ((_named(d, d.severity), _how(d.explanation["how"], view)) for d in view.explained)
    yield from folded("Accounted for by the above", _points(explained))
    accepted = (f"- {_named(d, d.severity)}: {escaped(accepted_text(d))}" for d in view.accepted)
    yield from folded("Accepted, not counted", accepted)
    fine = ((_named(d), _actions(d.actions)) for d in view.fine)
    yield from folded("Looked at, and fine", _points(fine))
    ruled_out = ((_named(item), _how(item.because, view)) for item in report.ruled_out)
    yield from folded("Ruled out", _points(ruled_out))
    yield from folded("Still open", _open(view))
    yield from folded("Next", _next(report.next))
    yield from folded("Facts", _facts(view))
    yield from folded("Not everything could be read", _problems(report.errors))
    yield from folded("Notes", _problems(report.notes))
    yield from folded("Provenance", _provenance(document.value))


def folded(heading: str, lines: Iterable[str]) -> Iterator[str]:
    """Lines that are shown on demand; nothing if there are none. ``heading`` is a text of
    ours."""
    shown = list(lines)
    if any(shown):
        yield from ("", f"<details><summary>{heading}</summary>", "", *shown, "", "</details>")


def _verdict(view: ReportView) -> Iterator[str]:
    """The verdict in the words of the text form."""
    level = 1
    for line in verdict_parts(view):
        if line.keep:
            yield from ("", *block(line.text))
        elif line.mark.startswith("[") or line._replace(text="") == Line(style="heading"):
            yield from ("", f"{'#' * level} {escaped(line.mark + line.text)}")
            level = 2
        elif line.text:
            mark, shown = line.mark.strip(), code if line.mark in _FROM_FACTS else escaped
            yield from ("", f"**{escaped(mark)}** {shown(line.text)}" if mark else shown(line.text))


def _provenance(document: Document) -> Iterator[str]:
    yield from (f"- {name}: {code(text)}" for name, text in provenance_rows(document.report))
    for path, what, count in document.read:
        yield f"- Read {code(path)}: {escaped(what)}, {count} facts"


def section(heading: str, lines: Iterable[str], level: int = 2) -> Iterator[str]:
    """Lines under a heading; nothing if there are none."""
    for number, line in enumerate(lines):
        if number == 0:
            yield from ("", f"{'#' * level} {heading}", "")
        yield line


def _points(points: Iterable[tuple[str, Iterable[str]]]) -> Iterator[str]:
    """A list whose points have lines of their own."""
    for text, inner in points:
        yield f"- {text}"
        yield from (f"  {line}" if line else line for line in inner)


def _named(item: Any, *notes: str) -> str:
    """The title of a diagnosis, with its id."""
    return f"{escaped(item.title)} ({', '.join((code(item.id), *notes))})"


def _problems(problems: Iterable[Problem]) -> Iterator[str]:
    for problem in problems:
        place = f"{code(str(problem.where))}: " if problem.where else ""
        hint = f" ({escaped(problem.hint)})" if problem.hint else ""
        yield f"- {problem.code} {place}{escaped(problem.message)}{hint}"


def _port(port: Port) -> Iterator[str]:
    """The stage table, and the next action."""
    rows = (
        (
            f"{row.stage} {row.title}",
            f"{row.state}, **comes next**" if row.due else row.state,
            _cell(code(row.evidence)),
        )
        for row in port.rows
    )
    yield from table(("Stage", "State", "Evidence"), rows)
    step = port.next
    if step:
        yield from ("", f"### Next: {escaped(step.title)} ({code(step.finding)})", "")
        yield escaped(step.do) + (f" Then: {escaped(step.then)}" if step.then else "")
        if step.command:
            yield from ("", *block(step.command))
        for label, names in (("Missing", step.missing), ("Set first", step.unset)):
            if names:
                yield from ("", f"{label}: {', '.join(map(code, names))}")
        if step.verify:
            yield from ("", f"Verify: {escaped(step.verify)}")
    if port.cleared:
        yield from ("", f"Cleared: {code(port.cleared)}")


def _messages(view: ReportView) -> Iterator[str]:
    for group in view.messages:
        yield f"- {escaped(group.meaning.title)}"
        yield from (f"  - {code(text)}" for text in group.quotes)
        if group.more:
            yield f"  - and {len(group.more)} more of this kind"
        yield from (f"  - {line}" for line in (escaped(group.meaning.meaning),) if line)
        if group.meaning.fix:
            yield f"  - Fix: {escaped(group.meaning.fix)}"
        if decides := group.meaning.decides:
            text, command = way(decides)
            how = escaped(text) + (f": {code(command)}" if command else "")
            yield f"  - Depends on: {code(decided(decides, view.titles))}. {how}"


def _unexplained(errors: Sequence[Unexplained]) -> Iterator[str]:
    for error in errors:
        yield f"- {code(error.text)}" + (f", {code(place(error))}" if place(error) else "")
        if origin(error):
            yield f"  - From: {code(origin(error))}"
        if error.source:
            yield f"  - {HEADING}{code(source_sentence(error.source))}"
            yield from (f"    - {code(text)}" for text in source_details(error.source))
        if error.row:
            yield f"  - What {code(error.row)} says of it is shown above."
        for issue in error.similar:
            but = f" But: {code(differences(issue))}" if issue.differs else ""
            yield f"  - {similar.HEADING}{code(similar.title(issue))}, {code(issue.link)}.{but}"
    if next_step := advice(errors):
        yield from ("", escaped(next_step))


def _each(found: Sequence[Diagnosis], view: ReportView) -> Iterator[str]:
    for d in found:
        yield from ("", f"### {escaped(d.headline)}", "", *_diagnosis(d, view))


def _diagnosis(d: Diagnosis, view: ReportView) -> Iterator[str]:
    yield f"**{d.severity}**, {d.confidence}, {code(d.id)}"
    yield from ("", escaped(d.gist))
    if d.conflicting:
        yield from ("", "Conflicting evidence: something else rules this out, see below.")
    explains = [f"- {escaped(view.titles.get(x, x))} ({code(x)})" for x in d.explains]
    for label, lines in (
        ("Accounts for:", explains),
        ("Because:", list(_how(d.explanation["how"], view))),
        ("Do:", list(_actions(d.actions))),
        ("Hand over:", [f"- {escaped(item)}" for item in d.packet]),
    ):
        if lines or label == "Because:":
            yield from ("", label, "", *lines)


def _how(how: Sequence[Mapping[str, Any]], view: ReportView) -> Iterator[str]:
    return _steps(derivation(how, view.facts), view)


def _steps(cut: Derivation, view: ReportView, indent: str = "") -> Iterator[str]:
    for step in cut.steps:
        strength = f", {escaped(step.strength)}" if step.strength else ""
        message = escaped(step.message or "this rule applies:")
        above = "; as above" if step.again else ""
        yield f"{indent}- {message} (rule {code(step.rule)}{strength}{above})"
        for premise in step.premises:
            yield f"{indent}  - {code(premise.condition)}"
            for fact in premise.facts:
                source = f", from {code(view.sources[fact])}" if view.sources[fact] else ""
                yield f"{indent}    - {code(fact)} {code(view.facts[fact])}{source}"
            if premise.more:
                yield f"{indent}    - and {premise.more} more facts"
            if premise.how:
                yield from _steps(premise.how, view, indent + "    ")
    if cut.more:
        yield f"{indent}- and {cut.more} more of this kind"


def _actions(actions: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for number, action in enumerate(actions, 1):
        note = f" ({escaped(action_note(action))})" if action_note(action) else ""
        yield f"{number}. {escaped(action['do'])}{note}"
        inner = " " * (len(str(number)) + 2)
        if action.get("command"):
            yield from ("", *block(action["command"], inner))
        if action.get("verify"):
            yield from ("", f"{inner}Verify: {escaped(action['verify'])}")


def _open(view: ReportView) -> Iterator[str]:
    rows = (
        (
            _cell(_named(candidate)),
            ", ".join(_cell(code(text)) for text in candidate.missing),
            _cell(_step(step)) if step else "no probe or question bears on it",
        )
        for candidate, step in view.open
    )
    if view.open:
        yield from ("Partly supported, not known.", "")
    yield from table(("Diagnosis", "Not known", "Cheapest way to settle it"), rows)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """A table; nothing without rows."""
    for number, row in enumerate(rows):
        if number == 0:
            yield f"| {' | '.join(head)} |"
            yield f"| {' | '.join('---' for _ in head)} |"
        yield f"| {' | '.join(row)} |"


def _cell(markup: str) -> str:
    """Markup for a table cell: tables strip one backslash before each bar."""
    return markup.replace("|", "\\|")


def _step(step: NextStep) -> str:
    command = f": {code(step.command)}" if step.command else ""
    return f"{escaped(step.text)} (about {step.seconds:g} s){command}"


def _next(steps: Sequence[NextStep]) -> Iterator[str]:
    for number, step in enumerate(steps, 1):
        yield f"{number}. {_step(step)}"
        inner = " " * (len(str(number)) + 2)
        if step.choices:
            yield f"{inner}- Answers: {', '.join(code(choice) for choice in step.choices)}"
        if step.why:
            yield f"{inner}- {escaped(step.why)}"


def _facts(view: ReportView) -> Iterator[str]:
    rows = (
        (code(name), _cell(code(str(fact))), _cell(code(view.sources[name])))
        for name, fact, derived in view.report.facts
        if not derived
    )
    return table(("", "Fact", "Source"), rows)
