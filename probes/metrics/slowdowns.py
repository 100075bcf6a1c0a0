"""Finds the step from which an operation takes longer for the same work."""

from __future__ import annotations

from collections.abc import Sequence

from ..shared.level_changes import level_change
from ..shared.series_statistics import mean, median, rounded
from .steps import Timing
from .tables import MetricRow

# The environments' part of a step has no expectation; a call is a call.
_PLAIN = ("env_step",)


def slowdown_of(
    name: str, rows: Sequence[MetricRow], values: Sequence[float],
    normal: Sequence[float | None], timing: Timing,
) -> dict[str, float]:  # fmt: skip
    """``changed_at``, ``before_s``, ``after_s`` and ``slowdown`` of an operation that becomes
    slower; empty for others, and if the work of a call is unknown.

    Each call counts against what it may take, so that longer texts are not a slowdown. A loop that
    works ahead waits in every few rows, so that whole periods are compared.
    """
    if name in _PLAIN:
        scaled = [(row, value, value) for row, value in zip(rows, values, strict=True)]
    else:
        scaled = [(row, value, value / may) for row, value, may
                  in zip(rows, values, normal, strict=True) if may]  # fmt: skip
    size = max(1, timing.period)
    blocks = [scaled[i : i + size] for i in range(0, len(scaled) - size + 1, size)]
    change = level_change([mean([each[2] for each in block]) for block in blocks])
    if change is None or change.after <= change.before or change.before <= 0:
        return {}
    seconds = [mean([each[1] for each in block]) for block in blocks]
    return {
        "changed_at": blocks[change.at][0][0].step,
        "before_s": rounded(median(seconds[: change.at])),
        "after_s": rounded(median(seconds[change.at :])),
        "slowdown": rounded(change.after / change.before),
    }
