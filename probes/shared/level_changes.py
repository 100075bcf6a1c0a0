"""Finds the place at which a series of numbers moves to another level."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from .series_statistics import median

# The fewest values, the fewest on either side, how rarely chance may make a change.
MIN_CHANGE, CHANGE_SIDE, CHANCE = 12, 5, 0.001


class LevelChange(NamedTuple):
    """The change of a series to another level: the first place after it, and both medians."""

    at: int
    before: float
    after: float


def level_change(values: Sequence[float]) -> LevelChange | None:
    """Pettitt's test for one change of the level of a series; None if chance may have made it.

    The statistic counts how much the ranks up to each place fall short of what they would be in
    random order, so neither the form of the noise nor single far values matter. A slow drift gives
    a change in its middle. Source: A. N. Pettitt, A non-parametric approach to the change-point
    problem, Applied Statistics 28 (1979).
    """
    number = len(values)
    if number < MIN_CHANGE:
        return None
    ranks = _ranks(values)
    total, best, at = 0.0, 0.0, 0
    for place, rank in enumerate(ranks[:-1], 1):
        total += 2 * rank - (number + 1)
        if abs(total) > best:
            best, at = abs(total), place
    chance = 2 * math.exp(-6 * best**2 / (number**3 + number**2))
    if chance >= CHANCE or not CHANGE_SIDE <= at <= number - CHANGE_SIDE:
        return None
    return LevelChange(at, median(values[:at]), median(values[at:]))


def _ranks(values: Sequence[float]) -> list[float]:
    """Ranks from 1 on; equal values share the mean of theirs."""
    order = sorted(range(len(values)), key=values.__getitem__)
    ranks = [0.0] * len(values)
    start = 0
    while start < len(order):
        end = start
        while end + 1 < len(order) and values[order[end + 1]] == values[order[start]]:
            end += 1
        for place in order[start : end + 1]:
            ranks[place] = (start + end) / 2 + 1
        start = end + 1
    return ranks
