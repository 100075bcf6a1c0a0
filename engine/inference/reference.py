"""The reference evaluator: naive forward chaining to the fixpoint.

Small and plainly right rather than quick. It is the executable definition of the semantics and the
oracle of the differential tests, so it shares no matching code with the engine: it interprets each
test again for every fact.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from math import prod
from typing import TYPE_CHECKING, Any

from ...facts import Fact, Value
from ...facts.fact import canonical
from .aggregates import STATISTICS
from .derivation import (
    MAX_FIRINGS,
    MAX_JOIN_WORK,
    TIME_IS_UP,
    UNLIMITED,
    Derivation,
    Firing,
    OutOfTime,
    Work,
    combinations_exceeded,
    concluded,
    firing_order,
    join_order,
)
from .program import Aggregate, Literal, Pattern, Program, Rule, Test
from .working_memory import WorkingMemory

if TYPE_CHECKING:
    from packaging.version import Version

Values = Mapping[str, Value]
Bindings = Mapping[str, Value]
Known = Mapping[str, Sequence[tuple[Fact, Values]]]
"""The facts of each kind with their values, defaults of the kind included."""


class ReferenceBackend:
    """Evaluates a program by trying every rule on every fact until nothing changes."""

    name = "reference"

    def __init__(
        self,
        program: Program,
        defaults: Mapping[str, Mapping[str, Value]],
        *,
        max_firings: int = MAX_FIRINGS,
        max_join_work: int = MAX_JOIN_WORK,
    ) -> None:
        self._program = program
        self._defaults = defaults
        self._max_firings = max_firings
        self._max_join_work = max_join_work

    def derive(
        self, facts: Sequence[Fact], memory: WorkingMemory | None = None, work: Work = UNLIMITED
    ) -> Derivation:
        """Run all strata to their fixpoints; what is matched in ``memory`` is not used. Where time
        is up, nothing at all is derived."""
        try:
            derivation = self._derive(canonical(facts), work)
        except OutOfTime:
            derivation = Derivation(canonical(facts), (), TIME_IS_UP)
        if memory is not None:
            for fact in derivation.facts:
                memory.add(fact)
        return derivation

    def _derive(self, facts: Sequence[Fact], work: Work) -> Derivation:
        memory = dict.fromkeys(facts)
        fired: dict[Firing, None] = {}
        capped = ""
        for stratum in range(self._program.strata):
            below = dict(memory), dict(fired)
            while not capped and self._round(stratum, memory, fired, work):
                if len(fired) > self._max_firings:
                    fired.popitem()  # its facts were not added
                    capped = f"stopped after {self._max_firings} firings"
            if not capped and self._work(stratum, self._known(memory)) > self._max_join_work:
                memory, fired = below
                capped = combinations_exceeded(self._max_join_work)
            if capped:
                break
        known = self._known(memory)
        shown = [f._replace(premises=self._premises(f, known)) for f in fired]
        return Derivation(canonical(memory), tuple(sorted(shown, key=firing_order)), capped)

    def _known(self, memory: Mapping[Fact, None]) -> Known:
        none: Mapping[str, Value] = {}
        known: dict[str, list[tuple[Fact, Values]]] = {}
        for fact in memory:
            values = {**self._defaults.get(fact.kind, none), **dict(fact.values)}
            known.setdefault(fact.kind, []).append((fact, values))
        return known

    def _round(
        self, stratum: int, memory: dict[Fact, None], fired: dict[Firing, None], work: Work
    ) -> bool:
        """Fire everything that can fire now; whether anything new fired."""
        known = self._known(memory)
        before = len(fired)
        for index, rule in enumerate(self._program.rules):
            if rule.stratum != stratum:
                continue
            if not work.goes_on(len(memory)):
                raise OutOfTime
            for binding in self._bindings(rule, known):
                firing = Firing(index, tuple(binding[name] for name in rule.variables))
                if firing in fired:
                    continue
                fired[firing] = None
                if len(fired) > self._max_firings:
                    return True
                memory.update(dict.fromkeys(concluded(rule, firing.binding)))
        return len(fired) > before

    def _work(self, stratum: int, known: Known) -> int:
        """The different partial matches, of two slots or more, that joins up to a stratum make;
        zero if there cannot be too many."""
        joins = [
            (rule, [slots[n] for n in join_order([[v for _, v in x.joins] for x in slots])])
            for rule in self._program.rules
            if rule.stratum <= stratum
            and len(slots := [x for x in rule.literals if x.mode in ("match", "refuted")]) > 1
        ]
        if sum(self._combinations(slots, known) for _, slots in joins) <= self._max_join_work:
            return 0
        return sum(
            self._partial_matches(slots, known)
            for rule, slots in joins
            if self._counts_hold(rule, known)
        )

    def _combinations(self, slots: Sequence[Literal], known: Known) -> int:
        """The number of joins if each fact of the kind of a slot fitted."""
        counts = [len(known.get(self._program.patterns[x.pattern].kind, ())) for x in slots]
        return sum(prod(counts[:length]) for length in range(2, len(slots) + 1))

    def _counts_hold(self, rule: Rule, known: Known) -> bool:
        counts = [x for x in rule.literals if x.mode == "aggregate"]
        return all(self._holds(x, {}, known) for x in counts)

    def _partial_matches(self, slots: Sequence[Literal], known: Known) -> int:
        """With one fact for each slot, or none for one, there is nothing to join."""
        candidates = [self._bearing(x, known) for x in slots]
        if not all(candidates) or max(map(len, candidates)) == 1:
            return 0
        count = 0
        partial: list[dict[str, Value]] = [{}]
        for place, (slot, facts) in enumerate(zip(slots, candidates, strict=True)):
            partial = _distinct(
                extended
                for bound in partial
                for _, values in facts
                if (extended := _unify(slot, bound, values)) is not None
            )
            count += len(partial) if place else 0
        return count

    def _bindings(self, rule: Rule, known: Known) -> Iterator[Bindings]:
        """Every binding under which all literals and guards of the rule hold."""
        binders = [x for x in rule.literals if x.mode in ("match", "refuted") and x.joins]
        others = [x for x in rule.literals if x not in binders]
        for binding in self._joined(binders, {}, known):
            if all(self._holds(x, binding, known) for x in others) and all(
                compare(g.op, binding[g.left], binding[g.right]) is True for g in rule.guards
            ):
                yield binding

    def _joined(
        self, binders: Sequence[Literal], binding: Bindings, known: Known
    ) -> Iterator[Bindings]:
        if not binders:
            yield binding
            return
        found = (
            extended
            for _, values in self._bearing(binders[0], known)
            if (extended := _unify(binders[0], binding, values)) is not None
        )
        for extended in _distinct(found):  # facts that bind alike lead to the same firings
            yield from self._joined(binders[1:], extended, known)

    def _holds(self, literal: Literal, binding: Bindings, known: Known) -> bool:
        if literal.mode == "aggregate":
            aggregate = self._program.aggregates[literal.pattern]
            matching = [values for _, values in self._passing(aggregate.pattern, known)]
            return _aggregate(aggregate, matching) is literal.wanted
        if literal.mode in ("match", "refuted"):
            bearing = self._bearing(literal, known)
            return any(_unify(literal, binding, values) is not None for _, values in bearing)
        pattern = self._program.patterns[literal.pattern]
        truths = [
            _all(pattern.tests, values)
            for _, values in known.get(pattern.kind, ())
            if _unify(literal, binding, values) is not None
        ]
        if literal.mode == "unless_possible":
            return not any(truth is not False for truth in truths)
        return not any(truth is True for truth in truths)

    def _passing(self, number: int, known: Known) -> Sequence[tuple[Fact, Values]]:
        """The facts that pass a pattern."""
        pattern = self._program.patterns[number]
        facts = known.get(pattern.kind, ())
        return [(fact, values) for fact, values in facts if _all(pattern.tests, values) is True]

    def _bearing(self, literal: Literal, known: Known) -> Sequence[tuple[Fact, Values]]:
        """The facts that bear a positive literal out."""
        if literal.mode == "match":
            return self._passing(literal.pattern, known)
        pattern = self._program.patterns[literal.pattern]
        facts = known.get(pattern.kind, ())
        return [(fact, values) for fact, values in facts if _contradicts(pattern, values)]

    def _premises(self, firing: Firing, known: Known) -> tuple[tuple[Fact, ...], ...]:
        rule = self._program.rules[firing.rule]
        binding = dict(zip(rule.variables, firing.binding, strict=True))
        found: list[tuple[Fact, ...]] = []
        for literal in rule.literals:
            facts: list[Fact] = []
            if literal.mode == "aggregate":
                counted = self._program.aggregates[literal.pattern].pattern
                facts = [fact for fact, _ in self._passing(counted, known)]
            elif literal.mode in ("match", "refuted"):
                bearing = self._bearing(literal, known)
                facts = [f for f, v in bearing if _unify(literal, binding, v) is not None]
            found.append(tuple(sorted(facts, key=Fact.sort_key)))
        return tuple(found)


def _unify(literal: Literal, binding: Bindings, values: Values) -> dict[str, Value] | None:
    """The binding extended by the literal's joins, or None if they disagree or are missing."""
    extended = dict(binding)
    for attribute, variable in literal.joins:
        value = values.get(attribute)
        if value is None or not equal(extended.setdefault(variable, value), value):
            return None
    return extended


