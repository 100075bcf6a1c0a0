"""HOW: which rules, tests and facts a conclusion follows from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..facts import Fact
from ..facts.lazy import cached_property
from ..facts.records import NamedTuple
from . import wording
from .evaluation import Evaluator, Judgement
from .inference.derivation import Derivation, Firing, concluded
from .ir import Program, Rule

MAX_FACTS_SHOWN = 8
_STRENGTHS = ("decisive", "strong", "weak")


class Step(NamedTuple):
    """One firing: the rule, what each condition rests on, and what it says."""

    rule: Rule
    firing: Firing
    judgements: tuple[Judgement, ...]
    message: str
    strength: str

    @property
    def facts(self) -> tuple[Fact, ...]:
        """The facts that the firing rests on, each once."""
        return tuple(dict.fromkeys(fact for j in self.judgements for fact in j.facts))


class Explanations:
    """Derivations of one result. Fact ids (``f1``, derived ``d1``) are stable for equal inputs."""

    def __init__(
        self,
        program: Program,
        derivation: Derivation,
        evaluator: Evaluator,
        given: Iterable[Fact] = (),
    ) -> None:
        """``given`` facts count as such even where a rule concludes them too."""
        self._given = frozenset(given)
        self._program = program
        self._evaluator = evaluator
        self._firings = derivation.firings
        self._by_fact: dict[Fact, list[Firing]] = {}
        self._concluded: dict[Firing, tuple[Fact, ...]] = {}
        for firing in derivation.firings:
            facts = tuple(concluded(program.rules[firing.rule], firing.binding))
            self._concluded[firing] = facts
            for fact in facts:
                self._by_fact.setdefault(fact, []).append(firing)
        known = [f for f in derivation.facts if not self.is_derived(f)]
        derived = [f for f in derivation.facts if self.is_derived(f)]
        self.ids: Mapping[Fact, str] = {
            **{fact: f"f{n}" for n, fact in enumerate(known, 1)},
            **{fact: f"d{n}" for n, fact in enumerate(derived, 1)},
        }
        self._steps: dict[Firing, Step] = {}

    def is_derived(self, fact: Fact) -> bool:
        """Whether some rule concluded the fact, and nobody gave it."""
        return fact in self._by_fact and fact not in self._given

    def steps(self, fact: Fact) -> list[Step]:
        """Every firing that concludes the fact: strong ones first, then well-founded and shallow
        ones."""
        steps = [self._towards(fact, firing) for firing in self._by_fact.get(fact, ())]
        return sorted(steps, key=self._rank) if len(steps) > 1 else steps

    def _towards(self, fact: Fact, firing: Firing) -> Step:
        """The firing, with the strength that it gives to this one of its conclusions."""
        step = self.step(firing)
        facts = self._concluded[firing]
        if len(facts) == 1:
            return step
        found = {c.strength for c, f in zip(step.rule.conclusions, facts, strict=True) if f == fact}
        return step._replace(strength=next((s for s in _STRENGTHS if s in found), ""))

    def _rank(self, step: Step) -> tuple[int, int, int]:
        strength = _STRENGTHS.index(step.strength) if step.strength in _STRENGTHS else 0
        return strength, self._depth[step.firing], step.firing.rule

    def step(self, firing: Firing) -> Step:
        """The firing with its evidence."""
        if firing not in self._steps:
            rule = self._program.rules[firing.rule]
            binding = dict(zip(rule.variables, firing.binding, strict=True))
            judgements = self._evaluator.judge_rule(rule, binding)
            aliases = {
                j.literal.alias: j.facts[0] for j in judgements if j.literal.alias and j.facts
            }
            strength = next((c.strength for c in rule.conclusions if c.strength), "")
            message = wording.fill(rule.message, aliases)
            self._steps[firing] = Step(rule, firing, judgements, message, strength)
        return self._steps[firing]

    def all_steps(self) -> list[Step]:
        """Every firing, in canonical order."""
        return [self.step(firing) for firing in self._firings]

    def how(self, fact: Fact, depth: int = 6) -> list[dict[str, Any]]:
        """The derivation of a fact as nested plain data; derived premises are unfolded once."""
        return self._how(fact, depth, frozenset())

    def _how(self, fact: Fact, depth: int, above: frozenset[Fact]) -> list[dict[str, Any]]:
        if depth == 0 or fact in above:
            return []
        unfolded = []
        for step in _one_per_entry(self.steps(fact)):
            because = [
                self._premise(j, step.rule, depth, above | {fact})
                for j in step.judgements
                if j.literal.mode != "refuted" or j.facts
            ]
            plain: dict[str, Any] = {"rule": step.rule.entry, "because": _merge(because)}
            if step.strength:
                plain["strength"] = step.strength
            if step.message:
                plain["message"] = step.message
            unfolded.append(plain)
        return unfolded

    def _premise(
        self, judgement: Judgement, rule: Rule, depth: int, above: frozenset[Fact]
    ) -> dict[str, Any]:
        plain: dict[str, Any] = {
            "condition": wording.condition(self._program, judgement.literal, rule.guards),
            "facts": [self.ids[fact] for fact in judgement.facts[:MAX_FACTS_SHOWN]],
        }
        derived = [f for f in judgement.facts if self.is_derived(f)]
        inner = [step for fact in derived[:3] for step in self._how(fact, depth - 1, above)]
        return plain | ({"how": inner} if inner else {})

    @cached_property
    def _depth(self) -> Mapping[Firing, int]:
        """The height of each firing's shallowest derivation; given facts have height 0."""
        height: dict[Fact, int] = {}
        depth: dict[Firing, int] = {}
        changed = True
        while changed:
            changed = False
            for firing in self._firings:
                found = self._height(firing, height)
                if found is None or found >= depth.get(firing, found + 1):
                    continue
                depth[firing] = found
                changed = True
                for fact in self._concluded[firing]:
                    height[fact] = min(height.get(fact, found), found)
        return {firing: depth.get(firing, len(self._firings) + 1) for firing in self._firings}

    def _height(self, firing: Firing, height: Mapping[Fact, int]) -> int | None:
        tallest = 0
        for judgement in self.step(firing).judgements:
            if judgement.literal.mode != "match":
                continue
            options = [0 if not self.is_derived(f) else height.get(f) for f in judgement.facts]
            known = [h for h in options if h is not None]
            if not known:
                return None
            tallest = max(tallest, min(known))
        return tallest + 1


def _one_per_entry(steps: Iterable[Step]) -> Sequence[Step]:
    """The first firing of each entry: alternatives of one entry are one reason."""
    first: dict[tuple[str, str], Step] = {}
    for step in steps:
        first.setdefault((step.rule.entry, step.message), step)
    return list(first.values())


def _merge(premises: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """'not X' is a refutation and a blocker; they are one condition for people."""
    merged: dict[str, dict[str, Any]] = {}
    for premise in premises:
        known = merged.setdefault(premise["condition"], premise)
        if known is not premise and premise["facts"]:
            known["facts"] = [*dict.fromkeys([*known["facts"], *premise["facts"]])]
    return list(merged.values())
