"""All pages of a knowledge base: one for each entry, and one for the fact kinds."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

from ...engine.compiler.build import Built
from ...engine.compiler.source.knowledge_source import Item
from ..references import References, fact_kinds
from .content import Block, Page, Paragraph, Run, Runs, Section, Table, code, joined, listed, text
from .content import Point as P
from .forms import own_sections, words

FACTS = "facts"
_INWARDS = {
    "concludes": "Concluded by",
    "rules out": "Ruled out by",
    "explains": "Explained by",
    "needs": "Needed by",
    "refines": "More specific rows",
    "alongside": "May match together with",
    "goes on to": "Reached from",
}
_OUTWARDS = {"rules out": "Rules out", "explains": "Explains", "refines": "More general rows"}


class Book:
    """The pages of compiled knowledge, in the order of their names."""

    def __init__(self, built: Built) -> None:
        self.items = {item.id: item for item in built.source.items}
        self.vocabulary = built.vocabulary
        self.references = References(self.items.values())
        self.cases: Counter[str] = Counter(
            case.entry for _, file in built.source.tests for case in file.cases if case.entry
        )

    def pages(self) -> Iterator[Page]:
        """Every page."""
        for name in sorted(self.items):
            yield self._page(self.items[name])
        yield self._facts()

    def link(self, name: str) -> Run:
        """A link to an entry, or to a fact kind."""
        if name in self.items:
            return Run(self.items[name].entry.title, page=name)
        if name in self.vocabulary.kinds:
            return Run(name, page=f"{FACTS}#{name}")
        return code(name)

    def _page(self, item: Item) -> Page:
        entry = item.entry
        marks = [item.form, entry.status]
        if item.form == "diagnosis":
            marks = [entry.severity, entry.kind, entry.status]
        sections = [
            *own_sections(item, self.link, {n: i.entry.title for n, i in self.items.items()}),
            *self._relations(item),
            *self._ground(item),
        ]
        kept = tuple(section for section in sections if section.blocks)
        return Page(item.id, item.form, entry.title, tuple(marks), kept, words(item))

    def _relations(self, item: Item) -> Iterator[Section]:
        outwards, inwards = self.references.of.get(item.id, ()), self.references.to.get(item.id, ())
        for relation, heading in _OUTWARDS.items():
            found = [(r.target, r.strength) for r in outwards if r.relation == relation]
            yield Section(heading, self._list(found))
        for relation, heading in _INWARDS.items():
            found = [(r.source, r.strength) for r in inwards if r.relation == relation]
            yield Section(heading, self._list(found))

    def _list(self, found: list[tuple[str, str]]) -> tuple[Block, ...]:
        """Entries, each once, with all strengths."""
        strengths: dict[str, list[str]] = defaultdict(list)
        for name, strength in found:
            strengths[name] += [strength] if strength else []
        return listed(
            P(text(self.link(name), " ", code(name), *self._said(name, strengths[name])))
            for name in strengths
        )

    def _said(self, name: str, strengths: list[str]) -> Runs:
        item = self.items.get(name)
        said = [item.form] if item else []
        return text(f" ({', '.join([*said, *dict.fromkeys(strengths)])})")

    def _ground(self, item: Item) -> Iterator[Section]:
        """The basis of an entry: thresholds, sources, conflicts, cases, its place."""
        entry = item.entry
        yield Section("Thresholds", _thresholds(item))
        conflicts = (
            P(text(" / ".join(c.between)), (P(text(c.resolution)), P(text(c.reason))))
            for c in entry.conflicts
        )
        yield Section("Sources disagree", listed(conflicts))
        sources = (
            P(text(", ".join(filter(None, (s.ref, s.section))) + (f": {s.note}" if s.note else "")))
            for s in item.sources()
        )
        yield Section("Sources", listed(sources))
        rows: list[tuple[Runs, Runs]] = [
            (text("Looks at"), joined([self.link(kind)] for kind in fact_kinds(item))),
            (text("Cases"), text(_cases(item, self.cases[item.id]))),
            (text("Covers"), text(", ".join(_covers(item)))),
            (text("Replaces"), text(entry.replaces or "")),
            (text("Note"), text(entry.note)),
            (text("Written in"), text(code(str(item.where("id"))))),
        ]
        yield Section("About this entry", (Table(("", ""), tuple(r for r in rows if r[1])),))

    def _facts(self) -> Page:
        users: dict[str, list[str]] = defaultdict(list)
        for name, item in sorted(self.items.items()):
            for kind in fact_kinds(item):
                users[kind].append(name)
        sections = [
            Section(kind.name, self._kind(kind, users[kind.name]), kind.name)
            for kind in sorted(self.vocabulary.kinds.values(), key=lambda k: k.name)
        ]
        return Page(FACTS, "facts", "What can be known", (), tuple(sections))

    def _kind(self, kind: Any, users: list[str]) -> tuple[Block, ...]:
        rows = tuple(
            (
                text(code(a.name)),
                text(a.type + (f" in {a.unit}" if a.unit else "")),
                text(a.description),
            )
            for a in kind.attributes.values()
        )
        probes = f"Gathered by: {', '.join(kind.probes)}." if kind.probes else ""
        used = joined([self.link(name)] for name in users)
        blocks: list[Block] = [Paragraph(text(kind.description))]
        blocks += [Table(("attribute", "type", "meaning"), rows)] if rows else []
        blocks += [Paragraph(text(probes))] if probes else []
        blocks += [Paragraph(text("Looked at by: ", *used))] if used else []
        return tuple(blocks)


def _thresholds(item: Item) -> tuple[Block, ...]:
    """The parameters that an entry refers to, with their origin."""
    named = {part for part in _parts(item.entry.model_dump()) if isinstance(part, str)}
    rows = tuple(
        (
            text(code(name)),
            text(f"{parameter.value} {parameter.unit}".strip()),
            text(parameter.origin),
        )
        for name, parameter in getattr(item.file, "parameters", {}).items()
        if f"@{name}" in named
    )
    return (Table(("name", "value", "origin"), rows),) if rows else ()


def _covers(item: Item) -> list[str]:
    """The statements that an entry and its parts cite."""
    parts = (part for part in _parts(item.entry.model_dump()) if isinstance(part, dict))
    return sorted({name for part in parts for name in part.get("covers") or ()})


def _parts(node: Any) -> Iterator[Any]:
    """A value and all values inside it."""
    yield node
    if isinstance(node, dict | list):
        for value in node.values() if isinstance(node, dict) else node:
            yield from _parts(value)


def _cases(item: Item, count: int) -> str:
    said = [f"{count} of its own"] if count else []
    if item.form == "error":
        said.append(f"{len(item.entry.samples)} samples")
        said.append(f"{len(item.entry.near_misses)} near misses")
    return ", ".join(said)
