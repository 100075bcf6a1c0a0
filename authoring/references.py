"""The tests of an entry, and the other entries that it refers to: concludes, rules out, explains,
needs or refines."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from ..engine.compiler.source import conditions as c
from ..engine.compiler.source import entries as e
from ..engine.compiler.source.knowledge_source import Item, KnowledgeSource

Path = tuple[str | int, ...]


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


def concluded_by(item: Item) -> list[str]:
    """The diagnosis ids that an entry concludes."""
    return [target for target, _ in _concluded(item)]


def concluding(source: KnowledgeSource) -> Iterator[str]:
    """The diagnosis ids that some entry concludes."""
    for item in source.items:
        yield from concluded_by(item)


class Placed(NamedTuple):
    """A part of a condition and its place in the entry."""

    path: Path
    node: Any


def conditions(item: Item) -> Iterator[Placed]:
    """The conditions of an entry, each as a whole."""
    entry = item.entry
    if isinstance(entry, e.Rule):
        yield Placed(("when",), entry.when)
    elif isinstance(entry, e.ErrorEntry):
        for index, cause in enumerate(entry.causes):
            if cause.when is not None:
                yield Placed(("causes", index, "when"), cause.when)
    elif isinstance(entry, e.Tree):
        yield from _of_nodes(entry)
    elif isinstance(entry, e.Classification):
        yield Placed(("observe",), entry.observe)
    elif isinstance(entry, e.Diagnosis):
        for index, action in enumerate(entry.actions):
            if action.verified_by is not None:
                yield Placed(("actions", index, "verified_by"), action.verified_by)


def _of_nodes(tree: e.Tree) -> Iterator[Placed]:
    for name, node in tree.nodes.items():
        if node.test is not None:
            yield Placed(("nodes", name, "test"), node.test)
        for answer, branch in node.branches.items():
            if branch.when is not None:
                yield Placed(("nodes", name, "branches", answer, "when"), branch.when)


def parts(placed: Placed) -> Iterator[Placed]:
    """A condition and everything inside it."""
    yield placed
    path, node = placed
    if isinstance(node, c.All | c.Any_):
        key, inner = ("all", node.all) if isinstance(node, c.All) else ("any", node.any)
        for index, part in enumerate(inner):
            yield from parts(Placed((*path, key, index), part))
    elif isinstance(node, c.Not):
        yield from parts(Placed((*path, "not"), node.not_))
    elif isinstance(node, c.Absent):
        yield from parts(Placed((*path, "absent"), node.absent))
    elif isinstance(node, c.Count):
        yield from parts(Placed((*path, "count"), node.count))


def all_parts(item: Item) -> Iterator[Placed]:
    """Every part of every condition of an entry."""
    for condition in conditions(item):
        yield from parts(condition)
