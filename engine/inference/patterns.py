"""Patterns compiled to quick closures over the values of a fact.

The meaning of each operator is defined in :mod:`.operators`; the common ones are specialised here
by the type of their operand.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ...facts import Value
from .operators import Truth, compile_check, text_search
from .program import Pattern, Test

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any
else:
    Any = object


Values = Mapping[str, Value]
FactCheck = Callable[[Values], Truth]
Refutes = Callable[[Values], bool]
_NUMBERS = frozenset({int, float})


def compile_pattern(pattern: Pattern) -> FactCheck:
    """Whether a fact of the pattern's kind passes: true, false or unknown."""
    return compile_tests(pattern.tests)


def compile_tests(tests: Sequence[Test]) -> FactCheck:
    """The conjunction of tests over the values of a fact."""
    checks = [_fact_check(test) for test in tests]
    if not checks:
        return lambda values: True
    if len(checks) == 1:
        return checks[0]

    def conjunction(values: Values) -> Truth:
        truth: Truth = True
        for check in checks:
            found = check(values)
            if found is False:
                return False
            if found is None:
                truth = None
        return truth

    return conjunction


def compile_contradiction(pattern: Pattern) -> Refutes:
    """Whether a fact is about the same key and fails: positive evidence against the pattern."""
    if not pattern.contradictable:
        return lambda values: False
    pinned = compile_tests([pattern.tests[i] for i in pattern.pinned])
    rest = compile_tests([t for i, t in enumerate(pattern.tests) if i not in pattern.pinned])
    return lambda values: pinned(values) is True and rest(values) is False


def _fact_check(test: Test) -> FactCheck:
    if test.op == "none_of":
        alternatives = [compile_tests([Test(*t) for t in tests]) for tests in test.operand]
        return lambda values: not any(check(values) is True for check in alternatives)
    special = _OF_NUMBERS if type(test.operand) in _NUMBERS else _OF_OTHERS
    compile_ = special.get(test.op)
    quick = compile_(test.attribute, test.operand) if compile_ else None
    return quick or _general(test.attribute, test.op, test.operand)


def _general(attribute: str, op: str, operand: Any) -> FactCheck:
    check = compile_check(op, operand)

    def general(values: Values) -> Truth:
        value = values.get(attribute)
        return None if value is None else check(value)

    return general


def _equal(attribute: str, operand: Any) -> FactCheck | None:
    """Texts and truth values; a number may be written as int or float."""
    if isinstance(operand, str):

        def equal_text(values: Values) -> Truth:
            value = values.get(attribute)
            return None if value is None else value == operand

        return equal_text
    if isinstance(operand, bool):

        def equal_truth(values: Values) -> Truth:
            value = values.get(attribute)
            return None if value is None else value is operand

        return equal_truth
    return None


def _member(attribute: str, operand: Any) -> FactCheck | None:
    if not all(isinstance(item, str) for item in operand):
        return None
    allowed = frozenset(operand)

    def member(values: Values) -> Truth:
        value = values.get(attribute)
        return None if value is None else value in allowed

    return member


def _matches(attribute: str, operand: Any) -> FactCheck:
    search = text_search(operand)

    def matches(values: Values) -> Truth:
        value = values.get(attribute)
        return search(value) if isinstance(value, str) else None

    return matches


def _below(attribute: str, bound: float) -> FactCheck:
    def below(values: Values) -> Truth:
        value: Any = values.get(attribute)
        return value < bound if type(value) in _NUMBERS else None

    return below


def _at_most(attribute: str, bound: float) -> FactCheck:
    def at_most(values: Values) -> Truth:
        value: Any = values.get(attribute)
        return value <= bound if type(value) in _NUMBERS else None

    return at_most


def _above(attribute: str, bound: float) -> FactCheck:
    def above(values: Values) -> Truth:
        value: Any = values.get(attribute)
        return value > bound if type(value) in _NUMBERS else None

    return above


def _at_least(attribute: str, bound: float) -> FactCheck:
    def at_least(values: Values) -> Truth:
        value: Any = values.get(attribute)
        return value >= bound if type(value) in _NUMBERS else None

    return at_least


_Compile = Mapping[str, Callable[[str, Any], FactCheck | None]]
_OF_NUMBERS: _Compile = {"lt": _below, "le": _at_most, "gt": _above, "ge": _at_least}
_OF_OTHERS: _Compile = {"eq": _equal, "in": _member, "matches": _matches}
