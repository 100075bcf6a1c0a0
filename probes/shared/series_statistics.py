"""Figures of a series of numbers: medians, noise, trend, spikes, swing between two levels.

Plain arithmetic without packages, so that the same run gives the same facts on every machine. The
bounds here describe noise and form; the knowledge interprets a form.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

# Fewer values than this have no trend: any order comes up by chance.
MIN_TREND = 5
# Below this number, values that run in strict order have their course whatever the noise estimate,
# which a bend spoils if the values are few.
FEW = 9
# Change below this part of the size of the values counts as none.
FLAT = 0.02
# A change counts from this many standard errors of the compared medians on.
SIGNIFICANT = 3.0
# A spike is at least SPIKE_RATIO times its neighbours and SPIKE_NOISE times the noise above them.
SPIKE_NOISE, SPIKE_RATIO, SPIKE_WINDOW = 8.0, 2.0, 5
MIN_SPIKES = 7
# Two levels: the ratio of the higher to the lower, and the share of rows that fit the pattern.
LEVEL_RATIO, LEVEL_SHARE, MIN_LEVELS = 3.0, 0.75, 5
_DIGITS = 6


def rounded(value: float) -> float:
    """``value`` to six significant digits; measurements are not more exact."""
    if value == 0 or not math.isfinite(value):
        return value
    return round(value, _DIGITS - 1 - math.floor(math.log10(abs(value))))


def known(value: float | None) -> float | None:
    """``value`` rounded, or None."""
    return None if value is None else rounded(value)


def share(part: float, whole: float) -> float:
    """``part`` of ``whole``, rounded, from 0 to 1."""
    return rounded(min(max(part / whole, 0.0), 1.0))


def mean(values: Sequence[float]) -> float:
    """The mean; exact summation, so that the order of the values does not matter."""
    return math.fsum(values) / len(values)


def median(values: Sequence[float]) -> float:
    """The median; of an even number of values the mean of the middle two."""
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def variation(values: Sequence[float]) -> float | None:
    """Standard deviation over mean; None for fewer than two values or a mean of zero."""
    if len(values) < 2:
        return None
    centre = mean(values)
    if centre <= 0:
        return None
    found = math.hypot(*(v - centre for v in values)) / math.sqrt(len(values)) / centre
    return found if math.isfinite(found) else None


def correlation(left: Sequence[float], right: Sequence[float]) -> float | None:
    """Pearson's correlation; None for fewer than MIN_LEVELS pairs or a constant side."""
    if len(left) < MIN_LEVELS:
        return None
    a, b = mean(left), mean(right)
    # Norms first: the squares of large values would overflow.
    p, q = math.hypot(*(x - a for x in left)), math.hypot(*(y - b for y in right))
    if not (0 < p < math.inf and 0 < q < math.inf):
        return None
    both = math.fsum((x - a) / p * ((y - b) / q) for x, y in zip(left, right, strict=True))
    return max(-1.0, min(1.0, both))


def slope(places: Sequence[float], values: Sequence[float]) -> float | None:
    """Change per step of a straight line through the values, over their mean size."""
    size = mean([abs(v) for v in values])
    centre, level = mean(places), mean(values)
    spread = math.fsum((x - centre) ** 2 for x in places)
    if len(values) < 2 or spread <= 0 or size <= 0:
        return None
    rise = math.fsum((x - centre) * (y - level) for x, y in zip(places, values, strict=True))
    found = rise / spread / size
    return found if math.isfinite(found) else None


def noise(values: Sequence[float]) -> float:
    """Standard deviation of the noise, from second differences: neither a slope nor a slow bend
    counts. For normal noise their median size is 1.652 standard deviations."""
    if len(values) < 3:
        return 0.0
    triples = zip(values, values[1:], values[2:], strict=False)
    return median([abs(a - 2 * b + c) for a, b, c in triples]) / 1.652


def trend(values: Sequence[float]) -> str | None:
    """The course of the values in order, in the words of the vocabulary; None if it is open.

    The series is cut into at most eight blocks. Medians of the first, the last and the lowest and
    highest block in between are compared; a change counts if it exceeds both three standard
    errors of these medians and 2 % of the size of the values. Values that all lie within 2 % are
    flat whatever their number; fewer than nine in strict order need no test. Without a direction
    the series is unstable if the noise is as large as the values themselves, else flat.
    """
    if len(values) < 2:
        return None
    size = median([abs(v) for v in values])
    if max(values) - min(values) <= FLAT * size:
        return "flat" if len(values) > 2 else None
    if len(values) < MIN_TREND:
        return None
    if len(values) < FEW and (strict := _strict_course(values)):
        return strict
    blocks = _blocks(values)
    heights = [median(block) for block in blocks]
    noisy = noise(values)
    smallest = min(len(block) for block in blocks)
    error = 1.2533 * noisy * math.sqrt(2 / smallest)
    bound = max(SIGNIFICANT * error, FLAT * size)
    return _direction(heights, bound) or ("unstable" if noisy >= size else "flat")


