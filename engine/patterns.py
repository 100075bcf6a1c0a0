"""The patterns of a program as closures, compiled when first needed and shared."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ..facts import Value
from .ir import Program
from .operators import FactCheck, compile_contradiction, compile_pattern

Refutes = Callable[[Mapping[str, Value]], bool]


class PatternTable:
    """Checks by pattern number. Threads may share it: a closure compiled twice is the same."""

    def __init__(self, program: Program) -> None:
        self._patterns = program.patterns
        self._passes: list[FactCheck | None] = [None] * len(program.patterns)
        self._refutes: list[Refutes | None] = [None] * len(program.patterns)

    def passes(self, number: int) -> FactCheck:
        """Whether a fact of the pattern's kind passes (three-valued)."""
        check = self._passes[number]
        if check is None:
            check = self._passes[number] = compile_pattern(self._patterns[number])
        return check

    def refutes(self, number: int) -> Refutes:
        """Whether a fact about the same key contradicts the pattern."""
        check = self._refutes[number]
        if check is None:
            check = self._refutes[number] = compile_contradiction(self._patterns[number])
        return check
