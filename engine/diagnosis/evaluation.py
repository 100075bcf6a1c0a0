"""Evaluates literals on the final working memory, with the facts that decide them.

Explanations, why-not and the plan ask here; inference itself does not.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterator, Mapping, Sequence, Set
from itertools import islice
from operator import itemgetter

from ...facts import Fact, Value
from ...facts.records import NamedTuple
from ..inference.aggregates import evaluate
from ..inference.derivation import UNLIMITED, Work
from ..inference.matcher import POSSIBLE, REFUTED, Standings
from ..inference.operators import Truth, compare, identity, same
from ..inference.program import Literal, Program, Rule
from ..inference.rule_index import Signal
from ..inference.working_memory import Token, Values, WorkingMemory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


MAX_BINDINGS = 2_000
MAX_TRIED = 20_000
MAX_FAILING = 20
FEW = 8
"""Fewer facts are looked through sooner than they are looked up."""

Bindings = Mapping[str, Value]
_UNBOUND: Bindings = {}
Stated = tuple[Fact, Values]
_FACT: Callable[[Stated], Fact] = itemgetter(0)


class Judgement(NamedTuple):
    """A literal's truth and the facts that make it so (those that pass, fail or might pass)."""

    literal: Literal
    truth: Truth
    facts: tuple[Fact, ...]


