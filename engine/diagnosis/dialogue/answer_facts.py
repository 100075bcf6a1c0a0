"""Turns answers and gathered facts into the facts that the engine sees.

Answers about the same thing become one fact, as a probe would give it. A skipped node of a triage
counts as answered with 'unknown' until the user answers it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ....facts import Fact, Kind
from ..next_step.triage import PASSED_OVER, UNKNOWN, TreeNode, Triage

_ANSWER = "answer"


def united(facts: Sequence[Fact], kinds: Mapping[str, Kind]) -> tuple[Fact, ...]:
    """The facts, each answer joined with what else is said about the same thing."""
    about: dict[object, list[Fact]] = {}
    for fact in facts:
        if kinds[fact.kind].functional:
            about.setdefault(_thing(fact, kinds), []).append(fact)
    return tuple(dict.fromkeys(_joined(fact, about.get(_thing(fact, kinds), ())) for fact in facts))


def with_passed_over(
    facts: Sequence[Fact],
    trees: Mapping[str, Any],
    derive: Callable[[Sequence[Fact]], Iterable[Fact]],
) -> tuple[Fact, ...]:
    """The facts with an 'unknown' for each node before one that an answer or a known fact has
    settled."""
    found = list(facts)
    while True:
        triage = Triage(trees, derive(found))
        ahead = [node for position in triage.positions() for node in triage.ahead(position.node)]
        if not ahead:
            return tuple(found)
        further = Triage(trees, derive([*found, *map(_unknown, ahead)]))
        passed = [_unknown(n) for n in triage.before(further.settled) if _unknown(n) not in found]
        if not passed:
            return tuple(found)
        found.extend(passed)


def _unknown(node: TreeNode) -> Fact:
    values = [("question", node.question), ("value", UNKNOWN)]
    return Fact.from_items("answer", values, (PASSED_OVER,))


def _thing(fact: Fact, kinds: Mapping[str, Kind]) -> object:
    return fact.kind, *(fact.get(name) for name in kinds[fact.kind].key)


def _joined(fact: Fact, others: Sequence[Fact]) -> Fact:
    """An answer with the attributes of the other facts, unless one of them contradicts it."""
    if len(others) < 2 or not any(p.source == _ANSWER for p in fact.provenance):
        return fact
    values = dict(fact.values)
    for other in others:
        if any(values.get(name, value) != value for name, value in other.values):
            continue
        values |= dict(other.values)
    return Fact.from_items(fact.kind, values.items(), fact.provenance)
