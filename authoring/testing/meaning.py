"""The meaning of conditions, read directly from their YAML: three-valued, as in docs/semantics.md.
Nothing here uses the compiler or the matcher, so that a fault in one of those shows as a
difference. Single tests have the meaning of the reference evaluator.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from ...engine.compiler.source import conditions as c
from ...engine.compiler.source.entries import Parameter
from ...engine.inference.aggregates import STATISTICS
from ...engine.inference.reference import compare, equal, of_value
from ...facts import Kind, Value

Truth = bool | None
Where = Mapping[str, c.Test | c.Scalar]
Values = Mapping[str, Value]
Facts = Mapping[str, Sequence[Values]]
"""The values of the facts of each kind, with defaults."""
Binding = Mapping[str, Value | None]
Meaning = Callable[[Facts, Binding], Truth]
Judged = Callable[[Facts, Binding], Iterator[tuple[Truth, Values]]]
Places = dict[str, set[tuple[str, str]]]
"""For each variable, the (kind, attribute) pairs that bind it."""
Constants = dict[str, list[tuple[str, str, Any]]]
"""For each kind, the tests (attribute, operator, operand) with a constant."""


class ConditionReader:
    """Gives the conditions of one file their meaning, and notes their variables and constants."""

    def __init__(
        self,
        kinds: Mapping[str, Kind],
        parameters: Mapping[str, Parameter],
        of_subjects: Collection[str],
    ) -> None:
        self._kinds = kinds
        self._parameters = parameters
        self._of_subjects = of_subjects
        self.variables: Places = {}
        self.constants: Constants = {}

    def condition(self, node: Any, positive: bool = True) -> Meaning:
        """The meaning of a condition. A condition that holds does so by facts without
        assumptions."""
        if isinstance(node, c.All):
            return both([self.condition(part, positive) for part in node.all])
        if isinstance(node, c.Any_):
            return either([self.condition(part, positive) for part in node.any])
        if isinstance(node, c.Not):
            return negated(self.condition(node.not_, not positive))
        if isinstance(node, c.Pattern):
            return self.pattern(node.fact, node.where, proven=positive)
        if isinstance(node, c.DiagnosisHolds):
            return self.pattern("diagnosis", {"name": node.diagnosis})
        if isinstance(node, c.BandHolds):
            labels = [node.label] if isinstance(node.label, str) else node.label
            where: dict[str, c.Test | c.Scalar] = {
                "classification": node.band,
                "label": c.Test.model_validate({"in": labels}),
            }
            subject = node.subject or ("" if node.band in self._of_subjects else "-")
            return self.pattern("classified", where | ({"subject": subject} if subject else {}))
        if isinstance(node, c.Absent):
            found = self._passing(node.absent.fact, node.absent.where)
            return lambda facts, binding: not any(t is True for t, _ in found(facts, binding))
        return self._count(node) if isinstance(node, c.Count) else self._series(node)

    def pattern(self, fact: str, where: Where, proven: bool = False) -> Meaning:
        """True if a fact passes, unknown if one may pass, false if one about the same key fails. A
        condition to be ``proven`` fails with facts that rest on an assumption."""
        kind = self._kinds[fact]
        found = self._passing(fact, where, proven=proven)
        fixed = {n: t for n, t in where.items() if n in kind.key and _fixes(t)}
        contradictable = kind.functional and fixed.keys() == set(kind.key)
        about = self._passing(fact, fixed, polar=False)

        def meaning(facts: Facts, binding: Binding) -> Truth:
            truths = [truth for truth, _ in found(facts, binding)]
            if any(truths):
                return True
            if None in truths or not contradictable:
                return None
            same_key = [values for truth, values in about(facts, binding) if truth]
            return False if same_key else None

        return meaning

    def _passing(self, fact: str, where: Where, polar: bool = True, proven: bool = False) -> Judged:
        """Judges each fact of a kind. Those that do not agree with a variable are left out."""
        kind = self._kinds[fact]
        tests, joins = self._tests(kind, where)
        if polar and kind.polarity and kind.polarity not in where:
            tests.append((kind.polarity, "eq", True))

        proven = proven and bool(kind.assumption) and kind.assumption not in where

        def judge(facts: Facts, binding: Binding) -> Iterator[tuple[Truth, Values]]:
            for values in facts.get(fact, ()):
                if all(_agrees(kind, values, binding, *join) for join in joins):
                    free = not (proven and kind.assumption in values)
                    yield all_of([free, *(_judged(kind, values, *t) for t in tests)]), values

        return judge

    def _tests(self, kind: Kind, where: Where) -> tuple[list[Any], list[Any]]:
        tests, joins = [], []
        for name, test in where.items():
            given = _operators(test) if isinstance(test, c.Test) else [("eq", test)]
            for op, operand in given:
                if isinstance(operand, str) and operand.startswith("$") and op in _JOINING:
                    joins.append((name, "eq" if op == "bind" else op, operand[1:]))
                    if op in ("eq", "bind"):
                        places = self.variables.setdefault(operand[1:], set())
                        places.add((kind.name, name))
                else:
                    tests.append((name, op, self._constant(operand)))
                    self.constants.setdefault(kind.name, []).append(tests[-1])
        return tests, joins

    def _constant(self, operand: Any) -> Any:
        if isinstance(operand, str) and operand.startswith("@"):
            return self._parameters[operand[1:]].value
        return operand

    def _count(self, node: c.Count) -> Meaning:
        found = self._passing(node.count.fact, node.count.where)

        def meaning(facts: Facts, binding: Binding) -> Truth:
            passed = [values for truth, values in found(facts, binding) if truth]
            if node.distinct is not None:
                passed = [values for values in passed if node.distinct in values]
                number = len({repr(values[node.distinct]) for values in passed})
            else:
                number = len(passed)
            return True if number >= node.at_least else None

        return meaning

    def _series(self, node: c.Series) -> Meaning:
        source = node.series
        found = self._passing(source.fact, source.where)
        bounds = [
            (op, self._constant(bound))
            for op in ("lt", "le", "gt", "ge")
            if (bound := getattr(node, op)) is not None
        ]

        def meaning(facts: Facts, binding: Binding) -> Truth:
            passed = [values for truth, values in found(facts, binding) if truth]
            points = [
                (float(values[source.order]), float(values[source.value]))
                for values in passed
                if source.order in values and source.value in values
            ]
            if len(points) < node.min_points:
                return None
            value = STATISTICS[node.stat]([value for _, value in sorted(points)])
            return None if value is None else all_of(compare(op, value, b) for op, b in bounds)

        return meaning


_ORDERED = ("eq", "ne", "lt", "le", "gt", "ge")
_JOINING = (*_ORDERED, "bind")


def _operators(test: c.Test) -> list[tuple[str, Any]]:
    return list(test.model_dump(by_alias=True, exclude_none=True).items())


def _fixes(test: Any) -> bool:
    """Whether a test fixes an attribute: equality with a constant or a variable."""
    return not isinstance(test, c.Test) or test.eq is not None or test.bind is not None


def _judged(kind: Kind, values: Values, name: str, op: str, operand: Any) -> Truth:
    value = values.get(name)
    ordered = op in _ORDERED and kind.attributes[name].type == "version"
    return None if value is None else of_value(f"version_{op}" if ordered else op, value, operand)


def _agrees(
    kind: Kind, values: Values, binding: Binding, name: str, op: str, variable: str
) -> bool:
    bound = binding.get(variable)
    if op == "eq":
        return bound is not None and name in values and equal(values[name], bound)
    return bound is not None and _judged(kind, values, name, op, bound) is True


def all_of(truths: Iterable[Truth]) -> Truth:
    """Kleene's conjunction."""
    found = list(truths)
    return False if False in found else None if None in found else True


def any_of(truths: Iterable[Truth]) -> Truth:
    """Kleene's disjunction."""
    found = list(truths)
    return True if True in found else None if None in found else False


def both(parts: Sequence[Meaning]) -> Meaning:
    """The meaning of a condition with several parts that must all hold."""
    return lambda facts, binding: all_of(part(facts, binding) for part in parts)


def either(parts: Sequence[Meaning]) -> Meaning:
    """The meaning of a condition with several parts, one of which must hold."""
    return lambda facts, binding: any_of(part(facts, binding) for part in parts)


def negated(part: Meaning) -> Meaning:
    """The part is known not to hold."""

    def meaning(facts: Facts, binding: Binding) -> Truth:
        truth = part(facts, binding)
        return None if truth is None else not truth

    return meaning