class Evaluator:
    """Judges literals over a fixed set of facts."""

    def __init__(self, program: Program, memory: WorkingMemory, work: Work = UNLIMITED) -> None:
        """Fewer bindings are tried once ``work`` ends."""
        self.program = program
        self.work = work
        self._memory = memory
        self._sorted: dict[Signal, Sequence[Stated]] = {}
        self._of_kind: dict[str, Sequence[tuple[Fact, Values, Standings]]] = {}
        self._by_key: dict[tuple[str, int, object], dict[object, list[Fact]]] = {}
        self._undecided: dict[int, tuple[list[Stated], list[Stated]]] = {}
        self._unbound: dict[tuple[str, int], tuple[Truth, tuple[Fact, ...]]] = {}

    def _bearing_out(self, signal: Signal) -> Sequence[Stated]:
        """The facts behind a signal, in canonical order."""
        found: Any = self._memory.matches.get(signal, ())
        if len(found) < 2:
            return found  # type: ignore[no-any-return]
        known = self._sorted.get(signal)
        if known is None:
            known = self._sorted[signal] = _canonical(found)
        return known

    def supported_rules(
        self, of_interest: Mapping[Signal, Sequence[int]], news: Container[Token]
    ) -> tuple[Mapping[int, int], Set[int]]:
        """For each rule of interest with a positive literal that some fact bears out, how many it
        has; and the rules that rest on news."""
        counts: dict[int, int] = {}
        resting_on_news: set[int] = set()
        for signal, matches in self._memory.matches.items():
            rules = of_interest[signal]
            if not rules:
                continue
            for rule in rules:
                counts[rule] = counts.get(rule, 0) + 1
            for fact, _ in matches:
                if fact in news:
                    resting_on_news.update(rules)
                    break
        return counts, resting_on_news

    def recognising(
        self, rows: Mapping[Signal, Sequence[int]], kinds: Collection[str]
    ) -> list[tuple[Rule, tuple[Fact, ...]]]:
        """The rules of error tables (``rows`` by signal), with the facts of some kinds that their
        rows recognise, whatever else they need."""
        found: list[tuple[Rule, tuple[Fact, ...]]] = []
        for signal, matches in self._memory.matches.items():
            numbers = rows[signal]
            if not numbers or not matches:
                continue
            facts = _of_stated(self._bearing_out(signal))
            if facts[0].kind in kinds:
                found += [(self.program.rules[number], facts) for number in numbers]
        return sorted(found, key=lambda item: item[0].id)

    def judge(self, literal: Literal, binding: Bindings) -> Judgement:
        """The literal under a binding of (some of) its variables."""
        return Judgement(literal, *self.truth(literal, binding))

    def truth(self, literal: Literal, binding: Bindings) -> tuple[Truth, tuple[Fact, ...]]:
        """The same without the literal: its truth, and the facts that make it so."""
        if not literal.joins:
            key = literal[:2]
            return self._unbound.get(key) or self._of_unbound(literal, key)
        mode = literal.mode
        passed = self._agreeing(literal, binding, "match")
        if passed and mode == "match":
            return True, passed
        possible: tuple[Fact, ...] = ()
        refuting: tuple[Fact, ...] = ()
        if mode != "unless_match":
            possible = self._agreeing(literal, binding, "possible")
            refuting = self._agreeing(literal, binding, "refuting")
        return _decided(mode, passed, possible, refuting)

    def _agreeing(self, literal: Literal, binding: Bindings, how: str) -> tuple[Fact, ...]:
        """The facts that match a literal's pattern, possibly pass or refute it, and agree with a
        binding of (some of) its variables."""
        stated = self._stated(literal.pattern, how)
        if not stated:
            return ()
        if len(stated) < FEW or any(variable not in binding for _, variable in literal.joins):
            return tuple(
                [f for f, values in stated if _unify(literal, binding, values) is not None]
            )
        index = self._by_key.get((how, literal.pattern, literal.joins))
        if index is None:
            index = self._by_key[how, literal.pattern, literal.joins] = {}
            for fact, values in stated:
                found: Any = [values.get(attribute) for attribute, _ in literal.joins]
                if None not in found:
                    index.setdefault(tuple(map(identity, found)), []).append(fact)
        key = tuple([identity(binding[variable]) for _, variable in literal.joins])
        return tuple(index.get(key, ()))

    def _stated(self, pattern: int, how: str) -> Sequence[Stated]:
        if how == "match":
            return self._bearing_out((how, pattern))
        return self._standing(pattern)[how == "refuting"]

    def _of_unbound(self, literal: Literal, key: tuple[str, int]) -> tuple[Truth, tuple[Fact, ...]]:
        """Truth and facts of a literal without variables, kept under its mode and pattern."""
        mode, pattern = key
        if mode == "aggregate":
            return self._aggregate(literal)
        passed = _of_stated(self._bearing_out(("match", pattern)))
        if passed and mode == "match":
            known: tuple[Truth, tuple[Fact, ...]] = True, passed
        elif mode == "unless_match":
            known = not passed, passed
        else:
            possible, refuting = self._standing(pattern)
            known = _decided(mode, passed, _of_stated(possible), _of_stated(refuting))
        self._unbound[key] = known
        return known

    def lacking(self, rule: Rule, conditions: Sequence[str]) -> int:
        """How many of the conditions (in words) every way of the rule lacks at least; 0 if none
        can be free of contradiction, lack something, and have as many that rest on facts: quicker
        than its best way, and lenient about conditions with variables."""
        matches = self._memory.matches
        resting, missing, bound = 0, set(), False
        for literal, condition in zip(rule.literals, conditions, strict=True):
            if literal.joins:
                bound = True
                if literal.mode == "match" and ("match", literal.pattern) not in matches:
                    missing.add(condition)
                else:
                    resting += 1
                continue
            truth, facts = self.truth(literal, _UNBOUND)
            if truth is False:
                return 0
            if truth is None:
                missing.add(condition)
            elif facts:
                resting += 1
        lacking = max(len(missing), bound)
        return lacking if lacking <= resting else 0

    def best_bindings(self, rule: Rule) -> Iterator[Bindings]:
        """Bindings of the rule's variables by facts that pass, with gaps where none does. Those
        under which a guard fails come only where it fails under all."""
        binders = [x for x in rule.literals if x.mode == "match" and x.joins]
        if not binders:
            yield {}
            return
        count = 0
        failing: list[Bindings] = []
        for binding in islice(self._extend(binders, {}), MAX_TRIED):
            if not self.failing_guards(rule, binding):
                yield binding
                count += 1
            elif len(failing) < MAX_FAILING:
                failing.append(binding)
            if count >= MAX_BINDINGS:
                return
        if not count:
            yield from failing

    def failing_guards(self, rule: Rule, binding: Bindings) -> list[tuple[str, Truth]]:
        """The left variables of guards that do not pass though both are bound, with their truth."""
        if not rule.guards:
            return []
        bound = [g for g in rule.guards if g.left in binding and g.right in binding]
        judged = [(g.left, compare(g.op, binding[g.left], binding[g.right])) for g in bound]
        return [(variable, truth) for variable, truth in judged if truth is not True]

    def _extend(self, binders: Sequence[Literal], binding: Bindings) -> Iterator[Bindings]:
        if not binders:
            yield binding
            return
        found = False
        for _, values in self._bearing_out(("match", binders[0].pattern)):
            if not self.work.goes_on():
                return
            extended = _unify(binders[0], binding, values)
            if extended is not None:
                found = True
                yield from self._extend(binders[1:], extended)
        if not found:
            yield from self._extend(binders[1:], binding)

    def _standing(self, pattern: int) -> tuple[list[Stated], list[Stated]]:
        """Facts that might pass, and facts that contradict."""
        known = self._undecided.get(pattern)
        if known is None:
            known = self._undecided[pattern] = [], []
            possible, refuting = known
            matcher = self._memory.matcher
            for fact, values, standings in self._facts(self.program.patterns[pattern].kind):
                standing = standings.get(pattern)
                if standing is None:
                    standing = standings[pattern] = matcher.standing(pattern, values)
                if standing == POSSIBLE:
                    possible.append((fact, values))
                elif standing == REFUTED:
                    refuting.append((fact, values))
        return known

    def _facts(self, kind: str) -> Sequence[tuple[Fact, Values, Standings]]:
        known = self._of_kind.get(kind)
        if known is None:
            standings = self._memory.matcher.standings
            stated = _canonical(self._memory.of_kind(kind))
            known = self._of_kind[kind] = [(f, v, standings(f)) for f, v in stated]
        return known

    def _aggregate(self, literal: Literal) -> tuple[Truth, tuple[Fact, ...]]:
        aggregate = self.program.aggregates[literal.pattern]
        matching = self._bearing_out(("match", aggregate.pattern))
        truth = evaluate(aggregate, [values for _, values in matching])
        if truth is not None and not literal.wanted:
            truth = not truth
        return truth, _of_stated(matching)


