"""HOW: which rules, tests and facts a conclusion follows from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from itertools import chain

from ...facts import Fact, Value
from ...facts.records import NamedTuple, cached_property
from ..inference.derivation import Derivation, Firing
from ..inference.program import Literal, Repair, Rule
from . import wording
from .rule_constants import RuleConstants

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


MAX_FACTS_SHOWN = 8
Key = tuple[int, tuple[Value, ...]]
"""A firing without its premises: rule and binding."""

_STRENGTHS = ("decisive", "strong", "weak", "hint", "lead")


class Premise(NamedTuple):
    """A literal of a rule that fired, and the facts that bear it out."""

    literal: Literal
    facts: tuple[Fact, ...]


class Step(NamedTuple):
    """One firing: the rule, what each condition rests on, and what it says."""

    rule: Rule
    firing: Firing
    message: str
    strength: str
    repair: Repair | None = None

    @property
    def premises(self) -> tuple[Premise, ...]:
        """The evidence of each condition."""
        return tuple(map(Premise, self.rule.literals, self.firing.premises))

    @property
    def facts(self) -> tuple[Fact, ...]:
        """The facts that the firing rests on, each once."""
        premises = self.firing.premises
        if len(premises) == 1:
            return premises[0]
        return tuple(dict.fromkeys([fact for facts in premises for fact in facts]))


class Explanations:
    """Derivations of one result. Fact ids (``f1``, derived ``d1``) are stable for equal inputs."""

    def __init__(
        self,
        constants: RuleConstants,
        derivation: Derivation,
        given: Iterable[Fact] = (),
    ) -> None:
        """``given`` facts count as such even where a rule concludes them too."""
        self._constants = constants
        self._program = constants.program
        self._derivation = derivation
        self._given = given
        self._steps: dict[Key, Step] = {}
        self._towards: dict[Fact, Sequence[Step]] = {}
        self._depths: dict[Key, int] = {}

    @cached_property
    def _by_fact(self) -> Mapping[Fact, Sequence[Firing]]:
        """The firings that conclude each fact."""
        found: dict[Fact, list[Firing]] = {}
        for firing in self._derivation.firings:
            for fact in self._constants.concluded(firing):
                found.setdefault(fact, []).append(firing)
        return found

    @cached_property
    def _derived(self) -> Set[Fact]:
        return self._by_fact.keys() - self._given

    @cached_property
    def ids(self) -> Mapping[Fact, str]:
        """The id of each fact, in order."""
        derived, ids, concluded = self._derived, {}, 0
        for number, fact in enumerate(self._derivation.facts, 1):
            if fact in derived:
                concluded += 1
                ids[fact] = f"d{concluded}"
            else:
                ids[fact] = f"f{number - concluded}"
        return ids

    @property
    def listed(self) -> tuple[tuple[str, Fact, bool], ...]:
        """All facts in order: the id of each, and whether it is derived."""
        return tuple([(name, fact, name[0] == "d") for fact, name in self.ids.items()])

    def is_derived(self, fact: Fact) -> bool:
        """Whether a rule concluded the fact and it was not given."""
        return fact in self._derived

    def steps(self, fact: Fact) -> Sequence[Step]:
        """Every firing that concludes the fact: strong ones first, then well-founded and shallow
        ones."""
        known = self._towards.get(fact)
        if known is None:
            steps = [self._step_towards(fact, firing) for firing in self._by_fact.get(fact, ())]
            known = sorted(steps, key=self._rank) if len(steps) > 1 else steps
            self._towards[fact] = known
        return known

    def _step_towards(self, fact: Fact, firing: Firing) -> Step:
        """The firing, with the strength that it gives to this one of its conclusions."""
        step = self.step(firing)
        conclusions = step.rule.conclusions
        if len(conclusions) == 1:
            return step
        facts = self._constants.concluded(firing)
        found = {c.strength for c, f in zip(conclusions, facts, strict=True) if f == fact}
        strength = next((s for s in _STRENGTHS if s in found), "")
        return step if strength == step.strength else step._replace(strength=strength)

    def _rank(self, step: Step) -> tuple[int, int, int, float]:
        """Firings of one rule go by the place of their facts in the model, if that is known."""
        strength = _STRENGTHS.index(step.strength) if step.strength in _STRENGTHS else 0
        facts = (fact for premise in step.firing.premises for fact in premise)
        places = [at for fact in facts if isinstance(at := fact.get("index"), int)]
        return strength, self._depth(step.firing), step.firing.rule, min(places, default=0)

    def step(self, firing: Firing) -> Step:
        """The firing with its evidence."""
        key = firing[:2]
        known = self._steps.get(key)
        if known is None:
            rule = self._program.rules[firing.rule]
            strength = next((c.strength for c in rule.conclusions if c.strength), "")
            said, repair = wording.message(self._program, rule, firing, self._observed)
            known = self._steps[key] = Step(rule, firing, said, strength, repair)
        return known

    def _observed(self, fact: Fact) -> Fact:
        """The classified fact if the fact is a classification; else the fact itself."""
        for firing in self._by_fact.get(fact, ()) if fact.kind == "classified" else ():
            if firing.premises and firing.premises[0]:
                return firing.premises[0][0]
        return fact

    def all_steps(self, form: str = "") -> list[Step]:
        """Every firing of rules, or of those of one form, in canonical order."""
        rules, firings = self._program.rules, self._derivation.firings
        return [self.step(f) for f in firings if not form or rules[f.rule].form == form]

    def how(self, fact: Fact, depth: int = 6) -> list[dict[str, Any]]:
        """The derivation of a fact as nested plain data; derived premises are unfolded once."""
        return self._how(fact, depth, frozenset())

    def unfolded(self, fact: Fact) -> dict[str, Any]:
        """The derivation, and for each of its steps what it says, apart, if it names a repair."""
        said: list[tuple[str, Repair] | None] = []
        for step in _one_per_entry(self.steps(fact)):
            said.append((step.message, step.repair) if step.repair else None)
        return {"how": self.how(fact), "repairs": said if any(said) else []}

    def _how(self, fact: Fact, depth: int, above: frozenset[Fact]) -> list[dict[str, Any]]:
        if depth == 0 or fact in above:
            return []
        unfolded = []
        beneath = above | {fact}
        for step in _one_per_entry(self.steps(fact)):
            rule = step.rule
            conditions = self._constants.conditions(rule)
            because = [
                self._premise(condition, facts, depth, beneath)
                for condition, facts, literal in zip(
                    conditions, step.firing.premises, rule.literals, strict=True
                )
                if facts or literal.mode != "refuted"
            ]
            plain: dict[str, Any] = {"rule": rule.entry, "because": _merge(because)}
            if step.strength:
                plain["strength"] = step.strength
            if message := wording.whole(step.message, step.repair):
                plain["message"] = message
            unfolded.append(plain)
        return unfolded

    def _premise(
        self, condition: str, facts: Sequence[Fact], depth: int, above: frozenset[Fact]
    ) -> dict[str, Any]:
        ids, derived = self.ids, self._derived
        plain: dict[str, Any] = {
            "condition": condition,
            "facts": list(map(ids.__getitem__, facts[:MAX_FACTS_SHOWN])),
        }
        inner: list[dict[str, Any]] = []
        for fact in [fact for fact in facts if fact in derived][:3]:
            inner += self._how(fact, depth - 1, above)
        if inner:
            plain["how"] = inner
        return plain

    def _depth(self, firing: Firing) -> int:
        """The height of a firing's shallowest derivation; given facts have height 0."""
        if self._derived.isdisjoint(chain.from_iterable(firing.premises)):
            return 1
        if self._height(firing, {}) == 1:
            return 1  # saves to look at others
        if firing[:2] not in self._depths:
            self._depths |= self._depths_below(firing)
        return self._depths[firing[:2]]

    def _depths_below(self, top: Firing) -> dict[Key, int]:
        """The depth of a firing and of all that it may rest on."""
        height: dict[Fact, int] = {}
        depth: dict[Key, int] = {}
        beneath = self._beneath(top)
        changed = True
        while changed:
            changed = False
            for firing in beneath:
                found = self._height(firing, height)
                if found is None or found >= depth.get(firing[:2], found + 1):
                    continue
                depth[firing[:2]] = found
                changed = True
                for fact in self._constants.concluded(firing):
                    height[fact] = min(height.get(fact, found), found)
        none = len(self._derivation.firings) + 1
        return {firing[:2]: depth.get(firing[:2], none) for firing in beneath}

    def _beneath(self, top: Firing) -> Sequence[Firing]:
        """A firing with those that conclude its premises, those of theirs and so on."""
        found = {top[:2]}
        queue = [top]
        for firing in queue:  # grows while it is walked
            for fact in (fact for facts in firing.premises for fact in facts):
                for other in self._by_fact.get(fact, ()) if fact in self._derived else ():
                    if other[:2] not in found:
                        found.add(other[:2])
                        queue.append(other)
        queue.reverse()  # premises first
        return queue

    def _height(self, firing: Firing, height: Mapping[Fact, int]) -> int | None:
        tallest = 0
        literals = self._program.rules[firing.rule].literals
        for literal, facts in zip(literals, firing.premises, strict=True):
            if literal.mode != "match":
                continue
            derived, lowest = self._derived, None
            for fact in facts:
                found = height.get(fact) if fact in derived else 0
                if found is not None and (lowest is None or found < lowest):
                    lowest = found
            if lowest is None:
                return None
            tallest = max(tallest, lowest)
        return tallest + 1


def _one_per_entry(steps: Sequence[Step]) -> Sequence[Step]:
    """The first firing of each entry that says the same, and of those that have the same binding:
    alternatives of one condition are one reason, told by one that names what was found."""
    if len(steps) < 2:
        return steps
    kept: dict[tuple[object, ...], int] = {}
    found: list[Step] = []
    for step in steps:
        clause = step.rule.id.partition("#")[0]
        about = (clause, step.firing.binding), (step.rule.entry, step.message, step.repair)
        place = kept.get(about[0], kept.get(about[1], len(found)))
        for key in about:
            kept.setdefault(key, place)
        if place == len(found):
            found.append(step)
        elif wording.telling(step.rule) and not wording.telling(found[place].rule):
            found[place] = step
    return found


def _merge(premises: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """'not X' is a refutation and a blocker; they are one condition for people."""
    if len(premises) < 2:
        return premises
    merged: dict[str, dict[str, Any]] = {}
    for premise in premises:
        known = merged.setdefault(premise["condition"], premise)
        if known is not premise and premise["facts"]:
            known["facts"] = [*dict.fromkeys([*known["facts"], *premise["facts"]])]
    return list(merged.values())
