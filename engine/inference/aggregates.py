"""Counts and statistics over series of facts, three-valued."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from math import fsum, hypot, sqrt

from ...facts import Value
from .operators import Truth, compare, identity
from .program import Aggregate

Values = Mapping[str, Value]


def evaluate(aggregate: Aggregate, matching: Sequence[Values]) -> Truth:
    """The truth of an aggregate over the facts that match its pattern.

    A count that is too small is unknown (there may be more); a series shorter than ``min_points``,
    or whose statistic is undefined, is unknown.
    """
    found = statistic(aggregate, matching)
    if found is None or not aggregate.value:
        return True if found is not None and found >= aggregate.bound else None
    return compare(aggregate.op, found, aggregate.bound)


def statistic(aggregate: Aggregate, matching: Sequence[Values]) -> float | None:
    """The count, or the statistic of the series; None if it is undefined."""
    if aggregate.value:
        series = numbers(aggregate, matching)
        enough = len(series) >= aggregate.min_points
        return STATISTICS[aggregate.function](series) if enough else None
    if aggregate.function == "count":
        return len(matching)
    name = aggregate.function.removeprefix("distinct:")
    seen = [values.get(name) for values in matching]
    return len({identity(value) for value in seen if value is not None})


def numbers(aggregate: Aggregate, matching: Sequence[Values]) -> list[float]:
    """The values in order; facts without value or order are left out, ties keep the value order."""
    pairs = []
    for values in matching:
        order, value = values.get(aggregate.order), values.get(aggregate.value)
        if isinstance(order, (int, float)) and isinstance(value, (int, float)):
            pairs.append((float(order), float(value)))
    return [value for _, value in sorted(pairs)]


def _mean(xs: Sequence[float]) -> float:
    return fsum(xs) / len(xs)


def _median(xs: Sequence[float]) -> float:
    ranked, half = sorted(xs), len(xs) // 2
    return ranked[half] if len(xs) % 2 else (ranked[half - 1] + ranked[half]) / 2


def _deviation(xs: Sequence[float]) -> float:
    """Standard deviation of the whole population."""
    mean = _mean(xs)
    return hypot(*(x - mean for x in xs)) / sqrt(len(xs))  # squares of huge numbers overflow


def _ratio(top: float, bottom: float) -> float | None:
    return top / bottom if bottom else None


def _slope(xs: Sequence[float]) -> float | None:
    """Least-squares change per point."""
    middle = (len(xs) - 1) / 2
    spread = sum((i - middle) ** 2 for i in range(len(xs)))
    mean = _mean(xs)
    return _ratio(sum((i - middle) * (x - mean) for i, x in enumerate(xs)), spread)


def _increases(xs: Sequence[float]) -> float | None:
    steps = list(pairwise(xs))
    return _ratio(sum(b > a for a, b in steps), len(steps))


STATISTICS: Mapping[str, Callable[[Sequence[float]], float | None]] = {
    "first": lambda xs: xs[0],
    "last": lambda xs: xs[-1],
    "min": min,
    "max": max,
    "mean": _mean,
    "median": _median,
    "range": lambda xs: max(xs) - min(xs),
    "count": lambda xs: float(len(xs)),
    "slope": _slope,
    "first_over_rest": lambda xs: _ratio(xs[0], _median(xs[1:])) if len(xs) > 1 else None,
    "max_over_median": lambda xs: _ratio(max(xs), _median(xs)),
    "last_over_first": lambda xs: _ratio(xs[-1], xs[0]),
    "last_minus_first": lambda xs: xs[-1] - xs[0],
    "last_minus_min": lambda xs: xs[-1] - min(xs),
    "last_over_min": lambda xs: _ratio(xs[-1], min(xs)),
    "stdev_over_mean": lambda xs: _ratio(_deviation(xs), _mean(xs)),
    "increases_share": _increases,
}
