"""The alpha layer: which patterns does one fact pass, possibly pass, or contradict?

Patterns are indexed by kind and by one equality test, so that cost follows matches, not rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ...facts import Value
from ..ir import Pattern, Program
from ..operators import compile_contradiction, compile_pattern, identity

Values = Mapping[str, Value]


class Verdict(NamedTuple):
    """Patterns (by number) that a fact passes, passes or may pass, and contradicts."""

    passed: Sequence[int]
    possible: Sequence[int]
    contradicted: Sequence[int]


class _KindIndex:
    """The patterns of one kind: those without an equality test, and the rest by attribute value."""

    __slots__ = ("by_value", "general")

    def __init__(self) -> None:
        self.general: list[int] = []
        self.by_value: dict[str, dict[tuple[str, Value], list[int]]] = {}

    def candidates(self, values: Values) -> Iterable[int]:
        yield from self.general
        for attribute, table in self.by_value.items():
            value = values.get(attribute)
            if value is None:  # not known: each of these patterns is still possible
                for numbers in table.values():
                    yield from numbers
            else:
                yield from table.get(identity(value), ())


class AlphaIndex:
    """Compiled patterns of a program. Immutable after construction; shared by all sessions."""

    def __init__(self, program: Program) -> None:
        wanted = {(x.mode, x.pattern) for rule in program.rules for x in rule.literals}
        self._blocking = {p for mode, p in wanted if mode == "unless_possible"}
        self._refutable = {p for mode, p in wanted if mode == "refuted"}
        self._passes = [compile_pattern(p) for p in program.patterns]
        self._refutes = [compile_contradiction(p) for p in program.patterns]
        self._kinds: dict[str, _KindIndex] = {}
        for number, pattern in enumerate(program.patterns):
            self._add(number, pattern)

    def verdict(self, kind: str, values: Values) -> Verdict:
        """How the fact stands to every pattern of its kind."""
        passed: list[int] = []
        possible: list[int] = []
        contradicted: list[int] = []
        index = self._kinds.get(kind)
        for number in index.candidates(values) if index else ():
            truth = self._passes[number](values)
            if truth is True:
                passed.append(number)
            if truth is not False and number in self._blocking:
                possible.append(number)
            if truth is False and number in self._refutable and self._refutes[number](values):
                contradicted.append(number)
        return Verdict(passed, possible, contradicted)

    def _add(self, number: int, pattern: Pattern) -> None:
        index = self._kinds.setdefault(pattern.kind, _KindIndex())
        # The key comes first: a fact with another key can neither pass nor contradict.
        tests = [pattern.tests[i] for i in pattern.pinned if pattern.tests[i].op == "eq"]
        if not pattern.contradictable:
            tests += [t for t in pattern.tests if t.op == "eq"]
        if not tests:
            index.general.append(number)
            return
        chosen = tests[0]
        table = index.by_value.setdefault(chosen.attribute, {})
        table.setdefault(identity(chosen.operand), []).append(number)
