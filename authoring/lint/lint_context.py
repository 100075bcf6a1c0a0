"""The input of lint: compiled knowledge, with queries that many checks share."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import cached_property

from ...engine.compiler.alternatives import SharedPatterns
from ...engine.compiler.build import Built
from ...engine.compiler.source.knowledge_source import Item, KnowledgeSource
from ...engine.inference.program import Rule
from ...facts import Fact, Vocabulary
from ...facts.strict_yaml import Document
from ..references import Path

Decode = Callable[[str], Sequence[Fact]]
Wanted = Callable[[str], bool]
"""Whether the problems of a file are wanted, by its path."""


class Subject:
    """The knowledge under lint. ``decode`` turns the text of a message into facts; without it
    samples of error rows are not tried. Slow checks look only at ``wanted`` files."""

    def __init__(
        self, built: Built, decode: Decode | None, wanted: Wanted = lambda path: True
    ) -> None:
        self.built = built
        self.source: KnowledgeSource = built.source
        self.vocabulary: Vocabulary = built.vocabulary
        self.decode = decode
        self._wanted = wanted

    def wants(self, part: Item | Document) -> bool:
        """Whether the problems of an entry or a file are wanted."""
        return self._wanted((part.document if isinstance(part, Item) else part).path)

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
