"""Whether a step can change the outcome: the conclusions under assumed answers, with and without.

Each gap of an open diagnosis is filled with an answer that closes it. The step matters if the
outcome differs without its own answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ...facts import Attribute, Fact, Kind, Value
from ..inference.derivation import Backend
from ..inference.program import Literal, Pattern, Program, Test
from .report import NextStep

Outcome = frozenset[Any]
_STRENGTHS = ("", "lead", "hint", "weak", "strong", "decisive")
_EXAMPLES: Mapping[str, Value] = {
    "boolean": True, "integer": 1, "number": 1.0, "version": "1.0", "path": "x", "text": "x"
}  # fmt: skip


class Assumed(NamedTuple):
    """A fact that an answer would give, and the steps from which it could come."""

    fact: Fact
    steps: frozenset[str]


class WhatIf:
    """Outcomes of one set of facts with assumptions."""

    def __init__(
        self,
        program: Program,
        kinds: Mapping[str, Kind],
        backend: Backend,
        facts: Sequence[Fact],
    ) -> None:
        self._program = program
        self._kinds = kinds
        self._backend = backend
        self._facts = tuple(facts)
        self._outcomes: dict[frozenset[Fact], Outcome] = {}

    def matters(self, step: NextStep, assumed: Sequence[Assumed]) -> bool:
        """Whether the outcome differs without the step's answer. For a probe, which is cheap,
        evidence from another entry is enough; a question must change a conclusion."""
        given = frozenset(a.fact for a in assumed)
        without = frozenset(a.fact for a in assumed if step.id not in a.steps)
        differing = self._outcome(given) ^ self._outcome(without)
        if step.type == "probe":
            return bool(differing)
        return self._strongest(given) != self._strongest(without)

    def _strongest(self, assumed: frozenset[Fact]) -> Outcome:
        """Conclusions and ruled-out diagnoses, with their strengths."""
        found: dict[object, str] = {}
        for values, strength, _ in sorted(self._outcome(assumed)):
            found[values] = max(found.get(values, ""), strength, key=_STRENGTHS.index)
        return frozenset(found.items())

    def _outcome(self, assumed: frozenset[Fact]) -> Outcome:
        """The conclusions, how strong they are, and by which entries."""
        known = self._outcomes.get(assumed)
        if known is None:
            derivation = self._backend.derive([*self._facts, *sorted(assumed, key=Fact.sort_key)])
            known = self._outcomes[assumed] = frozenset(
                (repr(c.values), c.strength, self._program.rules[firing.rule].entry)
                for firing in derivation.firings
                for c in self._program.rules[firing.rule].conclusions
                if c.kind == "diagnosis"
            )
        return known


def satisfying_fact(literal: Literal, program: Program, kinds: Mapping[str, Kind]) -> Fact | None:
    """A fact that makes a condition true; None if none can be made up, as for a join with
    another fact."""
    if literal.mode == "aggregate" or literal.joins:
        return None
    pattern = program.patterns[literal.pattern]
    kind = kinds[pattern.kind]
    values = _passing(pattern, kind)
    if literal.mode != "match":
        values = _failing(pattern, kind, values)
    return Fact.from_items(pattern.kind, values.items()) if values is not None else None


def _passing(pattern: Pattern, kind: Kind) -> dict[str, Value] | None:
    values: dict[str, Value] = {}
    for name in dict.fromkeys(test.attribute for test in pattern.tests if test.attribute):
        tests = [test for test in pattern.tests if test.attribute == name]
        tests.sort(key=lambda t: t.op in ("ne", "known", "not_in"))
        value = _between(tests, kind.attributes[name]) or _value(tests[0], kind.attributes[name])
        if value is None:
            return None
        values[name] = value
    return values


def _between(tests: Sequence[Test], attribute: Attribute) -> Value | None:
    """The middle of a range with two ends."""
    low = [t.operand for t in tests if t.op in ("ge", "gt")]
    high = [t.operand for t in tests if t.op in ("le", "lt")]
    if not low or not high or not isinstance(low[0], (int, float)):
        return None
    middle = (max(low) + min(high)) / 2
    return round(middle) if attribute.type == "integer" else float(middle)


def _failing(
    pattern: Pattern, kind: Kind, passing: dict[str, Value] | None
) -> dict[str, Value] | None:
    """Values of a fact about the same key that fails the pattern."""
    pinned = {pattern.tests[i].attribute for i in pattern.pinned}
    values = {name: value for name, value in (passing or {}).items() if name in pinned}
    for test in pattern.tests:
        if test.attribute and test.attribute not in pinned:
            value = _other(test, kind.attributes[test.attribute])
            if value is not None:
                return values | {test.attribute: value}
    return None


def _value(test: Test, attribute: Attribute) -> Value | None:
    """A value that passes a test."""
    op, operand = test.op.removeprefix("version_"), test.operand
    if op in ("eq", "ge", "le", "contains"):
        return _typed(operand)
    if op == "in":
        return _typed(operand[0])
    if op == "affected":
        return str(operand[0].get("introduced") or "1.0")
    if op == "prerelease":
        return "1.0b1" if operand else "1.0"
    if op in ("gt", "lt") and isinstance(operand, (int, float)):
        return operand + 1 if op == "gt" else _below(operand, attribute)
    if op in ("ne", "not_in", "known"):
        return _unlike([operand] if op == "ne" else operand if op == "not_in" else [], attribute)
    return None


def _other(test: Test, attribute: Attribute) -> Value | None:
    """A value that fails a test."""
    op, operand = test.op, test.operand
    if op in ("eq", "in"):
        return _unlike([operand] if op == "eq" else operand, attribute)
    if op in ("ne", "gt", "lt"):
        return _typed(operand)
    if op == "ge" and isinstance(operand, (int, float)):
        return _below(operand, attribute)
    if op == "le" and isinstance(operand, (int, float)):
        return operand + 1
    return None


def _typed(value: Any) -> Value | None:
    return value if isinstance(value, (str, int, float, bool)) else None


def _below(bound: float, attribute: Attribute) -> Value:
    return bound / 2 if attribute.type == "number" and bound > 0 else bound - 1


def _unlike(values: Sequence[Value], attribute: Attribute) -> Value | None:
    """A value of the attribute that is not among ``values``."""
    if attribute.type == "boolean":
        return next((v for v in (True, False) if not any(v is x for x in values)), None)
    allowed: Iterator[Value] = iter(attribute.values or ())
    if attribute.values:
        return next((v for v in allowed if v not in values), None)
    example = _EXAMPLES.get(attribute.type, "other")
    return example if example not in values else None
