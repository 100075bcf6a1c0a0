"""Evaluates literals on the final working memory, with the facts that decide them.

Explanations, why-not and the plan ask here; inference itself does not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..facts import Fact, Value
from .inference.aggregates import evaluate
from .ir import Literal_, Program, Rule
from .operators import (
    Truth,
    compare,
    compile_contradiction,
    compile_pattern,
    same,
    values_of,
)

MAX_BINDINGS = 2_000

Bindings = Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class Judgement:
    """A literal's truth and the facts that make it so (those that pass, fail or might pass)."""

    literal: Literal_
    truth: Truth
    facts: tuple[Fact, ...]


class Evaluator:
    """Judges literals over a fixed set of facts."""

    def __init__(
        self,
        program: Program,
        defaults: Mapping[str, Mapping[str, Value]],
        facts: Sequence[Fact],
    ) -> None:
        self.program = program
        self._facts: dict[str, list[tuple[Fact, Mapping[str, Value]]]] = {}
        for fact in facts:
            self._facts.setdefault(fact.kind, []).append((fact, values_of(fact, defaults)))

    def judge(self, literal: Literal_, binding: Bindings) -> Judgement:
        """The literal under a binding of (some of) its variables."""
        if literal.mode == "aggregate":
            return self._aggregate(literal)
        passed, possible, refuting = self._sorted_out(literal, binding)
        if literal.mode == "match":
            truth, facts = _first((True, passed), (None, possible), (False, refuting))
        elif literal.mode == "refuted":
            truth, facts = _first((True, refuting), (False, passed))
        elif literal.mode == "unless_possible":
            truth, facts = _first((False, passed), (None, possible))
            truth = True if not facts else truth
        else:
            truth, facts = (False, passed) if passed else (True, [])
        return Judgement(literal, truth, tuple(facts))

    def judge_rule(self, rule: Rule, binding: Bindings) -> tuple[Judgement, ...]:
        """Every literal of a rule under one binding."""
        return tuple(self.judge(literal, binding) for literal in rule.literals)

    def best_bindings(self, rule: Rule) -> Iterator[Bindings]:
        """Bindings of the rule's variables by facts that pass, with gaps where none does."""
        binders = [x for x in rule.literals if x.mode == "match" and x.joins]
        count = 0
        for binding in self._extend(binders, {}):
            if all(
                g.left not in binding
                or g.right not in binding
                or compare(g.op, binding[g.left], binding[g.right]) is True
                for g in rule.guards
            ):
                yield binding
                count += 1
            if count >= MAX_BINDINGS:
                return

    def _extend(self, binders: Sequence[Literal_], binding: Bindings) -> Iterator[Bindings]:
        if not binders:
            yield binding
            return
        found = False
        for _, values in self._facts.get(self.program.patterns[binders[0].pattern].kind, ()):
            passes = compile_pattern(self.program.patterns[binders[0].pattern])
            extended = _unify(binders[0], binding, values) if passes(values) else None
            if extended is not None:
                found = True
                yield from self._extend(binders[1:], extended)
        if not found:
            yield from self._extend(binders[1:], binding)

    def _sorted_out(
        self, literal: Literal_, binding: Bindings
    ) -> tuple[list[Fact], list[Fact], list[Fact]]:
        pattern = self.program.patterns[literal.pattern]
        passes, refutes = compile_pattern(pattern), compile_contradiction(pattern)
        passed: list[Fact] = []
        possible: list[Fact] = []
        refuting: list[Fact] = []
        for fact, values in self._facts.get(pattern.kind, ()):
            if _unify(literal, binding, values) is None:
                continue
            truth = passes(values)
            if truth is True:
                passed.append(fact)
            elif truth is None:
                possible.append(fact)
            elif truth is False and refutes(values):
                refuting.append(fact)
        return passed, possible, refuting

    def _aggregate(self, literal: Literal_) -> Judgement:
        aggregate = self.program.aggregates[literal.pattern]
        pattern = self.program.patterns[aggregate.pattern]
        passes = compile_pattern(pattern)
        matching = [(f, v) for f, v in self._facts.get(pattern.kind, ()) if passes(v) is True]
        truth = evaluate(aggregate, [values for _, values in matching])
        if truth is not None and not literal.wanted:
            truth = not truth
        return Judgement(literal, truth, tuple(fact for fact, _ in matching))


def _first(*choices: tuple[Truth, list[Fact]]) -> tuple[Truth, list[Fact]]:
    """The first choice that has facts; unknown without facts if none has."""
    return next(((truth, facts) for truth, facts in choices if facts), (None, []))


def _unify(literal: Literal_, binding: Bindings, values: Mapping[str, Value]) -> Bindings | None:
    """The binding extended by the literal's joins; unbound variables take the fact's value."""
    extended = dict(binding)
    for attribute, variable in literal.joins:
        value = values.get(attribute)
        if value is None or not same(extended.setdefault(variable, value), value):
            return None
    return extended