def _distinct(bindings: Iterator[dict[str, Value]]) -> list[dict[str, Value]]:
    found: dict[tuple[tuple[str, bool, Value], ...], dict[str, Value]] = {}
    for bound in bindings:
        found.setdefault(tuple((n, isinstance(v, bool), v) for n, v in bound.items()), bound)
    return list(found.values())


def _contradicts(pattern: Pattern, values: Values) -> bool:
    """Whether a fact of the kind is about the same key and fails."""
    pinned = [pattern.tests[i] for i in pattern.pinned]
    rest = [t for i, t in enumerate(pattern.tests) if i not in pattern.pinned]
    same_key = _all(pinned, values) is True
    return pattern.contradictable and same_key and _all(rest, values) is False


def _all(tests: Sequence[Test], values: Values) -> bool | None:
    truths = [_test(test, values) for test in tests]
    return False if False in truths else None if None in truths else True


def _test(test: Test, values: Values) -> bool | None:
    if test.op == "none_of":
        return not any(_all([Test(*t) for t in tests], values) is True for tests in test.operand)
    value = values.get(test.attribute)
    return None if value is None else of_value(test.op, value, test.operand)


def of_value(op: str, value: Value, operand: Any) -> bool | None:
    """One test of a value that is known."""
    if op in ("in", "not_in"):
        return any(equal(value, item) for item in operand) == (op == "in")
    if op == "known":
        return True
    if op == "contains":
        return operand in value if isinstance(value, str) else None
    if op in ("matches", "not_matches"):
        return _searched(operand, value) == (op == "matches") if isinstance(value, str) else None
    if op == "prerelease":
        version = _version(str(value))
        return None if version is None else version.is_prerelease == operand
    if op == "affected":
        return _affected(operand, value)
    return compare(op, value, operand)


