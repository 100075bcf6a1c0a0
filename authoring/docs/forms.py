"""The page of each form of entry."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ...engine.compiler.source import entries as e
from ...engine.compiler.source.knowledge_source import Item
from ...engine.compiler.templates import said_by
from ...engine.diagnosis.wording import whole
from ...interfaces.reports.view import RETRY, RISKS
from ..graphs.trees import tree_graph
from ..references import bands_of
from .conditions import Link, Wording
from .content import (
    Block,
    Drawing,
    Paragraph,
    Point,
    Run,
    Runs,
    Section,
    Table,
    Verbatim,
    code,
    joined,
    listed,
    text,
)

MOST_WORDS = 400
# Layout of YAML only: other characters that Python counts as white space are shown unchanged.
_LAYOUT = re.compile(r"[ \t\n]+")


def own_sections(item: Item, link: Link, titles: Mapping[str, str]) -> Iterator[Section]:
    """The sections that only this form has."""
    wording = Wording(getattr(item.file, "parameters", {}), link)
    if item.form == "tree":
        yield from _tree(item.entry, wording, link, titles)
    else:
        make: Callable[..., Iterator[Section]] = _MAKERS[item.form]
        yield from make(item.entry, wording, link)


def words(item: Item) -> str:
    """The search terms of the entry, besides its title and id."""
    entry = item.entry
    parts: list[str] = []
    if isinstance(entry, e.Diagnosis):
        parts = [entry.summary]
    elif isinstance(entry, e.ErrorEntry):
        parts = [*entry.match.exception, *entry.samples, entry.meaning]
    elif isinstance(entry, e.Tree):
        parts = list(entry.symptom.phrases)
    elif isinstance(entry, e.Rule):
        parts = [*_said(entry)]
    return _one_line(" ".join(parts))[:MOST_WORDS]


def _diagnosis(entry: e.Diagnosis, wording: Wording, link: Link) -> Iterator[Section]:
    yield Section("", _paragraphs(entry.summary, entry.details))
    actions = []
    for action in entry.actions:
        notes = ", ".join(filter(None, (action.effort, RISKS.get(action.risk, ""))))
        inner = [Point(text(code(action.command)))] if action.command else []
        inner += [Point(text(f"Verify: {action.verify}"))] if action.verify else []
        if action.verified_by is not None:
            shown = wording.point(action.verified_by)
            inner.append(Point(text("Shown by: ", *shown.runs), shown.points))
        actions.append(Point(text(action.do, f" ({notes})" if notes else ""), tuple(inner)))
    yield Section("What to do", listed(actions, numbered=True))
    packet = (Point(text(part)) for part in entry.packet_texts)
    yield Section("What to hand over", listed(packet))


def _rule(entry: e.Rule, wording: Wording, link: Link) -> Iterator[Section]:
    yield Section("", _paragraphs(*_said(entry)))
    yield Section("If", listed([wording.point(entry.when)]))
    yield Section("Then", listed(Point(tuple(_conclusion(c, link))) for c in entry.conclude))


def _error(entry: e.ErrorEntry, wording: Wording, link: Link) -> Iterator[Section]:
    yield Section("", _paragraphs(entry.meaning))
    match = entry.match
    rows: list[tuple[str, Runs]] = [
        ("exception", _codes(match.exception)),
        ("text", _codes([match.template] if match.template else [])),
        ("pattern", _codes([match.pattern] if match.pattern else [])),
        ("but not", _codes([match.not_pattern] if match.not_pattern else [])),
        ("owners", _codes(entry.emitter.owners)),
        ("wording", _codes([entry.emitter.wording])),
        ("HTTP status", _codes([str(status) for status in match.http_status])),
        ("operation", _codes(match.operation)),
    ]
    shown = tuple((text(name), runs) for name, runs in rows if runs)
    yield Section("Recognised by", (Table(("", ""), shown),))
    causes = []
    for cause in entry.causes:
        inner = (wording.point(cause.when),) if cause.when is not None else ()
        causes.append(Point(text(link(cause.diagnosis), f" ({cause.likelihood})"), inner))
    yield Section("Causes", listed(causes))
    yield Section("Fix", _paragraphs(entry.fix, RETRY[entry.retry]))
    yield Section("Samples", tuple(map(Verbatim, entry.samples)))
    yield Section("Not to be mixed up with", tuple(map(Verbatim, entry.near_misses)))


def _tree(
    entry: e.Tree, wording: Wording, link: Link, titles: Mapping[str, str]
) -> Iterator[Section]:
    yield Section("People say", listed(Point(text(phrase)) for phrase in entry.symptom.phrases))
    yield Section("Drawing", (Drawing(tree_graph(entry, titles)),))
    yield Section("Questions", listed(_nodes(entry, wording, link), numbered=True))


def _nodes(entry: e.Tree, wording: Wording, link: Link) -> Iterator[Point]:
    for name, node in entry.nodes.items():
        inner = [Point(text(f"Why: {node.why}"))]
        inner += [Point(text("Probe: ", code(node.probe)))] if node.probe else []
        if node.test is not None:
            inner.append(Point(text("Yes, if"), (wording.point(node.test),)))
        for answer, branch in node.branches.items():
            settled = (wording.point(branch.when),) if branch.when is not None else ()
            runs = text(branch.answer or answer, ": ", *_end(entry, branch, link))
            inner.append(Point(runs, settled))
        yield Point(text(node.ask, " ", code(name)), tuple(inner))


def _end(entry: e.Tree, branch: e.Branch, link: Link) -> Iterator[Run]:
    if branch.goto is not None:
        known = entry.nodes.get(branch.goto)
        yield Run(f"go on to “{known.ask if known else branch.goto}”")
    for number, name in enumerate(branch.conclude):
        yield from text(", " if number else "", link(name))
    if branch.conclude:
        yield Run(f" ({branch.strength})")
    if branch.tree is not None:
        yield from text("go on with ", link(branch.tree))
    if branch.healthy:
        yield Run(branch.healthy)


def _classification(entry: e.Classification, wording: Wording, link: Link) -> Iterator[Section]:
    observed = text(code(entry.attribute), " of ", *wording.pattern(entry.observe))
    about = text(", for each ", code(entry.subject)) if entry.subject else ()
    rows = []
    for band in bands_of(entry):
        low, high = (wording.number(b) if b is not None else "" for b in (band.from_, band.to))
        ends = " and ".join(filter(None, (low and f"≥ {low}", high and f"< {high}")))
        undefined = band is entry.undefined
        found = joined(_conclusion(conclusion, link) for conclusion in band.conclude)
        rows.append(
            (
                text(code(band.label)),
                text("not a number" if undefined else ends or "any number"),
                found,
                text(" / ".join(_said(band))),
            )
        )
    table = Table(("band", "range", "concludes", "message"), tuple(rows))
    yield Section("Classifies", (Paragraph((*observed, *about)), table, *_paragraphs(entry.gaps)))


def _said(part: e.Rule | e.Band) -> Iterator[str]:
    """The messages of a part with their repairs, in words."""
    yield from (whole(text, repair) for text, repair in said_by(part))


def _conclusion(conclusion: e.Conclusion, link: Link) -> Iterator[Run]:
    if conclusion.diagnosis is not None:
        yield from text(link(conclusion.diagnosis), f" ({conclusion.strength})")
    elif conclusion.fact is not None:
        values: dict[str, Any] = conclusion.set
        said = ", ".join(f"{name}={value}" for name, value in values.items())
        yield from text(link(conclusion.fact), " ", code(said))


def _codes(values: list[str]) -> Runs:
    return joined([code(value)] for value in values)


def _paragraphs(*texts: str) -> tuple[Block, ...]:
    """Paragraphs, split at empty lines."""
    return tuple(
        Paragraph(text(_one_line(part)))
        for whole in texts
        for part in whole.split("\n\n")
        if part.strip()
    )


def _one_line(text: str) -> str:
    return _LAYOUT.sub(" ", text).strip(" ")


_MAKERS: dict[str, Callable[..., Iterator[Section]]] = {
    "diagnosis": _diagnosis,
    "rule": _rule,
    "error": _error,
    "classification": _classification,
}