def drop(values: Sequence[float]) -> float | None:
    """The distance of the end of a series below its best part, over the size of that part. Both are
    medians of blocks as in :func:`trend`; None for too few values or a best part of zero.

    Both are medians of blocks as in :func:`trend`; None for too few values or a best part of zero.
    """
    heights = heights_of(values)
    if not heights:
        return None
    best = max(heights)
    return (best - heights[-1]) / abs(best) if best else None


def rise(values: Sequence[float]) -> float | None:
    """The distance of the end of a series above its lowest part, over the size of that part, like
    :func:`drop`."""
    heights = heights_of(values)
    if not heights:
        return None
    least = min(heights)
    return (heights[-1] - least) / abs(least) if least else None


def heights_of(values: Sequence[float]) -> list[float]:
    """The levels of the parts of a series, as in :func:`trend`; none for too few values."""
    return [median(b) for b in _blocks(values)] if len(values) >= MIN_TREND else []


def _direction(heights: Sequence[float], bound: float) -> str | None:
    first, last = heights[0], heights[-1]
    inner = heights[1:-1]
    low, high = min(inner), max(inner)
    if first - low > bound and last - low > bound:
        return "turning-up"
    if high - first > bound and high - last > bound:
        return "turning-down"
    if last - first > bound:
        return "rising"
    return "falling" if first - last > bound else None


def _strict_course(values: Sequence[float]) -> str | None:
    """The course of values that all rise or fall, or turn once with two steps on either side."""
    ups = [b > a for a, b in pairwise(values)]
    if any(a == b for a, b in pairwise(values)):
        return None
    turns = [i for i, (a, b) in enumerate(pairwise(ups), 1) if a != b]
    if not turns:
        return "rising" if ups[0] else "falling"
    if len(turns) == 1 and 2 <= turns[0] <= len(ups) - 2:
        return "turning-down" if ups[0] else "turning-up"
    return None


def _blocks(values: Sequence[float]) -> list[Sequence[float]]:
    number = min(8, len(values) // 3) if len(values) >= FEW else 3
    edges = [round(i * len(values) / number) for i in range(number + 1)]
    return [values[a:b] for a, b in pairwise(edges)]


def spikes(values: Sequence[float]) -> int | None:
    """The number of values far above the five on either side; None below seven values.

    Far above is twice the size of their median and eight times the noise.
    """
    if len(values) < MIN_SPIKES:
        return None
    noisy, found = noise(values), 0
    for i, value in enumerate(values):
        near = [*values[max(0, i - SPIKE_WINDOW) : i], *values[i + 1 : i + 1 + SPIKE_WINDOW]]
        level = median(near)
        above = value - level
        found += above > SPIKE_NOISE * noisy and above >= (SPIKE_RATIO - 1) * abs(level) > 0
    return found


class Levels(NamedTuple):
    """Whether values swing between two levels in a regular pattern, and the higher level."""

    alternates: bool
    high: float


def levels(values: Sequence[float]) -> Levels | None:
    """The swing of a series of times; None below five values.

    Values are parted at the middle between their 10th and 90th percentile. The series alternates
    if the higher level is at least three times the lower and three quarters of the distances
    between high values are the same number of rows, two or more: a loop that submits k batches
    ahead waits in every (k+1)-th row.
    """
    if len(values) < MIN_LEVELS:
        return None
    ordered = sorted(values)
    low_end, high_end = ordered[len(ordered) // 10], ordered[-1 - len(ordered) // 10]
    border = (low_end + high_end) / 2
    high = [i for i, v in enumerate(values) if v > border]
    low = [v for v in values if v <= border]
    if len(high) < 2 or not low:
        return Levels(False, median(values))
    level = median([values[i] for i in high])
    distances = [b - a for a, b in pairwise(high)]
    usual = int(median(distances))
    regular = sum(d == usual for d in distances) >= LEVEL_SHARE * len(distances)
    apart = level >= LEVEL_RATIO * median(low)
    return Levels(bool(apart and regular and usual >= 2), level)


class Interval(NamedTuple):
    """A stretch of time."""

    start: float
    end: float


def union(intervals: Sequence[Interval]) -> list[Interval]:
    """The stretches without overlap, in order."""
    joined: list[Interval] = []
    for start, end in sorted(intervals):
        if joined and start <= joined[-1].end:
            joined[-1] = Interval(joined[-1].start, max(end, joined[-1].end))
        else:
            joined.append(Interval(start, end))
    return joined


def length(intervals: Sequence[Interval]) -> float:
    """The total of stretches that do not overlap."""
    return math.fsum(each.end - each.start for each in intervals)
