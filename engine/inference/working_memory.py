"""Working memory: the facts of one run, each matched against the patterns once."""

from __future__ import annotations

from collections.abc import Sequence

from ...facts import Fact
from .alpha import AlphaLayer, Values
from .network_index import Signal

__all__ = ["Known", "Values", "WorkingMemory"]

Known = tuple[Fact, Values]
"""A fact and its attribute values, with the defaults of its kind."""


class WorkingMemory:
    """Facts in the order in which they came, and for each signal those that bear it out.

    Inference adds what it derives; explanations, why-not and the plan read the same matches.
    """

    def __init__(self, alpha: AlphaLayer) -> None:
        self.alpha = alpha
        self.facts: dict[Fact, Values] = {}
        self.matches: dict[Signal, list[Known]] = {}
        self._by_kind: dict[str, list[Known]] = {}
        self._counted = 0

    def add(self, fact: Fact) -> tuple[Values, Sequence[Signal]] | None:
        """Keep a fact and return its values and signals; None if it is known already."""
        if fact in self.facts:
            return None
        values, signals = found = self.alpha.match(fact)
        self.facts[fact] = values
        self.file(fact, values, signals)
        return found

    def file(self, fact: Fact, values: Values, signals: Sequence[Signal]) -> None:
        """Put a fact under its signals."""
        matches = self.matches
        for signal in signals:
            known = matches.get(signal)
            if known is None:
                matches[signal] = [(fact, values)]
            else:
                known.append((fact, values))

    def of_kind(self, kind: str) -> Sequence[Known]:
        """The facts of one kind."""
        if self._counted < len(self.facts):
            self._by_kind = {}
            for fact, values in self.facts.items():
                self._by_kind.setdefault(fact.kind, []).append((fact, values))
            self._counted = len(self.facts)
        return self._by_kind.get(kind, ())
