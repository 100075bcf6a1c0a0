"""Finds the point where two traces part."""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import NamedTuple

from .alignment import Aligned


class Frontier(NamedTuple):
    """Quantities that the other model does not have although it has all of their inputs, earliest
    first, and the unknown ones (``region``) between them and the outputs."""

    at: Sequence[int]
    region: Set[int]


def frontier(found: Aligned, outputs: Sequence[int]) -> Frontier:
    """The frontier behind ``outputs``; empty if all of them are known. Those that
    also lead to a known quantity come last: probably another way of computing that."""
    todo = [each for each in outputs if not found.known(each)]
    region: set[int] = set()
    ends: list[int] = []
    while todo:
        at = todo.pop()
        if at in region:
            continue
        region.add(at)
        unknown = [each for each in found.quantity(at).inputs if not found.known(each)]
        todo += unknown
        if not unknown:
            ends.append(at)
    harmless = _harmless(found)
    first = _first_uses(found, region)
    return Frontier(sorted(ends, key=lambda at: (at in harmless, first.get(at, at), at)), region)


def _harmless(found: Aligned) -> Set[int]:
    """Unknown quantities that known ones are computed from."""
    vindicated: set[int] = set()
    for at in range(len(found.twins) - 1, -1, -1):
        twin = found.twins[at]
        if at in vindicated or (twin is not None and twin >= 0):
            vindicated |= {each for each in found.quantity(at).inputs if not found.known(each)}
    return vindicated


def _first_uses(found: Aligned, region: Set[int]) -> dict[int, int]:
    """For each given quantity of a region, its first use there: a table that another layer shares
    is not earlier than the operation that needs it."""
    uses: dict[int, int] = {}
    for at in sorted(region):
        for each in found.quantity(at).inputs:
            if found.quantity(each).given:
                uses.setdefault(each, at)
    return uses
