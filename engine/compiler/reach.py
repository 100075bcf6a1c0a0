"""Finds the cases that a rule can affect, without running them.

Cases are bits of an integer. A rule can fire only where each fact that it needs may exist, so the
cases that it can reach are the common bits of its conditions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...facts import Fact, Value
from ..inference.operators import identity
from ..inference.program import Literal, Rule
from .alternatives import SharedPatterns
from .linking import Predicate, derived, inputs

Key = tuple[str, str, tuple[str, Value]]


class CaseReach:
    """The facts of all cases, by kind and by value. ``kinds`` are those that rules make: until
    :meth:`settle` has seen the rules, any rule may make what a condition on them needs."""

    def __init__(
        self, cases: Sequence[Sequence[Fact]], kinds: Iterable[str], patterns: SharedPatterns
    ) -> None:
        self._patterns = patterns
        self._all = (1 << len(cases)) - 1
        self._derived = frozenset(kinds)
        self._made: dict[Predicate, int] | None = None
        self._kinds: dict[str, int] = {}
        self._values: dict[Key, int] = {}
        for number, facts in enumerate(cases):
            bit = 1 << number
            for fact in facts:
                self._kinds[fact.kind] = self._kinds.get(fact.kind, 0) | bit
                for name, value in fact.values:
                    key = fact.kind, name, identity(value)
                    self._values[key] = self._values.get(key, 0) | bit

    def settle(self, rules: Sequence[Rule]) -> None:
        """Find the cases in which each derived fact may exist."""
        self._made = {}
        grows = True
        while grows:
            grows = False
            for rule in rules:
                reached = self.of(rule)
                for predicate in derived(rule.conclusions) if reached else ():
                    known = self._made.get(predicate, 0)
                    if reached & ~known:
                        self._made[predicate] = known | reached
                        grows = True

    def of(self, rule: Rule) -> int:
        """The cases in which the rule may fire."""
        common = self._all
        for literal in rule.literals:
            common &= self._needed(literal)
        return common

    def _needed(self, literal: Literal) -> int:
        if literal.mode not in ("match", "refuted", "aggregate"):
            return self._all
        kind, tests, _, _ = self._patterns.of(literal)
        common = self._kinds.get(kind, 0)
        if kind in self._derived:
            if self._made is None or literal.mode != "match":
                return self._all
            for predicate in inputs(literal, self._patterns):
                common |= self._made.get(predicate, 0)
            return common
        for name, op, operand in tests if literal.mode == "match" else ():
            if op == "eq" and operand is not True:  # true may be a default, which no fact states
                common &= self._values.get((kind, name, identity(operand)), 0)
        return common


def bits(number: int) -> list[int]:
    """The places of the bits that are set."""
    found = []
    while number:
        low = number & -number
        found.append(low.bit_length() - 1)
        number ^= low
    return found
