"""The intermediate rule set: what every form of knowledge is compiled to.

A :class:`Program` holds *rules*. A rule is a conjunction of *literals* over *patterns*; alternatives
(``any``) have become several rules with one ``entry``. All values are immutable and have a plain
form (:func:`to_plain`, :func:`from_plain`) that can be cached as JSON.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ..facts import Value

Operand = Any  # a constant, a list of constants, or nested tests for 'none_of'
Mode = Literal["match", "refuted", "unless_possible", "unless_match", "aggregate"]


@dataclass(frozen=True, slots=True)
class Test:
    """A test of one attribute (or of the whole fact for ``none_of``, attribute '')."""

    attribute: str
    op: str
    operand: Operand


@dataclass(frozen=True, slots=True)
class Pattern:
    """Tests that one fact of ``kind`` must pass; ``pinned`` holds the indexes of the tests that fix
    the key, by which a fact is recognised as being about the same thing."""

    kind: str
    tests: tuple[Test, ...]
    pinned: tuple[int, ...]
    contradictable: bool


@dataclass(frozen=True, slots=True)
class Aggregate:
    """A count or a series statistic over the facts that match ``pattern``.

    ``function`` is ``count`` or a statistic; it is compared by ``op`` with ``bound``.
    """

    pattern: int
    function: str
    op: str
    bound: float
    value: str = ""
    order: str = ""
    min_points: int = 1


@dataclass(frozen=True, slots=True)
class Literal_:
    """One conjunct of a rule.

    Modes: ``match``, some fact passes; ``refuted``, some fact about the same key fails;
    ``unless_possible``, no fact passes or might pass; ``unless_match``, no fact passes;
    ``aggregate``, aggregate number ``pattern`` is true (``wanted``) or false.
    ``joins`` pairs attributes with variables.
    """

    mode: Mode
    pattern: int
    joins: tuple[tuple[str, str], ...] = ()
    alias: str = ""
    wanted: bool = True


@dataclass(frozen=True, slots=True)
class Guard:
    """A comparison of two variables, made when a rule fires."""

    left: str
    op: str
    right: str


@dataclass(frozen=True, slots=True)
class Conclusion:
    """A fact to derive: attributes with constants, or ``("$x",)`` for the variable x. ``strength``
    is set where the fact is a diagnosis that holds."""

    kind: str
    values: tuple[tuple[str, Value | tuple[str]], ...]
    strength: str = ""


@dataclass(frozen=True, slots=True)
class Rule:
    """One alternative of one entry. ``variables`` are in canonical order."""

    id: str
    entry: str
    form: str
    literals: tuple[Literal_, ...]
    guards: tuple[Guard, ...]
    conclusions: tuple[Conclusion, ...]
    variables: tuple[str, ...]
    stratum: int
    message: str = ""


@dataclass(frozen=True)
class Program:
    """A compiled rule set; rules are sorted by (stratum, id)."""

    patterns: tuple[Pattern, ...]
    aggregates: tuple[Aggregate, ...]
    rules: tuple[Rule, ...]

    @property
    def strata(self) -> int:
        """Number of strata; rules of a stratum see negations of lower ones complete."""
        return max((rule.stratum for rule in self.rules), default=-1) + 1


def to_plain(program: Program) -> dict[str, Any]:
    """The program as JSON-ready lists."""
    return {
        "patterns": [
            [p.kind, [[t.attribute, t.op, t.operand] for t in p.tests], list(p.pinned),
             p.contradictable]
            for p in program.patterns
        ],
        "aggregates": [
            [a.pattern, a.function, a.op, a.bound, a.value, a.order, a.min_points]
            for a in program.aggregates
        ],
        "rules": [_rule_plain(rule) for rule in program.rules],
    }  # fmt: skip


def _rule_plain(r: Rule) -> list[Any]:
    literals = [[x.mode, x.pattern, [list(j) for j in x.joins], x.alias, x.wanted]
                for x in r.literals]  # fmt: skip
    guards = [[g.left, g.op, g.right] for g in r.guards]
    conclusions = [[c.kind, [[n, list(v) if isinstance(v, tuple) else v] for n, v in c.values],
                    c.strength] for c in r.conclusions]  # fmt: skip
    return [r.id, r.entry, r.form, literals, guards, conclusions, list(r.variables), r.stratum,
            r.message]  # fmt: skip


def from_plain(plain: Mapping[str, Any]) -> Program:
    """Rebuild a program. Raises ValueError, TypeError, KeyError or IndexError on other data."""
    patterns = tuple(
        Pattern(_text(kind), tuple(Test(_text(a), _text(op), operand) for a, op, operand in tests),
                tuple(_index(i, tests) for i in pinned), bool(contradictable))
        for kind, tests, pinned, contradictable in plain["patterns"]
    )  # fmt: skip
    aggregates = tuple(Aggregate(_index(a[0], patterns), *a[1:]) for a in plain["aggregates"])
    rules = tuple(_rule(item, patterns, aggregates) for item in plain["rules"])
    return Program(patterns, aggregates, rules)


def _rule(item: Any, patterns: tuple[Any, ...], aggregates: tuple[Any, ...]) -> Rule:
    rule_id, entry, form, literals, guards, conclusions, variables, stratum, message = item
    return Rule(
        _text(rule_id),
        _text(entry),
        _text(form),
        tuple(
            Literal_(mode, _index(number, aggregates if mode == "aggregate" else patterns),
                     tuple((a, v) for a, v in joins), alias, wanted)
            for mode, number, joins, alias, wanted in literals
        ),
        tuple(Guard(*guard) for guard in guards),
        tuple(
            Conclusion(kind, tuple((n, (v[0],) if isinstance(v, list) else v) for n, v in values),
                       strength)
            for kind, values, strength in conclusions
        ),
        tuple(variables),
        int(stratum),
        _text(message),
    )  # fmt: skip


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("text expected")
    return value


def _index(number: Any, items: Any) -> int:
    if not isinstance(number, int) or not 0 <= number < len(items):
        raise IndexError("index out of range")
    return number
