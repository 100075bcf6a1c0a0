"""The references between entries: concludes, rules out, explains, needs or refines."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ..engine.compiler.source import conditions as c
from ..engine.compiler.source import entries as e
from ..engine.compiler.source.knowledge_source import Item
from .lint.lint_context import all_parts


class Reference(NamedTuple):
    """One entry refers to another; ``strength`` says how strongly it concludes."""

    source: str
    relation: str
    target: str
    strength: str = ""


class References:
    """All references between entries, both ways, in the order of the entries."""

    def __init__(self, items: Iterable[Item]) -> None:
        self.of: dict[str, list[Reference]] = defaultdict(list)
        self.to: dict[str, list[Reference]] = defaultdict(list)
        for item in sorted(items, key=lambda i: i.id):
            for reference in dict.fromkeys(_references(item)):
                self.of[reference.source].append(reference)
                self.to[reference.target].append(reference)

    def near(self, entry: str, steps: int, most: int) -> tuple[list[str], bool]:
        """The entries within so many references of one, nearest first; and whether there were
        more than ``most``."""
        found = {entry: None}
        edge = [entry]
        for _ in range(steps):
            edge = sorted({other for name in edge for other in self._beside(name)} - found.keys())
            found.update(dict.fromkeys(edge))
        return list(found)[:most], len(found) > most

    def _beside(self, entry: str) -> Iterator[str]:
        yield from (reference.target for reference in self.of.get(entry, ()))
        yield from (reference.source for reference in self.to.get(entry, ()))


def fact_kinds(item: Item) -> list[str]:
    """The fact kinds that the conditions of an entry look at."""
    found = {
        part.node.fact if isinstance(part.node, c.Pattern) else part.node.series.fact
        for part in all_parts(item)
        if isinstance(part.node, c.Pattern | c.Series)
    }
    if item.form == "error":
        found |= {"error_message"} | ({"http_response"} if item.entry.match.http_status else set())
    return sorted(found)


def _references(item: Item) -> Iterator[Reference]:
    for target, strength in _concluded(item):
        yield Reference(item.id, "concludes", target, strength)
    for target in _ruled_out(item):
        yield Reference(item.id, "rules out", target)
    for part in all_parts(item):
        if isinstance(part.node, c.DiagnosisHolds):
            yield Reference(item.id, "needs", part.node.diagnosis)
        elif isinstance(part.node, c.BandHolds):
            yield Reference(item.id, "needs", part.node.band)
    entry = item.entry
    if isinstance(entry, e.Diagnosis):
        yield from (Reference(item.id, "explains", target) for target in entry.explains)
    elif isinstance(entry, e.ErrorEntry):
        yield from (Reference(item.id, "refines", target) for target in entry.match.refines)
        yield from (Reference(item.id, "alongside", target) for target in entry.match.alongside)
    elif isinstance(entry, e.Tree):
        yield from (Reference(item.id, "goes on to", b.tree) for b in _branches(entry) if b.tree)


def _concluded(item: Item) -> Iterator[tuple[str, str]]:
    entry = item.entry
    if isinstance(entry, e.Rule):
        yield from ((x.diagnosis, x.strength) for x in entry.conclude if x.diagnosis)
    elif isinstance(entry, e.ErrorEntry):
        yield from ((cause.diagnosis, cause.likelihood) for cause in entry.causes)
    elif isinstance(entry, e.Tree):
        yield from ((d, b.strength) for b in _branches(entry) for d in b.conclude)
    elif isinstance(entry, e.Classification):
        for band in bands_of(entry):
            yield from ((x.diagnosis, x.strength) for x in band.conclude if x.diagnosis)


def _ruled_out(item: Item) -> Iterator[str]:
    entry = item.entry
    if isinstance(entry, e.Rule):
        yield from entry.rules_out
    elif isinstance(entry, e.Tree):
        yield from (d for b in _branches(entry) for d in b.rules_out)
    elif isinstance(entry, e.Classification):
        yield from (d for band in bands_of(entry) for d in band.rules_out)


def _branches(tree: e.Tree) -> Iterator[e.Branch]:
    return (branch for node in tree.nodes.values() for branch in node.branches.values())


def bands_of(entry: e.Classification) -> list[e.Band]:
    """The bands of a classification, and the one for values that are not numbers."""
    return [*entry.bands, *([entry.undefined] if entry.undefined else [])]
