"""Reads off how often each key is seen, if some keys are seen several times.

The output of a head is a mean of values with known weights. The factors of the keys in that mean
are the same for all heads, rows and decoded tokens, so they solve a system of linear equations."""

from __future__ import annotations

from typing import Any

from ....reading.tensors import np
from .given import Finder, Found, Given
from .masks import _scene, heads_of

NEAR, DOUBT = 0.3, 0.12
MOST_TIMES = 8


def _counts(one: Given) -> Any | None:
    known = heads_of(one)
    if known is None:
        return None
    mixed, weight = known
    scene = _scene(one, mixed, False)
    if scene is None:
        return None
    rows = range(mixed.shape[2])[one.rows]
    parts = [_equations(scene, mixed, weight, row) for row in rows]
    times = _solved(np.concatenate([each[0] for each in parts]),
                    np.concatenate([each[1] for each in parts]))  # fmt: skip
    if times is not None:
        return np.tile(times, (len(parts), 1))
    each = []
    for part in parts:
        if (found := _solved(*part)) is None:
            return None
        each.append(found)
    return None if (np.stack(each) == 1).all() else np.stack(each)


def _equations(scene: Any, mixed: Any, weight: Any, row: int) -> tuple[Any, Any]:
    """Linear equations for the factors of keys, from one position of all rows of the batch."""
    equations, given = [], []
    for batch in range(len(mixed)):
        powers = scene.powers[batch, :, row] * scene.right[batch, row]
        whole = powers.sum(axis=1) + scene.sinks[batch, :, row]
        left = scene.values[batch] - mixed[batch, :, row, None]
        parts = (powers / whole[:, None])[..., None] * left
        matrix = parts.transpose(0, 2, 1).reshape(-1, parts.shape[1])
        right = ((scene.sinks[batch, :, row] / whole)[:, None] * mixed[batch, :, row]).ravel()
        if weight is not None:
            matrix, right = weight @ matrix, weight @ right
        equations.append(matrix)
        given.append(right)
    return np.concatenate(equations), np.concatenate(given)


def _solved(matrix: Any, given: Any) -> Any | None:
    """How often each key is seen; once, if the equations leave it open."""
    sizes = np.sqrt((matrix * matrix).sum(axis=0))
    use = sizes > 1e-3 * sizes.max(initial=0)
    if use.sum() < 2 or len(matrix) < 2 * use.sum():
        return None
    scaled = matrix[:, use] / sizes[use]
    lengths, axes = np.linalg.svd(scaled, full_matrices=False)[1:]
    if given.any():
        found = np.linalg.lstsq(scaled, given, rcond=None)[0]
    else:  # the direction that nothing is left of; it may have any length
        found, lengths, axes = axes[-1], lengths[:-1], axes[:-1]
    left = float(np.linalg.norm(scaled @ found - given)) / max(1, len(matrix) - use.sum()) ** 0.5
    spread = ((axes / np.maximum(lengths, 1e-12)[:, None]) ** 2).sum(axis=0)
    doubt = left * np.sqrt(spread) / sizes[use]
    found = found / sizes[use]
    if not given.any():
        middle = float(np.median(found)) or 1.0
        found, doubt = found / middle, doubt / abs(middle)
    sure = doubt < DOUBT
    whole = np.where(sure, np.rint(found), 1.0)
    if (np.abs(found - whole) > NEAR)[sure].any() or whole.min() < 0 or whole.max() > MOST_TIMES:
        return None
    times = np.ones(len(sizes))
    times[use] = whole
    return times


def _of_counts(late: bool) -> Finder:
    def find(one: Given) -> Found:
        if "counts" not in one.solved:
            one.solved["counts"] = _counts(one)
        times = one.solved["counts"]
        start = one.reading.spec.get("decode_from")
        decoded = bool(start) and one.rows.start == start
        if times is None or decoded != late or (times == 1).all():
            return
        known = heads_of(one)
        scene = None if known is None else _scene(one, known[0], False)
        if scene is None:
            return
        spec = one.reading.spec
        seen = scene.right.astype(np.float64)
        seen[:, one.rows] *= times
        last = enumerate(times[-1])
        shown = ", ".join(f"{at} {int(each)} times" for at, each in last if each != 1)
        yield one.reading._replace(spec=spec | {"mask_found": seen}), shown[:60]

    return find


COUNT_FINDERS: dict[str, Finder] = {
    "counts-of-cache": _of_counts(True), "counts-of-keys": _of_counts(False),
}  # fmt: skip
