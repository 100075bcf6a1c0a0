"""The series of the metrics that people look at first: ``metric_series`` facts, for pictures."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from ..outcome import Collector
from ..shared.level_changes import level_change
from ..shared.series_statistics import MIN_TREND, heights_of, median, rounded
from .tables import Table

MAX_POINTS = 200
# A role may have several metrics, such as two estimates of the KL.
MAX_OF_ROLE = 2
_ROLES = ("train-loss", "eval-loss", "reward", "kl")
# A change counts if the neighbours of its place differ by this part of what both sides do; a
# slow drift has a change in its middle, too.
_AT_ONCE = 0.6
_NEAR = 8
_MIN_NEAR = 3

Point = tuple[int, float]


def add_series(collector: Collector, table: Table, named: Iterable[tuple[str, str]]) -> None:
    """Add a fact for each of the ``named`` metrics (name, role) with a role that is drawn."""
    kept = dict.fromkeys(_ROLES, 0)
    for name, role in named:
        if kept.get(role, MAX_OF_ROLE) >= MAX_OF_ROLE:
            continue
        points = [(row.step, row.values[name]) for row in table.rows if name in row.values]
        if len(points) < MIN_TREND:
            continue
        kept[role] += 1
        finite = [point for point in points if math.isfinite(point[1])]
        heights = sorted(heights_of([value for _, value in finite]))
        collector.add(
            "metric_series", table.name, name=name, role=role, points=_written(thinned(points)),
            highest=rounded(heights[-1]) if heights else None,
            lowest=rounded(heights[0]) if heights else None, **_change(finite),
        )  # fmt: skip


def thinned(points: Sequence[Point]) -> list[Point]:
    """At most ``MAX_POINTS`` of the points: the lowest and the highest of each stretch, so that
    spikes stay; for a value that is not finite, that one."""
    if len(points) <= MAX_POINTS:
        return list(points)
    inner, number = points[1:-1], MAX_POINTS // 2 - 1
    kept = {0: points[0], len(points) - 1: points[-1]}
    for part in range(number):
        start = part * len(inner) // number
        stretch = list(enumerate(inner[start : (part + 1) * len(inner) // number], start + 1))
        broken = [each for each in stretch if not math.isfinite(each[1][1])]
        ordered = broken[:1] or sorted(stretch, key=lambda each: each[1][1])
        kept |= dict((ordered[0], ordered[-1]))
    return [point for _, point in sorted(kept.items())]


def _written(points: Iterable[Point]) -> str:
    return " ".join(f"{step}:{value:.4g}" for step, value in points)


def _change(points: Sequence[Point]) -> dict[str, float]:
    values = [value for _, value in points]
    change = level_change(values)
    if change is None:
        return {}
    near = max(_MIN_NEAR, len(values) // _NEAR)
    at = change.at
    here = median(values[at : at + near]) - median(values[max(0, at - near) : at])
    if abs(here) < _AT_ONCE * abs(change.after - change.before):
        return {}
    return {
        "changed_at": points[at][0],
        "before": rounded(change.before),
        "after": rounded(change.after),
    }
