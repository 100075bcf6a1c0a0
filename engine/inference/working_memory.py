"""Working memory: the facts of one run, each matched against the patterns once."""

from __future__ import annotations

from collections.abc import Sequence

from ...facts import Fact
from .matcher import Matcher, Values
from .rule_index import Signal

__all__ = ["Match", "Token", "Values", "WorkingMemory"]

Token = Fact | int
"""A fact, or its index in a list of given facts that are not needed as facts."""

Match = tuple[Token, Values]
"""A fact that bears a signal out, and its attribute values with the defaults of its kind."""


class WorkingMemory:
    """Facts in the order in which they came, and for each signal those that bear it out.

    Inference adds what it derives; why-not and the plan read the same matches.
    """

    def __init__(self, matcher: Matcher) -> None:
        self.matcher = matcher
        self.facts: dict[Fact, Values] = {}
        self.matches: dict[Signal, list[Match]] = {}
        self._by_kind: dict[str, list[tuple[Fact, Values]]] = {}
        self._counted = 0

    def add(self, fact: Fact) -> Sequence[Signal] | None:
        """Keep a fact and return its signals; None if it is known already."""
        facts, known = self.facts, len(self.facts)
        values, signals = self.matcher.match(fact)
        facts.setdefault(fact, values)
        if len(facts) == known:
            return None
        self.index(fact, values, signals)
        return signals

    def add_matched(self, fact: Fact, signals: Sequence[Signal]) -> bool:
        """Keep a fact whose signals are known beforehand; whether it is new."""
        if fact in self.facts:
            return False
        values = self.facts[fact] = self.matcher.values(fact)
        self.index(fact, values, signals)
        return True

    def index(self, token: Token, values: Values, signals: Sequence[Signal]) -> None:
        """Put a fact under its signals."""
        matches, match = self.matches, (token, values)
        for signal in signals:
            known = matches.get(signal)
            if known is None:
                matches[signal] = [match]
            else:
                known.append(match)

    def copy(self) -> WorkingMemory:
        """Another memory with the same facts, to derive in."""
        other = WorkingMemory(self.matcher)
        other.facts = dict(self.facts)
        other.matches = {signal: list(known) for signal, known in self.matches.items()}
        return other

    def forget(self, fact: Fact) -> None:
        """Take a fact out again. Raises KeyError if it is not there."""
        values = self.facts.pop(fact)
        self._counted = -1
        for signal in self.matcher.match(fact)[1]:
            left = [known for known in self.matches[signal] if known != (fact, values)]
            if left:
                self.matches[signal] = left
            else:
                del self.matches[signal]

    def of_kind(self, kind: str) -> Sequence[tuple[Fact, Values]]:
        """The facts of one kind."""
        if self._counted != len(self.facts):
            self._by_kind = {}
            for fact, values in self.facts.items():
                self._by_kind.setdefault(fact.kind, []).append((fact, values))
            self._counted = len(self.facts)
        return self._by_kind.get(kind, ())
