"""Which cases a rule can matter to, found without running anything.

Cases are bits of a number. A rule can fire only where each fact that it needs may be there, so the
cases that it can reach are the common bits of its conditions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ....facts import Fact, Value
from ...identity import identity
from ..forms import RuleDraft
from ..normal_form import Draft

Key = tuple[str, str, tuple[str, Value]]


class Reach:
    """The facts of all cases, by kind and by value. ``derived`` are kinds that rules make: any rule
    may make what a condition on them needs."""

    def __init__(self, cases: Sequence[Sequence[Fact]], derived: Iterable[str]) -> None:
        self._all = (1 << len(cases)) - 1
        self._derived = frozenset(derived)
        self._kinds: dict[str, int] = {}
        self._values: dict[Key, int] = {}
        for number, facts in enumerate(cases):
            bit = 1 << number
            for fact in facts:
                self._kinds[fact.kind] = self._kinds.get(fact.kind, 0) | bit
                for name, value in fact.values:
                    key = fact.kind, name, identity(value)
                    self._values[key] = self._values.get(key, 0) | bit

    def of(self, draft: RuleDraft) -> int:
        """The cases in which the rule may fire."""
        found = 0
        for literals in draft.alternatives:
            common = self._all
            for literal in literals:
                common &= self._needed(literal)
            found |= common
        return found

    def _needed(self, literal: Draft) -> int:
        needed = literal.mode in ("match", "refuted", "aggregate")
        if literal.kind in self._derived or not needed:
            return self._all
        common = self._kinds.get(literal.kind, 0)
        for name, op, operand in literal.tests if literal.mode == "match" else ():
            if op == "eq" and operand is not True:  # true may be a default, which no fact states
                common &= self._values.get((literal.kind, name, identity(operand)), 0)
        return common


def bits(number: int) -> list[int]:
    """The places of the bits that are set."""
    found = []
    while number:
        low = number & -number
        found.append(low.bit_length() - 1)
        number ^= low
    return found