def _decided(
    mode: str, passed: tuple[Fact, ...], possible: tuple[Fact, ...], refuting: tuple[Fact, ...]
) -> tuple[Truth, tuple[Fact, ...]]:
    """The truth of a literal, and the facts that make it so, by how facts stand to its pattern."""
    if mode == "unless_match":
        return not passed, passed
    if mode == "refuted":
        return (True, refuting) if refuting else (False if passed else None, passed)
    if passed:
        return mode == "match", passed
    if possible:
        return None, possible
    if mode == "unless_possible":
        return True, ()
    return False if refuting else None, refuting


def _of_stated(stated: Sequence[Stated]) -> tuple[Fact, ...]:
    return tuple(map(_FACT, stated)) if stated else ()


def _canonical(known: Sequence[Stated]) -> Sequence[Stated]:
    return known if len(known) < 2 else sorted(known, key=lambda item: item[0].sort_key())


def _unify(literal: Literal, binding: Bindings, values: Mapping[str, Value]) -> Bindings | None:
    """The binding extended by the literal's joins; unbound variables take the fact's value."""
    bound: dict[str, Value] = {}
    for attribute, variable in literal.joins:
        value = values.get(attribute)
        if value is None:
            return None
        known = binding.get(variable)
        if known is None:
            known = bound.setdefault(variable, value)
        if known is not value and not same(known, value):
            return None
    return {**binding, **bound} if bound else binding
