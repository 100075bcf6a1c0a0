"""The input of lint: compiled knowledge, with queries that many checks share."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from ...engine.compiler.alternatives import SharedPatterns
from ...engine.compiler.build import Built
from ...engine.compiler.source import conditions as c
from ...engine.compiler.source import entries as e
from ...engine.compiler.source.knowledge_source import Item, KnowledgeSource
from ...engine.inference.program import Rule
from ...facts import Fact, Vocabulary

Path = tuple[str | int, ...]
Decode = Callable[[str], Sequence[Fact]]


class Subject:
    """The knowledge under lint. ``decode`` turns the text of a message into facts; without it
    samples of error rows are not tried."""

    def __init__(self, built: Built, decode: Decode | None) -> None:
        self.built = built
        self.source: KnowledgeSource = built.source
        self.vocabulary: Vocabulary = built.vocabulary
        self.decode = decode

    @cached_property
    def items(self) -> dict[str, Item]:
        """The entries by id."""
        return {item.id: item for item in self.source.items}

    @cached_property
    def forms(self) -> dict[str, list[Item]]:
        """The entries that are in force, by form."""
        found: dict[str, list[Item]] = defaultdict(list)
        for item in self.source.items:
            if item.entry.status != "deprecated":
                found[item.form].append(item)
        return found

    @cached_property
    def rules(self) -> dict[str, list[Rule]]:
        """The compiled rules of each entry, over the :attr:`patterns`."""
        found: dict[str, list[Rule]] = defaultdict(list)
        for rule in self.built.rules:
            found[rule.entry].append(rule)
        return found

    @property
    def patterns(self) -> SharedPatterns:
        """The patterns of all rules."""
        return self.built.forms.patterns

    def places(self, rule: Rule) -> tuple[Path, ...]:
        """The places of the literals of a rule in its entry."""
        return self.built.forms.places[rule.id]


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
