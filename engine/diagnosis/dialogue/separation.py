"""The first step of a plan that can change the outcome."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ....facts import Fact
from ..diagnoser import Diagnoser
from ..next_step.hypotheses import Open
from ..next_step.plan import Option
from ..what_if import Assumed, WhatIf, satisfying_fact

_MOST_WAYS = 6


class Chosen(NamedTuple):
    """An option, and the answers under which its own one changes the outcome (empty if no
    example could be made up)."""

    option: Option
    example: tuple[Fact, ...]


def first_that_matters(
    options: Sequence[Option], doctor: Diagnoser, facts: Sequence[Fact]
) -> Chosen | None:
    """The first option whose answer can change the outcome; None if there is none."""
    what_if = WhatIf(doctor.base.program, doctor.base.vocabulary.kinds, doctor.backend, facts)
    for option in options:
        example = _example(option, doctor, what_if)
        if example is not None:
            return Chosen(option, example)
    return None


def _example(option: Option, doctor: Diagnoser, what_if: WhatIf) -> tuple[Fact, ...] | None:
    for way in option.ways[:_MOST_WAYS]:
        assumed = tuple(assumptions(way, doctor))
        known = [a for a in assumed if a is not None]
        if len(known) < len(assumed):
            return ()  # nothing forbids asking
        if what_if.matters(option.step, known):
            return tuple(a.fact for a in known)
    return None


def assumptions(way: Open, doctor: Diagnoser) -> Iterator[Assumed | None]:
    """Answers that would close every gap of a way; None if none can be made up."""
    gathering = doctor.gathering
    if way.leaf is not None:
        needed = set(way.leaf.needs)
        for node, answer in way.leaf.answers:
            fact = Fact.of("answer", (), question=node.question, value=answer)
            steps = gathering.of_node(*node) if node in needed else ()
            yield Assumed(fact, frozenset(step.id for step in steps))
    for gap in way.gaps:
        found = satisfying_fact(gap.literal, doctor.base.program, doctor.base.vocabulary.kinds)
        steps = gathering.of_literal(gap.literal)
        yield Assumed(found, frozenset(s.id for s in steps)) if found else None