def _searched(expression: str, text: str) -> bool:
    return _compiled(expression).search(text) is not None


@cache
def _compiled(expression: str) -> Any:
    import re2

    options = re2.Options()
    options.log_errors = False
    options.max_mem = 16 << 20
    return re2.compile(expression, options)


def compare(op: str, left: Value, right: Value) -> bool | None:
    """``left op right``; unknown for values that have no common order."""
    if op.startswith("version_"):
        return _versions(op.removeprefix("version_"), left, right)
    if op in ("eq", "ne"):
        return equal(left, right) == (op == "eq")
    if isinstance(left, bool) or isinstance(right, bool):
        return None
    if isinstance(left, str) != isinstance(right, str):
        return None
    return _ordered(op, left, right)


def _ordered(op: str, left: Any, right: Any) -> bool:
    answers = {"lt": left < right, "le": left <= right, "gt": left > right, "ge": left >= right}
    return bool(answers[op])


def equal(left: Value, right: Value) -> bool:
    """Whether two values are the same: a truth value is not a number."""
    return isinstance(left, bool) == isinstance(right, bool) and left == right


def _versions(op: str, left: Value, right: Value) -> bool | None:
    if not isinstance(left, str):
        return None
    mine, its = _version(left), _version(str(right))
    if mine is None or its is None:
        return equal(left, right) if op == "eq" else None
    if op in ("eq", "ne"):
        return (mine == its) == (op == "eq")
    return _ordered(op, mine, its)


def _version(text: str) -> Version | None:
    """The version without its local part, which names a build of the same release."""
    from packaging.version import Version

    try:
        return Version(Version(text).public)
    except ValueError:
        return None


def _affected(events: Sequence[Mapping[str, str | None]], value: Value) -> bool | None:
    version = _version(value) if isinstance(value, str) else None
    if version is None:
        return None
    for event in events:
        low = _version(event.get("introduced") or "0")
        fixed, last = (_version(event.get(name) or "") for name in ("fixed", "last_affected"))
        if (
            (low is None or version >= low)
            and (fixed is None or version < fixed)
            and (last is None or version <= last)
        ):
            return True
    return False


def _aggregate(aggregate: Aggregate, matching: Sequence[Values]) -> bool | None:
    name, _, attribute = aggregate.function.partition(":")
    if name == "count" and not aggregate.value:
        return True if len(matching) >= aggregate.bound else None
    if name == "distinct":
        seen = {(isinstance(v[attribute], bool), v[attribute]) for v in matching if attribute in v}
        return True if len(seen) >= aggregate.bound else None
    points = sorted(
        (float(v[aggregate.order]), float(v[aggregate.value]))
        for v in matching
        if isinstance(v.get(aggregate.order), (int, float))
        and isinstance(v.get(aggregate.value), (int, float))
    )
    if len(points) < aggregate.min_points:
        return None
    statistic = STATISTICS[name]([value for _, value in points])
    return None if statistic is None else compare(aggregate.op, statistic, aggregate.bound)
