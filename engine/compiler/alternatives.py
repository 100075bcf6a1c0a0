"""Alternatives of literals over shared patterns, to which conditions are lowered."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from ..inference.program import Aggregate, Guard, Literal, Pattern

Path = tuple[str | int, ...]


class Alternative(NamedTuple):
    """Conditions that hold together; ``places`` gives the position of each literal in its entry.
    ``assumed`` is the reference in a message (``alias.attribute``) to the assumption of a fact that
    these conditions need; empty if they want facts that assume nothing.
    """

    literals: tuple[Literal, ...] = ()
    guards: tuple[Guard, ...] = ()
    places: tuple[Path, ...] = ()
    assumed: str = ""

    def and_(self, other: Alternative) -> Alternative:
        """The conjunction; a literal of both counts once."""
        new = [n for n, literal in enumerate(other.literals) if literal not in self.literals]
        return Alternative(
            (*self.literals, *[other.literals[n] for n in new]),
            (*self.guards, *[guard for guard in other.guards if guard not in self.guards]),
            (*self.places, *[other.places[n] for n in new]),
            self.assumed or other.assumed,
        )


Alternatives = list[Alternative]


class SharedPatterns:
    """The patterns and aggregates of all rules, each once, under their numbers."""

    def __init__(self) -> None:
        self.patterns: list[Pattern] = []
        self.aggregates: list[Aggregate] = []
        self._numbers: dict[str, int] = {}
        self._counted: dict[Aggregate, int] = {}

    def number(self, pattern: Pattern) -> int:
        """The number of a pattern. Patterns are told apart as they are written: 1 is not 1.0."""
        number = self._numbers.setdefault(repr(pattern), len(self.patterns))
        if number == len(self.patterns):
            self.patterns.append(pattern)
        return number

    def aggregate(self, aggregate: Aggregate) -> int:
        """The number of an aggregate."""
        number = self._counted.setdefault(aggregate, len(self.aggregates))
        if number == len(self.aggregates):
            self.aggregates.append(aggregate)
        return number

    def of(self, literal: Literal) -> Pattern:
        """The pattern of a literal, or of the facts that its aggregate counts."""
        number = literal.pattern
        counted = literal.mode == "aggregate"
        return self.patterns[self.aggregates[number].pattern if counted else number]


def distinct(alternatives: Iterable[Alternative]) -> list[Alternative]:
    """Remove repeated alternatives."""
    unique: dict[Any, Alternative] = {}
    for alternative in alternatives:
        unique.setdefault(alternative[:2], alternative)
    return list(unique.values())
