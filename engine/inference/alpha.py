"""The alpha layer: which patterns does one fact pass, possibly pass, or contradict?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ...facts import Value
from ..identity import identity
from ..ir import Program
from ..patterns import PatternTable
from .network_index import AlphaTable

Values = Mapping[str, Value]


class Verdict(NamedTuple):
    """Patterns (by number) that a fact passes, passes or may pass, and contradicts."""

    passed: Sequence[int]
    possible: Sequence[int]
    contradicted: Sequence[int]


class AlphaLayer:
    """The patterns of a program with their index. Shared by all sessions."""

    def __init__(self, program: Program) -> None:
        self._index = program.network
        self.patterns = PatternTable(program)

    def verdict(self, kind: str, values: Values) -> Verdict:
        """How the fact stands to every pattern of its kind."""
        passed: list[int] = []
        possible: list[int] = []
        contradicted: list[int] = []
        table = self._index.alpha.get(kind)
        for number in _candidates(table, values) if table else ():
            truth = self.patterns.passes(number)(values)
            if truth is True:
                passed.append(number)
            if truth is not False:
                if number in self._index.blocking:
                    possible.append(number)
            elif number in self._index.refutable and self.patterns.refutes(number)(values):
                contradicted.append(number)
        return Verdict(passed, possible, contradicted)


def _candidates(table: AlphaTable, values: Values) -> Iterable[int]:
    yield from table.general
    for attribute, numbers_by_value in table.by_value.items():
        value = values.get(attribute)
        if value is None:  # not known: each of these patterns is still possible
            for numbers in numbers_by_value.values():
                yield from numbers
        else:
            yield from numbers_by_value.get(identity(value), ())
