"""The steps that would decide a consultation that ends without a cause."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ....facts import Fact
from ..diagnoser import Diagnoser
from ..next_step.plan import Option, with_targets
from ..next_step.triage import UNKNOWN, Triage
from ..report import NextStep
from .separation import first_that_matters

MOST_DECIDING = 2


def deciding(doctor: Diagnoser, facts: Sequence[Fact]) -> tuple[NextStep, ...]:
    """The steps that would settle most for their cost, whether or not they were asked before; the
    second bears on what the first leaves open, where there is such a step.

    ``facts`` leaves out what was answered with "I do not know".
    """
    left = list(doctor.consult(facts).planner(alone=()).options)
    found: list[Option] = []
    while left and len(found) < MOST_DECIDING:
        chosen = first_that_matters(_newest(left, found), doctor, facts)
        if chosen is None:
            break
        found.append(chosen.option)
        left = [option for option in left if option.step.id != chosen.option.step.id]
    return tuple(map(with_targets, found))


def undecided(trees: Mapping[str, Any], facts: Sequence[Fact]) -> Iterator[str]:
    """The steps that would decide the triages that ended because an answer was not known."""
    for tree, node in Triage(trees, facts).unknown():
        if said := trees[tree]["nodes"][node]["branches"][UNKNOWN]["undecided"]:
            yield str(said)


def _newest(options: Sequence[Option], taken: Sequence[Option]) -> list[Option]:
    """First those that bear on something else than the steps taken."""
    covered = {way.id for option in taken for way in option.ways}
    return sorted(options, key=lambda option: {way.id for way in option.ways} <= covered)
