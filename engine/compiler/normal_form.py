"""Lowers conditions to disjunctive normal form: alternatives of literals over patterns.

``not`` is pushed inwards: a negated pattern needs a contradicting fact and no possible match, so
that absence never counts as evidence.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any

from ...facts import Attribute, Kind, Problem, Vocabulary
from ...facts.problems import did_you_mean
from ..inference.program import Aggregate, Guard, Literal, Pattern, Test
from .alternatives import Alternative, Alternatives, Path, SharedPatterns
from .operands import VARIABLE, VERBATIM, is_variable, operand_problem, pairs
from .source import conditions as c
from .source.knowledge_source import Item
from .templates import statistic_unit, unit_of

if TYPE_CHECKING:
    from ..inference.program import Mode


MAX_ALTERNATIVES = 256
_EQUAL = ("eq", "version_eq")


@dataclass
class Lowering:
    """Lowers the conditions of one entry; problems are collected with their places."""

    vocabulary: Vocabulary
    item: Item
    subjects: Mapping[str, bool] = field(default_factory=dict)
    patterns: SharedPatterns = field(default_factory=SharedPatterns)
    problems: list[Problem] = field(default_factory=list)
    units: dict[str, str] = field(default_factory=dict)
    """For each parameter the unit of what it is compared with."""
    _fresh: Iterator[int] = field(default_factory=lambda: count(1))

    def condition(self, node: Any, path: Path, positive: bool = True) -> Alternatives:
        """The alternatives under which ``node`` is true (or, if not ``positive``, false)."""
        if isinstance(node, c.All | c.Any_):
            conjunctive = isinstance(node, c.All) == positive
            key, parts = ("all", node.all) if isinstance(node, c.All) else ("any", node.any)
            lowered = [
                self.condition(part, (*path, key, i), positive) for i, part in enumerate(parts)
            ]
            return self.product(lowered, path) if conjunctive else [a for x in lowered for a in x]
        if isinstance(node, c.Not):
            return self.condition(node.not_, (*path, "not"), not positive)
        return self._leaf(node, path, positive)

    def _leaf(self, node: Any, path: Path, positive: bool) -> Alternatives:
        if isinstance(node, c.Pattern):
            found = self.pattern(node, path, positive)
            return self._by_assumption(node, found) if positive else [found]
        if isinstance(node, c.Absent):
            found = self.pattern(node.absent, (*path, "absent"))
            return [_in_mode(found, "unless_match") if positive else found]
        if isinstance(node, c.DiagnosisHolds):
            named = c.Pattern(fact="diagnosis", where={"name": node.diagnosis})
            return [self.pattern(named, path, positive)]
        if isinstance(node, c.BandHolds):
            return [self.pattern(self._band(node, path), path, positive)]
        if isinstance(node, c.Count):
            return self._count(node, path, positive)
        return self._series(node, path, positive)

    def pattern(self, node: c.Pattern, path: Path, positive: bool = True) -> Alternative:
        """The literals of a pattern: one if positive, else a refutation and a blocker."""
        kind = self.vocabulary.kinds.get(node.fact)
        if kind is None:
            return self.passing(node.fact, (), at=(*path, "fact"))
        tests, joins, guards = self._where(kind, node.where, (*path, "where"))
        found = self.passing(kind.name, tests, joins, node.as_ or "", path)._replace(guards=guards)
        if positive:
            return found
        self._check_negatable(kind, found, path)
        return _in_mode(found, "refuted").and_(_in_mode(found, "unless_possible"))

    def _by_assumption(self, node: c.Pattern, found: Alternative) -> Alternatives:
        """A fact that takes something for granted and one that does not are told apart."""
        kind = self.vocabulary.kinds.get(node.fact)
        name = kind.assumption if kind else ""
        if not name or name in node.where:
            return [found]
        (literal,) = found.literals
        alias = literal.alias or "assuming"
        free = self._also(literal, Test("", "none_of", [[[name, "known", True]]]))
        assuming = self._also(literal, Test(name, "known", True))._replace(alias=alias)
        assumed = found._replace(literals=(assuming,), assumed=f"{alias}.{name}")
        return [found._replace(literals=(free,)), assumed]

    def _also(self, literal: Literal, test: Test) -> Literal:
        pattern = self.patterns.of(literal)
        more = pattern._replace(tests=(*pattern.tests, test))
        return literal._replace(pattern=self.patterns.number(more))

    def passing(
        self,
        kind: str,
        tests: Iterable[tuple[str, str, Any]],
        joins: tuple[tuple[str, str], ...] = (),
        alias: str = "",
        at: Path = (),
    ) -> Alternative:
        """The literal that a fact of a kind passes some tests."""
        declared = self.vocabulary.kinds.get(kind)
        if declared is None:
            hint = did_you_mean(kind, self.vocabulary.kinds)
            self._problem("MM230", f"unknown fact kind {kind!r}", at, hint)
            return Alternative()
        ordered = tuple([Test(*test) for test in tests])
        key = declared.key
        pinned = tuple([n for n, t in enumerate(ordered) if t.attribute in key and t.op in _EQUAL])
        fixed = {ordered[n].attribute for n in pinned}.union([name for name, _ in joins])
        contradictable = declared.functional and fixed.issuperset(key)
        number = self.patterns.number(Pattern(kind, ordered, pinned, contradictable))
        return Alternative((Literal("match", number, joins, alias),), (), (at,))

    def _where(self, kind: Kind, where: c.Where, path: Path) -> tuple[Any, Any, Any]:
        tests: list[tuple[str, str, Any]] = []
        joins: list[tuple[str, str]] = []
        guards: list[Guard] = []
        for name, test in where.items():
            attribute = kind.attributes.get(name)
            at = (*path, name)
            if attribute is None:
                self._no_attribute(kind, name, at)
                continue
            for op, operand in pairs(test):
                if (op == "bind" or is_variable(operand)) and op not in VERBATIM:
                    self._check_variable(operand, at)
                if op == "bind" or (op == "eq" and is_variable(operand)):
                    joins.append((name, str(operand)[1:]))
                elif is_variable(operand) and op in ("ne", "lt", "le", "gt", "ge"):
                    variable = f"_{name}{next(self._fresh)}"
                    joins.append((name, variable))
                    ordered = f"version_{op}" if attribute.type == "version" else op
                    guards.append(Guard(variable, ordered, operand[1:]))
                else:
                    tests.append((name, *self._test(attribute, op, operand, at)))
        if kind.polarity and kind.polarity not in where:
            tests.append((kind.polarity, "eq", True))
        return sorted(tests, key=repr), tuple(joins), tuple(guards)

    def _check_variable(self, operand: Any, at: Path) -> None:
        if not VARIABLE.match(str(operand)):
            hint = "write '$name'; a text that starts with '$' goes into 'in: [...]'"
            self._problem("MM232", f"{operand!r} is not a variable", at, hint)

    def _test(self, attribute: Attribute, op: str, operand: Any, at: Path) -> tuple[str, Any]:
        if op not in VERBATIM:
            operand = self.number(operand, at, unit_of(attribute))
        wrong = operand_problem(attribute, op, operand)
        if wrong:
            self._problem("MM232", f"{attribute.name} {op}: {wrong[0]}", at, wrong[1])
        if attribute.type == "version" and op in ("eq", "ne", "lt", "le", "gt", "ge"):
            return f"version_{op}", operand
        return op, operand

    def _parameter(self, operand: Any, at: Path) -> Any:
        if not (isinstance(operand, str) and operand.startswith("@")):
            return operand
        known = getattr(self.item.file, "parameters", {})
        if operand[1:] not in known:
            hint = did_you_mean(operand[1:], known) or "declare it under 'parameters' of the file"
            self._problem("MM233", f"this file has no parameter {operand[1:]!r}", at, hint)
            return 0
        return known[operand[1:]].value

    def number(self, operand: Any, at: Path, unit: str = "") -> Any:
        """A bound in some unit that may be a '@parameter'; None stays None."""
        if isinstance(operand, str) and operand.startswith("@"):
            self.units.setdefault(operand[1:], unit)
        return self._parameter(operand, at)

    def _bound(self, operand: Any, at: Path, unit: str) -> float:
        value = self.number(operand, at, unit)
        if isinstance(value, str) or not math.isfinite(value):
            self._problem("MM232", f"{value!r} is not a bound", at, "a number, or '@parameter'")
            return 0.0
        return float(value)

    def _band(self, node: c.BandHolds, path: Path) -> c.Pattern:
        if node.band not in self.subjects:
            hint = did_you_mean(node.band, self.subjects)
            message = f"unknown classification {node.band!r}"
            self._problem("MM234", message, (*path, "band"), hint)
        labels = [node.label] if isinstance(node.label, str) else node.label
        label = labels[0] if len(labels) == 1 else c.Test.model_validate({"in": labels})
        where: dict[str, Any] = {"classification": node.band, "label": label}
        if node.subject or not self.subjects.get(node.band, True):
            where["subject"] = node.subject or "-"
        return c.Pattern.model_validate({"fact": "classified", "where": where, "as": node.as_})

    def _count(self, node: c.Count, path: Path, positive: bool) -> Alternatives:
        if not positive:
            message = "'not' of a count is never known (more facts may exist)"
            self._problem("MM235", message, path, "use absent, or a series over the values")
        found = self.pattern(node.count, (*path, "count"))
        kind = self.vocabulary.kinds.get(node.count.fact)
        if kind and node.distinct is not None and node.distinct not in kind.attributes:
            self._no_attribute(kind, node.distinct, (*path, "distinct"))
        function = f"distinct:{node.distinct}" if node.distinct else "count"
        return self._aggregate(found, (function, "ge", node.at_least, "", "", 0), path, True)

    def _series(self, node: c.Series, path: Path, positive: bool) -> Alternatives:
        source = node.series
        pattern = c.Pattern.model_validate(
            {"fact": source.fact, "where": source.where, "as": source.as_}
        )
        found = self.pattern(pattern, (*path, "series"))
        kind = self.vocabulary.kinds.get(source.fact)
        numeric = ("number", "integer")
        numbers = {n for n, a in kind.attributes.items() if a.type in numeric} if kind else ()
        for name in (source.value, source.order):
            if kind and name not in numbers:
                self._problem("MM231", f"{source.fact} has no number {name!r}", (*path, "series"))
        unit = statistic_unit(node.stat, kind.attributes.get(source.value) if kind else None)
        bounds = [
            (op, self._bound(getattr(node, op), (*path, op), unit))
            for op in ("lt", "le", "gt", "ge")
            if getattr(node, op) is not None
        ]
        rest = (source.value, source.order, node.min_points)
        each = [
            self._aggregate(found, (node.stat, op, bound, *rest), path, positive)
            for op, bound in bounds
        ]
        return self.product(each, path) if positive else [a for x in each for a in x]

    def _aggregate(
        self, found: Alternative, spec: tuple[Any, ...], path: Path, wanted: bool
    ) -> Alternatives:
        if not found.literals:
            return [found]
        literal = found.literals[0]
        if literal.joins:
            hint = "derive a fact for each binding in a rule of its own, and count those"
            self._problem("MM236", "counts and series cannot use variables", path, hint)
        function, op, bound, *rest = spec
        number = self.patterns.aggregate(
            Aggregate(literal.pattern, function, op, float(bound), *rest)
        )
        counted = Literal("aggregate", number, (), literal.alias, wanted)
        return [found._replace(literals=(counted,))]

    def product(self, parts: list[Alternatives], path: Path) -> Alternatives:
        """The alternatives under which all parts are true."""
        product: Alternatives = [Alternative()]
        for alternatives in parts:
            product = [left.and_(right) for left in product for right in alternatives]
            if len(product) > MAX_ALTERNATIVES:
                most = f"more than {MAX_ALTERNATIVES} alternatives when written out"
                self._problem("MM237", f"the condition has {most}", path, "split the rule")
                return product[:1]
        return product

    def _check_negatable(self, kind: Kind, found: Alternative, path: Path) -> None:
        (literal,) = found.literals
        for name, _ in literal.joins:
            if name not in kind.key or not kind.attributes[name].required:
                message = f"a negated pattern can bind only key attributes, not {name!r}"
                self._problem("MM238", message, path, "bind it in a positive pattern")
        if found.guards:
            message = "a negated pattern cannot compare with a variable"
            self._problem("MM238", message, path, "derive a fact from it, and negate that")
        pattern = self.patterns.of(literal)
        if not pattern.contradictable:
            fixed = {pattern.tests[n].attribute for n in pattern.pinned}
            fixed.update(name for name, _ in literal.joins)
            missing = [name for name in kind.key if name not in fixed]
            why = f"fix {', '.join(missing)}" if kind.functional else "use absent"
            self._problem(
                "MM239", f"'not' of {kind.name} can never be known to be true here", path, why
            )

    def _no_attribute(self, kind: Kind, name: str, at: Path) -> None:
        hint = did_you_mean(name, kind.attributes)
        self._problem("MM231", f"{kind.name} has no attribute {name!r}", at, hint)

    def _problem(self, code: str, message: str, path: Path, hint: str = "") -> None:
        self.problems.append(Problem(code, message, self.item.where(*path), hint))


def _in_mode(found: Alternative, mode: Mode) -> Alternative:
    return found._replace(literals=tuple([x._replace(mode=mode) for x in found.literals]))
