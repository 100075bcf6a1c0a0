"""Positions and frequencies that a table of cosines and sines was made of."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from ....reading.tensors import np
from ..formula.formulas import FORMULAS
from ..formula.rope import Spec, frequencies
from .given import Finder, Found, Given

MOST_POSITIONS = 4_096
NEAR = 0.02
"""Largest root mean square error of a matching table."""
SAME = 0.01
"""Share by which frequencies may be off: BF16 rounds the table."""
SAME_THETA = 0.1
"""Share by which a theta may be off that is read off the second frequency, rounded to BF16."""
THETAS, STEPS = (10.0, 1e10), 40
"""The range in which theta is searched, and the number of bisections."""


class Rates(NamedTuple):
    """Frequencies of the pairs of channels: those that were found, the right ones, and those
    without scaling; and whether another theta makes those that were found."""

    found: Any
    right: Any
    plain: Any
    factor: float
    another_theta: bool


def _positions(one: Given) -> Found:
    """Find the position that each entry of the table belongs to."""
    output, spec = one.output, one.reading.spec
    count = output.shape[-2]
    candidates = np.concatenate([np.arange(-count, 4 * count), np.arange(count) + 0.5])
    if count > MOST_POSITIONS:
        return
    given = {"positions": len(candidates)}
    table = FORMULAS["rotary"](spec | {"positions_given": candidates}, {}, given)
    rows = output.reshape(-1, output.shape[-1])
    near = (table * table).sum(axis=1)[None] - 2 * rows @ table.T
    chosen = near.argmin(axis=1)
    off = near[np.arange(len(rows)), chosen] + (rows * rows).sum(axis=1)
    if (off > NEAR**2 * rows.shape[1]).any():
        return
    found = candidates[chosen].reshape(output.shape[:-1]).astype(np.float64)
    found = found[0] if (found == found[:1]).all() else found
    if found.ndim == 1 and (found == np.arange(count)).all():
        return
    some = ", ".join(f"{each:g}" for each in found.reshape(-1, count)[-1][:8])
    yield one.reading._replace(spec=spec | {"positions_given": found}), f"{some}, ..."


def _rates(one: Given) -> Rates | None:
    """The frequency of each pair of channels; None if the table has none."""
    spec, output = one.reading.spec, one.output
    half = output.shape[-1] // 2
    right, factor = frequencies(spec)
    pairs = len(right)
    columns = slice(None, None, 2) if spec.get("rope_layout") == "interleaved" else slice(pairs)
    turns = output[0, :, :half][:, columns] + 1j * output[0, :, half:][:, columns]
    if turns.shape[1] != pairs or pairs < 2 or len(turns) < 4:
        return None
    found = np.zeros(pairs)
    lag = 1
    while lag < len(turns):  # the longer the way, the more exact
        step = np.angle((turns[lag:] * turns[:-lag].conj()).sum(axis=0))
        rounds = np.rint((found * lag - step) / (2 * np.pi)) if lag > 1 else 0
        found = (step + 2 * np.pi * rounds) / lag
        lag *= 2
    made = factor * np.exp(1j * np.arange(len(turns))[:, None] * found)
    if np.sqrt((abs(turns - made) ** 2).mean(axis=0)).max() > NEAR * factor:
        return None
    plain = frequencies(spec | {"rope_type": "default", "rope_ramp": None})[0]
    theta = _theta_of(spec, found)
    other = abs(theta / spec["theta"] - 1) > SAME_THETA
    other = other and _same(found, frequencies({**spec, "theta": theta})[0])
    return Rates(found, right, plain, float(spec.get("rope_factor") or 1), other)


def _theta_of(spec: Spec, found: Any) -> float:
    """The theta that gives the second frequency, all else being as it should."""
    low, high = THETAS
    for _ in range(STEPS):
        middle = math.sqrt(low * high)
        faster = frequencies({**spec, "theta": middle})[0][1] > found[1]
        low, high = (middle, high) if faster else (low, middle)
    return low


def _same(one: Any, other: Any) -> bool:
    return bool((np.abs(one - other) < SAME * np.abs(other) + 2e-4).all())


def _layout(rates: Rates) -> bool:
    return _same(np.sort(rates.found), np.sort(rates.right)) and not _same(rates.found, rates.right)


def _scaling(rates: Rates) -> bool:
    """Whether each frequency is between the one without scaling and the one with full scaling."""
    if _same(rates.found, rates.right) or _layout(rates) or rates.another_theta:
        return False
    ratio = rates.found / rates.plain
    if (rates.plain == rates.right).all():
        return bool((np.abs(ratio - ratio[0]) < SAME).all()) and ratio[0] < 1
    low, high = sorted((1.0, 1 / rates.factor))
    # Frequencies near zero do not count.
    slow = np.abs(rates.found - rates.plain) < 2e-4
    return bool((((ratio > low * (1 - SAME)) & (ratio < high * (1 + SAME))) | slow).all())


def _of_rates(fits: Callable[[Rates], bool]) -> Finder:
    def find(one: Given) -> Found:
        if "rates" not in one.solved:
            one.solved["rates"] = _rates(one)
        rates: Rates | None = one.solved["rates"]
        if rates is not None and fits(rates):
            words = ", ".join(f"{each:.3g}" for each in rates.found[:5])
            spec = one.reading.spec | {"rates_given": tuple(rates.found)}
            yield one.reading._replace(spec=spec), f"{words}, ..."

    return find


TABLE_FINDERS: dict[str, Finder] = {
    "table-positions": _positions, "table-order": _of_rates(_layout),
    "table-scaling": _of_rates(_scaling),
}  # fmt: skip
