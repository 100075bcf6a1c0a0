"""The values that matter for conditions: at, between and beside their constants."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

from ...engine.inference.operators import compile_re2, identity
from ...engine.inference.program import Aggregate, Literal, Pattern
from ...facts import Attribute, Value, Vocabulary
from .sample_text import sample_texts

MAX_VALUES = 40
_BY_ORDER = ("eq", "ne", "lt", "le", "gt", "ge")


class Patterns(Protocol):
    """A program, which has the patterns and aggregates of literals by number."""

    @property
    def patterns(self) -> Sequence[Pattern]: ...
    @property
    def aggregates(self) -> Sequence[Aggregate]: ...


class Condition(NamedTuple):
    """A literal with its pattern. ``aggregate`` is (function, op, bound, value, order, points)."""

    mode: str
    kind: str
    tests: tuple[tuple[str, str, Any], ...]
    joins: tuple[tuple[str, str], ...] = ()
    aggregate: tuple[Any, ...] = ()
    wanted: bool = True

    @staticmethod
    def of(literal: Literal, known: Patterns) -> Condition:
        """The condition that a literal stands for."""
        counted = known.aggregates[literal.pattern] if literal.mode == "aggregate" else None
        pattern = known.patterns[counted.pattern if counted else literal.pattern]
        spec = tuple(counted[1:]) if counted else ()
        return Condition(
            literal.mode, pattern.kind, pattern.tests, literal.joins, spec, literal.wanted
        )


class Pool:
    """The values for the attributes that some conditions look at."""

    def __init__(
        self,
        vocabulary: Vocabulary,
        literals: Iterable[Condition],
        more: Mapping[str, Iterable[tuple[str, str, Any]]] | None = None,
    ) -> None:
        """``more`` are further tests, by kind."""
        self._kinds = vocabulary.kinds
        self._constants: dict[tuple[str, str], list[tuple[str, Any]]] = {}
        for kind, tests in (more or {}).items():
            for name, op, operand in tests:
                self._constants.setdefault((kind, name), []).append((op, operand))
        for literal in literals:
            for name, op, operand in _flat(literal.tests):
                self._constants.setdefault((literal.kind, name), []).append((op, operand))
            for name, _ in literal.joins:
                self._constants.setdefault((literal.kind, name), [])

    def attributes(self, kind: str) -> list[str]:
        """The attributes of a kind that some condition tests."""
        return [name for k, name in self._constants if k == kind]

    def values(self, kind: str, name: str, known: Value | None = None) -> list[Value]:
        """Values of an attribute, those that conditions name first; for a text, also variations of
        the ``known`` one."""
        attribute = self._kinds[kind].attributes[name]
        tests = self._constants.get((kind, name), [])
        found: list[Any] = []
        for op, operand in tests:
            found += _values(attribute, op.removeprefix("version_"), operand)
            if op in ("matches", "not_matches"):
                for text in (known, *sample_texts(operand)[:2]):
                    found += _glued(text, operand) if isinstance(text, str) else []
        if attribute.type in ("integer", "number", "boolean") or attribute.values:
            plain = [x for _, o in tests for x in (o if isinstance(o, list) else [o])]
            found += domain(attribute, [x for x in plain if not isinstance(x, dict)])
        elif attribute.type != "version":
            found.append("another")
        if not tests:  # joined with another fact
            found += default_values(attribute)
        unique = {identity(v): v for v in map(_short, found) if attribute.problem(v) is None}
        return list(unique.values())[:MAX_VALUES]


def _flat(tests: Iterable[Any]) -> Iterator[tuple[str, str, Any]]:
    """The tests of attributes, those inside ``none_of`` too."""
    for name, op, operand in tests:
        if op == "none_of":
            for inner in operand:
                yield from _flat(inner)
        else:
            yield name, op, operand


def _short(value: Any) -> Any:
    """A number as a person would write it."""
    return float(f"{value:.9g}") if isinstance(value, float) else value


def _glued(text: str, pattern: str) -> Iterator[str]:
    """The text with something written directly before or after the match of the pattern."""
    found = compile_re2(pattern).search(text)
    if found is not None:
        for place in (found.start(), found.end()):
            yield f"{text[:place]}x{text[place:]}"
            yield f"{text[:place]} and {text[place:]}"


def domain(attribute: Attribute, constants: Iterable[Any]) -> list[Any]:
    """Values of the domain that represent all others, as far as the constants distinguish them."""
    if attribute.type == "boolean":
        return [True, False]
    if attribute.values:
        return list(attribute.values)
    if attribute.type in ("integer", "number"):
        numbers = sorted(
            {x for x in constants if isinstance(x, int | float)}
            | {x for x in (attribute.minimum, attribute.maximum) if x is not None}
        )
        if attribute.type == "integer":
            steps: set[float] = {math.floor(x) + d for x in numbers for d in (-1, 0, 1, 2)}
        else:
            steps = {x + d for x in numbers for d in (-1, 0, 1)}
            steps |= {(a + b) / 2 for a, b in pairwise(numbers)}
        return sorted(x for x in steps if attribute.problem(x) is None)
    return [*sorted({str(x) for x in constants}), "\0 any other"]


def default_values(attribute: Attribute) -> list[Any]:
    """Values of an attribute that no condition tests."""
    if attribute.values:
        return list(attribute.values)
    kinds: dict[str, list[Any]] = {"boolean": [True, False], "integer": [1, 2], "number": [1.0],
                                   "version": ["1.0.0"]}  # fmt: skip
    return [v for v in kinds.get(attribute.type, ["some"]) if attribute.problem(v) is None]


def _values(attribute: Attribute, op: str, operand: Any) -> list[Any]:
    if op == "affected":
        ends = [event.get(k) for event in operand for k in ("introduced", "last_affected", "fixed")]
        return [x for x in ends if x not in (None, "0")] + ["0.0.1", "999.0"]
    if op in ("matches", "not_matches"):
        return [*sample_texts(operand), "something else"]
    if op == "contains":
        return [operand, "something else"]
    if op == "prerelease":
        return ["2.0.0b1", "2.0.0"]
    if op in ("in", "not_in"):
        return list(operand)
    if attribute.type == "version" and op in _BY_ORDER:
        return [operand, "0.0.1", "999.0"]
    return [] if op in ("known", "none_of") else [operand]
