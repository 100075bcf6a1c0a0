"""Finds the point where two traces part."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence, Set
from typing import NamedTuple

from .alignment import Aligned
from .quantity import Quantity

SUM_TOLERANCE = 2e-5
"""Share of the sum of random numbers: rounding of products in FP32 gives a twentieth of it."""


class Frontier(NamedTuple):
    """Quantities that the other model does not have although it has all of their inputs, earliest
    first, and the unknown ones (``region``) between them and the outputs."""

    at: Sequence[int]
    region: Set[int]


def frontier(
    found: Aligned, outputs: Sequence[int], layer: int | None = None, other: Aligned | None = None
) -> Frontier:
    """The frontier behind ``outputs``; empty if all of them are known. Those in another ``layer``
    than the one where the other model's begins come last, and those that also lead to a known
    quantity: probably another way of computing that. Partial sums of ranks that make up a quantity
    of the ``other`` model are known."""
    sums: set[int] = set()
    while True:
        region, ends = _behind(found, outputs, sums)
        partial = _partial_sums(found, ends, other) if other is not None else set()
        if not partial:
            break
        sums |= partial
    harmless = _harmless(found)
    first = _first_uses(found, region)

    def rank(at: int) -> tuple[bool, bool, int, int]:
        number = layer_number(found.quantity(at).module)
        elsewhere = None not in (layer, number) and number != layer
        return elsewhere, at in harmless, first.get(at, at), at

    return Frontier(sorted(ends, key=rank), region)


def _behind(found: Aligned, outputs: Sequence[int], sums: Set[int]) -> tuple[set[int], list[int]]:
    todo = [each for each in outputs if not found.known(each)]
    region: set[int] = set()
    ends: list[int] = []
    while todo:
        at = todo.pop()
        if at in region:
            continue
        region.add(at)
        inputs = found.quantity(at).inputs
        unknown = [each for each in inputs if not found.known(each) and each not in sums]
        todo += unknown
        if not unknown:
            ends.append(at)
    return region, ends


def _partial_sums(found: Aligned, ends: Sequence[int], other: Aligned) -> set[int]:
    """Results of one operation in several ranks whose sum is a quantity of the other model."""
    ranks: dict[object, list[int]] = {}
    for at in ends:
        one = found.quantity(at)
        ranks.setdefault((one.op, one.frames[:1], one.shape, one.phase), []).append(at)
    partial: set[int] = set()
    for each in ranks.values():
        one = found.quantity(each[0])
        total = sum(_total(found.quantity(at)) for at in each)
        if len(each) > 1 and any(_makes(total, one, two) for two in other.trace.quantities):
            partial |= set(each)
    return partial


def _total(one: Quantity) -> float:
    """The sum of the numbers of a quantity."""
    moments = one.moments
    return moments[0] * math.exp(moments[5]) * math.prod(one.shape) if moments else 0.0


def _makes(total: float, one: Quantity, two: Quantity) -> bool:
    size = math.prod(two.shape)
    if two.moments is None or two.phase != one.phase or size != math.prod(one.shape):
        return False
    return abs(_total(two) - total) < SUM_TOLERANCE * math.exp(two.moments[5]) * math.sqrt(size)


def first_layer(found: Aligned, ends: Frontier) -> int | None:
    """The number of the layer in which a frontier begins, if its operations lie in layers."""
    made = [found.quantity(at) for at in ends.at if not found.quantity(at).given]
    numbers = [layer_number(one.module) for one in made]
    return min((each for each in numbers if each is not None), default=None)


def layer_number(module: str) -> int | None:
    """The number of the layer in the path of a module."""
    found = re.search(r"(?:\A|\.)(\d{1,4})(?:\.|\Z)", module)
    return int(found[1]) if found else None


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
