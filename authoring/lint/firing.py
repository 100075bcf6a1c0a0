"""Rules that can never fire, fire over nothing, or fire whatever is found."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from ...engine.compiler.alternatives import Path
from ...engine.compiler.linking import origin
from ...engine.compiler.operands import pairs
from ...engine.compiler.source import conditions as c
from ...engine.compiler.source.knowledge_source import Item
from ...engine.inference.operators import identity
from ...engine.inference.program import Pattern, Rule, Test
from ...facts import Kind, Problem
from ..references import all_parts
from .lint_context import Subject
from .satisfiable import contradiction

_NEVER_HINT = "mend the tests, or remove this part"
_RANGE = re.compile(r"\s*[<>=!~^]|.*[,*]")
_AS_TEXT = ("eq", "ne", "in", "not_in")


def firing_problems(subject: Subject) -> Iterator[Problem]:
    """Rules of all entries that can never fire, or that fire whatever is known. Branches of trees
    that earlier answers exclude: see :mod:`.trees`."""
    derived = _Derived(subject)
    for entry, rules in subject.rules.items():
        item = subject.items[entry]
        groups = [list(group) for _, group in groupby(rules, origin)]
        for group in groups:
            if item.form != "classification":  # see .bands
                yield from _never(subject, item, group, derived)
            yield from _always(subject, item, group)


def _never(
    subject: Subject, item: Item, rules: Sequence[Rule], derived: _Derived
) -> Iterator[Problem]:
    reasons = [_impossible(subject, rule, derived) for rule in rules]
    dead = [reason for reason in reasons if reason]
    all_dead = len(dead) == len(reasons)
    for code, message, at, hint in dict.fromkeys(dead):
        says = "can never fire" if all_dead else "has a part that can never hold"
        yield Problem(code, f"{item.id} {says}: {message}", item.where(*at), hint)


def _impossible(
    subject: Subject, rule: Rule, derived: _Derived
) -> tuple[str, str, Path, str] | None:
    kinds = subject.vocabulary.kinds
    for literal, at in zip(rule.literals, subject.places(rule), strict=True):
        pattern = subject.patterns.of(literal)
        reason = contradiction(kinds[pattern.kind], pattern.tests)
        if reason and literal.mode in ("match", "refuted", "aggregate"):
            # A reason names the attribute first; the place is that of its test.
            return "MM244", reason, (*at, "where", reason.partition(":")[0]), _NEVER_HINT
        # Literals without a place chain the nodes of trees and are not written in the YAML.
        if at and (reason := derived.missing(literal.mode, pattern)):
            return "MM246", reason, at, "derive it in a rule, or remove this part"
    for clash in _clashes(subject, rule):
        return "MM244", *clash, _NEVER_HINT
    return None


def _clashes(subject: Subject, rule: Rule) -> Iterator[tuple[str, Path]]:
    """Literals of one conjunction that exclude each other."""
    every = [
        (literal, subject.patterns.of(literal), at)
        for literal, at in zip(rule.literals, subject.places(rule), strict=True)
    ]
    wanted = [x for x in every if x[0].mode == "match"]
    for block, general, at in every:
        for match, special, _ in wanted if block.mode.startswith("unless") else ():
            if block.joins == match.joins and _covers(general, special):
                yield f"{special.kind} must both match and not match", at
    for number, (literal, left, _) in enumerate(wanted):
        for other, right, at in wanted[number + 1 :]:
            kind = subject.vocabulary.kinds[left.kind]
            if literal.joins or other.joins or not _same_thing(kind, left, right):
                continue
            if reason := contradiction(kind, _merged(left, right)):
                yield f"one {left.kind} cannot pass both patterns ({reason})", at


def _covers(general: Pattern, special: Pattern) -> bool:
    """Whether every fact that passes ``special`` passes ``general``."""
    tests = set(map(repr, special.tests))
    return general.kind == special.kind and all(repr(test) in tests for test in general.tests)


def _same_thing(kind: Kind, left: Pattern, right: Pattern) -> bool:
    """Whether both patterns are about one fact, since their tests fix the same key."""
    if left.kind != right.kind or not kind.functional:
        return False
    return _key(kind, left) == _key(kind, right) and len(_key(kind, left)) == len(kind.key)


def _merged(left: Pattern, right: Pattern) -> list[Test]:
    return list({repr(test): test for test in (*left.tests, *right.tests)}.values())


def _key(kind: Kind, pattern: Pattern) -> dict[str, Any]:
    return {n: identity(x) for n, op, x in pattern.tests if n in kind.key and op == "eq"}


def _always(subject: Subject, item: Item, rules: Sequence[Rule]) -> Iterator[Problem]:
    """Alternatives that need nothing to be known, and pairs that hold either way."""
    for rule in rules:
        if rule.literals and all(x.mode.startswith("unless") for x in rule.literals):
            yield Problem(
                "MM245",
                f"{item.id} fires over no facts at all: it only looks for what is absent",
                item.where(*subject.places(rule)[0]),
                "add a condition on something that was found",
            )
    alone = [
        subject.patterns.of(rule.literals[0])
        for rule in rules
        if [x.mode for x in rule.literals] == ["match"]
    ]
    for rule in rules:
        if sorted(x.mode for x in rule.literals) != ["refuted", "unless_possible"]:
            continue
        negated = subject.patterns.of(rule.literals[0])
        for pattern in alone:
            if pattern[:2] == negated[:2]:
                yield Problem(
                    "MM245",
                    f"{item.id} fires whether the {pattern.kind} passes or not",
                    item.where(*subject.places(rule)[0]),
                    "keep one of the two sides",
                )


class _Derived:
    """The facts that rules derive, by kind: to find conditions that no rule can satisfy."""

    def __init__(self, subject: Subject) -> None:
        self._kinds = subject.vocabulary.kinds
        self._effects: dict[str, dict[tuple[tuple[str, Any], ...], None]] = defaultdict(dict)
        for rule in subject.built.rules:
            for kind, values, _ in rule.conclusions:
                self._effects[kind][values] = None
        self._answers: dict[tuple[Any, ...], str] = {}

    def missing(self, mode: str, pattern: Pattern) -> str:
        """Why a literal can never be true, if it waits for a fact that no rule derives."""
        if not self._kinds[pattern.kind].derived or mode not in ("match", "refuted"):
            return ""
        key = (mode, pattern.kind, repr(pattern.tests))
        if key not in self._answers:
            self._answers[key] = self._missing(mode, pattern)
        return self._answers[key]

    def _missing(self, mode: str, pattern: Pattern) -> str:
        if any(self._fits(mode, pattern, dict(values)) for values in self._effects[pattern.kind]):
            return ""
        tested = ", ".join(f"{n} {op} {x}" for n, op, x in pattern.tests if n)
        says = "contradicts" if mode == "refuted" else "derives"
        return f"no rule {says} a {pattern.kind} with {tested or 'anything'}"

    def _fits(self, mode: str, pattern: Pattern, values: dict[str, Any]) -> bool:
        kind, tests = self._kinds[pattern.kind], pattern.tests
        passed = [self._passes(kind, test, values) for test in tests]
        if mode == "match":
            return all(passed)
        keyed = [ok for test, ok in zip(tests, passed, strict=True) if test.attribute in kind.key]
        others = [test for test in tests if test.attribute not in kind.key]
        return all(keyed) and any(self._fails(kind, test, values) for test in others)

    def _passes(self, kind: Kind, test: Test, values: dict[str, Any]) -> bool:
        name, op, operand = test
        value = self._value(kind, name, values)
        if value is None or isinstance(value, tuple):
            return isinstance(value, tuple)  # a variable may take any value
        return _holds(op, value, operand)

    def _fails(self, kind: Kind, test: Test, values: dict[str, Any]) -> bool:
        name, op, operand = test
        value = self._value(kind, name, values)
        return isinstance(value, tuple) or (value is not None and not _holds(op, value, operand))

    @staticmethod
    def _value(kind: Kind, name: str, values: dict[str, Any]) -> Any:
        default = kind.attributes[name].default if name in kind.attributes else None
        return values.get(name, default)


def _holds(op: str, value: Any, operand: Any) -> bool:
    if op == "eq":
        return identity(value) == identity(operand)
    if op == "in":
        return identity(value) in {identity(x) for x in operand}
    return True


def version_problems(subject: Subject) -> Iterator[Problem]:
    """Tests that compare a version with the text of a range: no fact ever has it."""
    for item in subject.source.items:
        for path, node in all_parts(item):
            tests = _tests(node)
            kind = subject.vocabulary.kinds.get(tests[0]) if tests else None
            for name, test in tests[1].items() if tests and kind else ():
                attribute = kind.attributes.get(name) if kind else None
                if attribute is None or attribute.type != "version":
                    continue
                for op, operand in pairs(test):
                    for text in operand if isinstance(operand, list) else [operand]:
                        if op in _AS_TEXT and isinstance(text, str) and _RANGE.match(text):
                            at: Path = (*path, *_inside(node), "where", name)
                            message = f"{item.id}: {text!r} is a range, but compared as a name"
                            hint = (
                                'write \'affected: [{introduced: "0.5", fixed: "0.8"}]\', or lt,'
                                " le, gt and ge"
                            )
                            yield Problem("MM295", message, item.where(*at), hint)


def _tests(node: object) -> tuple[str, c.Where] | None:
    if isinstance(node, c.Series):
        return node.series.fact, node.series.where
    return (node.fact, node.where) if isinstance(node, c.Pattern) else None


def _inside(node: object) -> tuple[str, ...]:
    return ("series",) if isinstance(node, c.Series) else ()
