"""A derivation shortened for readers: similar steps once in full, and no repetitions.

Thirty components that fail alike give thirty firings of one rule, and every conclusion from them
would repeat all of these. JSON has every step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...facts.records import NamedTuple
from .view import premise_facts

MAX_ALIKE = 3
"""Steps of one rule that are shown."""
MAX_ALIKE_BELOW = 1
"""The same of what other steps rest on."""
MAX_STEPS = 400
"""Steps of one derivation, at most."""


class Premise(NamedTuple):
    """A condition, the facts that meet it (by name, and how many more), and their derivations."""

    condition: str
    facts: tuple[str, ...]
    more: int
    how: Derivation | None


class Step(NamedTuple):
    """A rule that fired. ``again``: it is shown above with its premises."""

    rule: str
    strength: str
    message: str
    premises: tuple[Premise, ...]
    again: bool = False

    @property
    def words(self) -> str:
        return self.message or f"Rule {self.rule} applies."


class Derivation(NamedTuple):
    """Steps, and the number of those left out, which are similar."""

    steps: tuple[Step, ...]
    more: int = 0


def derivation(how: Sequence[Mapping[str, Any]], known: Mapping[str, str]) -> Derivation:
    """The derivation ``how`` over facts whose texts are ``known`` by name."""
    return _Cut(known).derivation(how, MAX_ALIKE)


class _Cut:
    def __init__(self, known: Mapping[str, str]) -> None:
        self._known = known
        self._told: set[tuple[str, ...]] = set()

    def derivation(self, how: Sequence[Mapping[str, Any]], most: int) -> Derivation:
        alike: dict[str, int] = {}
        steps = []
        for step in how:
            rule = str(step["rule"])
            alike[rule] = alike.get(rule, 0) + 1
            if alike[rule] <= most and len(self._told) < MAX_STEPS:
                steps.append(self._step(rule, step))
        return Derivation(tuple(steps), len(how) - len(steps))

    def _step(self, rule: str, step: Mapping[str, Any]) -> Step:
        message = str(step.get("message") or "")
        strength = str(step.get("strength") or "")
        rests_on = ((p["condition"], *p["facts"]) for p in step["because"])
        name = (rule, message, *(text for texts in rests_on for text in texts))
        again = name in self._told and any(p.get("how") for p in step["because"])
        self._told.add(name)
        premises = () if again else tuple(map(self._premise, step["because"]))
        return Step(rule, strength, message, premises, again)

    def _premise(self, premise: Mapping[str, Any]) -> Premise:
        facts, more = premise_facts(premise, self._known)
        how = self.derivation(premise["how"], MAX_ALIKE_BELOW) if premise.get("how") else None
        return Premise(str(premise["condition"]), tuple(facts), more, how)
