"""Factors of keys and values of each head, as decoded tokens read them from the cache."""

from __future__ import annotations

from typing import Any

from ....reading.tensors import np
from ..formula.formulas import FORMULAS
from ..spec import Reading
from .given import Finder, Found, Given

MOST_HEADS = 16
STEPS, STEP = 6, 0.02
NEARER = 0.95
"""The largest share of the error that one step may leave for another step to be worth its time."""
OTHER = 0.05
"""Least distance of a factor from one, for at least one of the factors."""
LARGEST = 3.0
"""Largest logarithm of a fitted factor."""


def _scales(one: Given) -> Found:
    """Fit the scales by Gauss-Newton: few factors, and far more numbers that have to fit. Each row
    of the batch may have its own."""
    groups, rows = int(one.reading.spec["kv_heads"]), len(one.output)
    if groups > MOST_HEADS:
        return
    for count in (1, rows) if 1 < rows <= MOST_HEADS // groups else (1,):
        for of in ("past", "all", "prompt"):
            logs = _fitted(one, count * groups, of)
            factors = np.exp(logs)
            if np.isfinite(factors).all() and np.abs(factors - 1).max() > OTHER:
                words = ", ".join(f"{each:.3g}" for each in factors[:8])
                yield _read(one, logs, of), f"{words} ({of})"


def _fitted(one: Given, count: int, of: str) -> Any:
    logs = np.zeros(2 * count)
    left = _left(one, logs, of)
    for _ in range(STEPS):
        slopes = np.stack([(_left(one, logs + STEP * unit, of) - left) / STEP
                           for unit in np.eye(2 * count)], axis=1)  # fmt: skip
        move = np.linalg.lstsq(slopes, -left, rcond=None)[0]
        logs = (logs + move.clip(-0.7, 0.7)).clip(-LARGEST, LARGEST)
        before, left = left, _left(one, logs, of)
        if not np.linalg.norm(left) < NEARER * np.linalg.norm(before):
            break
    return logs


def _read(one: Given, logs: Any, of: str) -> Reading:
    groups = int(one.reading.spec["kv_heads"])
    parts = np.split(np.exp(logs).astype(np.float32), 2)
    scales = tuple(part.reshape(-1, groups)[:, :, None, None] for part in parts)
    before = one.reading.spec, one.reading.weights
    spec = one.reading.spec | {"cached": "scaled", "cached_scales": scales, "cached_of": of}
    return one.reading._replace(spec=spec | {"prompt": before})


def _left(one: Given, logs: Any, of: str) -> Any:
    reading = _read(one, logs, of)
    made = FORMULAS["attention"](reading.spec, reading.weights, one.given)
    return (made - one.output)[:, one.rows].astype(np.float64).ravel()


CACHE_FINDERS: dict[str, Finder] = {"cache-scales": _scales}
