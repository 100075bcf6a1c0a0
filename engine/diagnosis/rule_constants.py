"""Values that do not depend on the facts: words of conditions, constant conclusions, prospects.
They are computed when first needed and kept, because the number of rules, conditions and kinds is
bounded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

from ...facts import Fact
from ...facts.records import NamedTuple
from ..compiler.knowledge_base import KnowledgeBase
from ..inference.derivation import Firing, concluded
from ..inference.program import Guard, Literal, Program, Rule
from ..inference.rule_index import Lookup, Signal, goal
from . import wording

ROW_ALIASES = {"m": "error_message", "r": "http_response"}
"""The alias in the rule of a row for the recognised fact."""
ERRORS = frozenset(ROW_ALIASES.values())
"""The kinds of fact that report an error."""


class Prospects(NamedTuple):
    """The diagnoses that a rule concludes, how many signals it waits for, whether it counts."""

    names: tuple[str, ...]
    waits: int
    counts: bool


class RuleConstants:
    """Threads may share it: what two of them work out at once is the same."""

    def __init__(self, program: Program, intern: Callable[[Fact], Fact]) -> None:
        """``intern`` makes equal facts one object, so that they are compared in no time."""
        self.program = program
        self._intern = intern
        self._conditions: dict[tuple[Literal, Sequence[Guard]], str] = {}
        self._of_rule: dict[str, tuple[str, ...]] = {}
        self._concluded: dict[int, tuple[Fact, ...] | None] = {}
        self.prospects = Lookup(self._prospects_of)
        """For each rule that is not a triage what it could conclude, if it had all it needs."""
        self.rows = Lookup(self._rows)
        """For each signal the rules of error tables whose row recognises what bears it out."""
        self.goals = Lookup(self._goal)
        """For each pattern what would have to be concluded for a fact that matches it."""
        self.with_prospects = Lookup(self._with_prospects)
        """For each signal the rules that wait for it and could conclude a diagnosis."""

    def condition(self, literal: Literal, guards: Sequence[Guard]) -> str:
        """A condition of a rule in words."""
        known = self._conditions.get((literal, guards))
        if known is None:
            known = wording.condition(self.program, literal, guards)
            self._conditions[literal, guards] = known
        return known

    def conditions(self, rule: Rule) -> tuple[str, ...]:
        """The conditions of a rule in words, in their order."""
        known = self._of_rule.get(rule.id)
        if known is None:
            known = tuple([self.condition(literal, rule.guards) for literal in rule.literals])
            self._of_rule[rule.id] = known
        return known

    def _prospects_of(self, number: int) -> Prospects:
        rule = self.program.rules[number]
        names = [
            str(value)
            for c in rule.conclusions
            for name, value in c.values
            if name == "name" and c.kind == "diagnosis" and c.strength and rule.form != "tree"
        ]
        counts = any(literal.mode == "aggregate" for literal in rule.literals)
        return Prospects(tuple(names), len(rule.waits), counts)

    def _with_prospects(self, signal: Signal) -> Sequence[int]:
        found: list[int] = []
        if signal[0] != "unless_possible":
            for number in self.program.network.uses[signal]:
                found += [number] if self.prospects[number].names else ()
        return found

    def _rows(self, signal: Signal) -> Sequence[int]:
        mode, pattern = signal
        if mode != "match" or self.program.patterns[pattern].kind not in ERRORS:
            return ()
        numbers = self.program.network.uses[signal]
        return tuple([n for n in numbers if _is_of_row(self.program.rules[n], pattern)])

    def _goal(self, pattern: int) -> str:
        kind, tests, *_ = self.program.patterns[pattern]
        return goal(kind, {t.attribute: t.operand for t in tests if t.op == "eq"})

    def concluded(self, firing: Firing) -> tuple[Fact, ...]:
        """The facts that a firing derives."""
        number = firing.rule
        if number not in self._concluded:
            rule = self.program.rules[number]
            constant = not any(isinstance(v, tuple) for c in rule.conclusions for _, v in c.values)
            self._concluded[number] = (
                tuple(map(self._intern, concluded(rule, firing.binding))) if constant else None
            )
        known = self._concluded[number]
        if known is None:
            known = tuple(concluded(self.program.rules[number], firing.binding))
        return known


def _is_of_row(rule: Rule, pattern: int) -> bool:
    """Whether a pattern is that by which the row of a rule recognises a message or an answer."""
    return rule.form == "error" and any(
        x.mode == "match" and x.pattern == pattern and x.alias in ROW_ALIASES for x in rule.literals
    )


POSITION = ("tree_node", "answer", "symptom")
"""Kinds that record progress (triage, stages), not the state of the case."""
_MOST = 4096


class Outlook:
    """Diagnoses and kinds of one knowledge base, as hypotheses see them. Threads may share it."""

    def __init__(self, base: KnowledgeBase) -> None:
        self._base = base
        self.summary = lru_cache(_MOST)(base.summary)
        self.points = lru_cache(_MOST)(self._points)

    def _points(self, kind: str) -> bool:
        """Whether facts of a kind are observations that point somewhere."""
        known = self._base.vocabulary.kinds.get(kind)
        return known is not None and not (known.context or known.derived or kind in POSITION)
