"""Makes facts that bear on given conditions: the raw material of generated cases."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ...engine.inference.aggregates import STATISTICS
from ...engine.inference.operators import compare, compile_check, identity
from ...facts import Fact, Kind, Provenance, Value, Vocabulary
from .values import Condition, Pool, default_values

SOURCE = (Provenance("test"),)
ELSEWHERE = "elsewhere"
FEW = 2
"""Other values to try for an attribute that no condition tests."""


def fact_for(
    kind: Kind, literal: Condition, pool: Pool, bound: Mapping[str, Value]
) -> tuple[Fact, Mapping[str, Value]] | None:
    """A fact that passes the tests of a literal, and the variables that it binds."""
    values: dict[str, Value] = {}
    variables = dict(bound)
    for name, attribute in kind.attributes.items():
        tests = [(op, operand) for n, op, operand in literal.tests if n == name]
        joined = [v for n, v in literal.joins if n == name]
        if not (tests or joined or attribute.required):
            continue
        wanted = next((variables[v] for v in joined if v in variables), None)
        choices = [wanted] if wanted is not None else pool.values(kind.name, name)
        choices = [*choices, *default_values(attribute)]
        checks = [compile_check(op, operand) for op, operand in tests]
        value = next((v for v in choices if all(check(v) is True for check in checks)), None)
        if value is None:
            return None
        values[name] = value
        variables |= dict.fromkeys(joined, value)
    return _fact(kind, values), variables


def facts_for(
    vocabulary: Vocabulary,
    literals: Sequence[Condition],
    pool: Pool,
    bound: Mapping[str, Value],
    *,
    derived: bool = False,
) -> list[Fact] | None:
    """Facts under which the literals of an alternative may hold, with what its variables are
    ``bound`` to already: of kinds that can be observed, and of ``derived`` ones on demand."""
    facts: list[Fact] = []
    for literal in literals:
        kind = vocabulary.kinds[literal.kind]
        if (kind.derived and not derived) or literal.mode.startswith("unless"):
            continue
        if literal.mode == "aggregate":
            sets = [] if kind.derived else list(series_of(kind, literal, pool))
            facts += next((found for found, holds in sets if holds), [])
            continue
        wanted = literal if literal.mode == "match" else _refuting(literal, kind)
        made = fact_for(kind, wanted, pool, bound) if wanted else None
        if made is None:
            return None
        facts.append(made[0])
        bound = made[1]
    return facts


def series_of(kind: Kind, literal: Condition, pool: Pool) -> Iterator[tuple[list[Fact], bool]]:
    """Series of facts about an aggregate, just beyond its bound and just short of it, and whether
    the statistic is as wanted."""
    made = fact_for(kind, literal, pool, {})
    function, op, bound, value, order, points = literal.aggregate
    if made is None:
        return
    plain = dict(made[0].values)
    if not value:
        name = function.partition(":")[2] or next(n for n in kind.attributes if n not in plain)
        choices = default_values(kind.attributes[name])
        found = [
            f"{choices[0]}{n}" if isinstance(choices[0], str) else n for n in range(int(bound))
        ]
        yield [_fact(kind, {**plain, name: x}) for x in found], True
        return
    for step in (1.0, 1.05, 0.95, 2.0, 0.5):
        edge, rest = float(f"{bound * step:.9g}"), [1.0] * (max(points, 2) - 1)
        for numbers in ([edge, *rest], [*rest, edge], [edge] * max(points, 2)):
            statistic = STATISTICS[function](numbers)
            holds = statistic is not None and compare(op, statistic, bound) is literal.wanted
            facts = [_fact(kind, {**plain, order: n, value: x}) for n, x in enumerate(numbers)]
            if all(kind.attributes[value].problem(x) is None for x in numbers):
                yield facts, holds


def blockers(vocabulary: Vocabulary, literals: Sequence[Condition], pool: Pool) -> Iterator[Fact]:
    """Facts that the conditions of an alternative must not find, and such as differ in what a
    variable joins."""
    for literal in literals:
        kind = vocabulary.kinds[literal.kind]
        if literal.mode.startswith("unless") and not kind.derived:
            made = fact_for(kind, literal, pool, {})
            if made is not None:
                yield made[0]
                joined = dict.fromkeys((n for n, _ in literal.joins), ELSEWHERE)
                attributes = kind.attributes
                if joined and all(attributes[n].problem(v) is None for n, v in joined.items()):
                    yield _fact(kind, {**dict(made[0].values), **joined})


def variations(
    facts: Sequence[Fact], pool: Pool, kinds: Mapping[str, Kind]
) -> Iterator[list[Fact]]:
    """The facts with one of them changed in one attribute, left without it, or left out."""
    for place, fact in enumerate(facts):
        others = [*facts[:place], *facts[place + 1 :]]
        known = dict(fact.values)
        tested = pool.attributes(fact.kind)
        for name in dict.fromkeys((*tested, *known)):
            attribute = kinds[fact.kind].attributes.get(name)
            if attribute is None:
                continue
            values = pool.values(fact.kind, name, known.get(name))
            for value in values if name in tested else values[:FEW]:
                if known.get(name) is None or identity(known[name]) != identity(value):
                    yield _with(facts, place, fact, {**known, name: value})
            if name in known and not attribute.required:
                yield _with(facts, place, fact, {n: v for n, v in known.items() if n != name})
        yield others


def _fact(kind: Kind, values: Mapping[str, Value]) -> Fact:
    return Fact(kind.name, tuple(sorted(values.items())), SOURCE)


def _with(facts: Sequence[Fact], place: int, fact: Fact, values: Mapping[str, Value]) -> list[Fact]:
    changed = Fact(fact.kind, tuple(sorted(values.items())), fact.provenance)
    return [*facts[:place], changed, *facts[place + 1 :]]


def _refuting(literal: Condition, kind: Kind) -> Condition | None:
    """A literal for a fact about the same key that fails one other test."""
    for place, (name, op, operand) in enumerate(literal.tests):
        if name not in kind.key and name in kind.attributes:
            opposite = {"eq": "ne", "ne": "eq", "lt": "ge", "ge": "lt", "gt": "le", "le": "gt",
                        "in": "not_in", "not_in": "in"}.get(op)  # fmt: skip
            if opposite:
                tests = (*literal.tests[:place], (name, opposite, operand))
                return Condition(
                    "match", literal.kind, tests + literal.tests[place + 1 :], literal.joins
                )
    return None
