"""Decides which update a tensor received: W of the base, M merged, and what each way of merging
would have stored, H = round(W + update).

The decision goes by the share of equal elements of M and H among those that M or H changes, then
by the cosine of their changes, never by the largest difference: 16-bit rounding exceeds the
difference that a wrong layout of a small update makes (and then most elements do not change).
"""

from __future__ import annotations

import math
from typing import NamedTuple

from .hypotheses import LOW_PRECISION, RIGHT, Way, ways
from .number_formats import as_float32, equal, store
from .pairs import Pair, Score, ratio, row_numbers
from .safetensors_files import Tensor
from .sampling import Block, blocks_of, thinned
from .strangers import is_other_update, name_stranger
from .targets import Target

# Shares of equal elements among the changed ones. Measured on small models: a right merge has
# 1.000; one whose sums were taken in another order 0.999; the nearest wrong one (the update
# rounded to bfloat16) 0.75 of an ordinary and 0.99 of a tiny update, and is then told apart by
# its own, better share; a wrong layout below 0.1.
RIGHT_SHARE = 0.98
CLEAR_SHARE = 0.9
LOW_PRECISION_SHARE = 0.3
# Cosine of the changes that still shows a way of merging when rounding differs.
ALIKE = 0.8
# Elements on which all ways are tried.
TRIAL = 2**20


class Verdict(NamedTuple):
    """What a tensor received, with the numbers behind it.

    ``changed`` and ``expected`` count the compared elements that M and a right merge change;
    ``scale`` and ``cosine`` compare M - W with the right update; ``max_abs`` and ``mean_abs`` are
    differences of M from the right merge; ``arithmetic`` is set for low precision that was seen.
    """

    signature: str
    compared: int
    changed: int = 0
    expected: int = 0
    equal_share: float | None = None
    scale: float | None = None
    cosine: float | None = None
    max_abs: float | None = None
    mean_abs: float | None = None
    update_max_abs: float | None = None
    arithmetic: str = ""
    way: Way | None = None


def compare(target: Target, merged: Tensor, elements: int, foreign_base: bool) -> Verdict:
    """Compare a merged tensor of the target's shape, on about ``elements`` elements.

    ``foreign_base``: the tensors that the adapter leaves alone differ from the base model.
    Raises ``OSError`` or ``ValueError`` where a file cannot be read.
    """
    blocks = blocks_of(target.tensor, elements)
    pair = Pair(target, merged, blocks[0])
    first = _first_look(pair, blocks)
    if first.expected == 0:
        return first._replace(signature="invisible" if first.changed == 0 else "other")
    if first.signature == "correct":
        return first
    if first.changed == 0:
        return first._replace(signature="unchanged", scale=0.0)
    return _search(pair, first, blocks, foreign_base)


def _first_look(pair: Pair, blocks: list[Block]) -> Verdict:
    """The right way alone over all blocks, with the numbers that every verdict carries."""
    import numpy as np

    score = Score(RIGHT)
    dtype = pair.dtype
    compared = changed = expected = 0
    dot = size = most = total = largest = mine = 0.0
    by_matrix: dict[int, list[int]] = {}
    for block in blocks:
        base, start, stored = pair.read(block)
        update = pair.updates.update(RIGHT, block.matrix, row_numbers(block))
        with np.errstate(over="ignore", invalid="ignore"):
            right = store(base + update, dtype)
        before = score.hits, score.informative
        score.add(stored, right, start, dtype, pair.slack)
        compared += stored.size
        moved = int(np.count_nonzero(~equal(stored, start, dtype, pair.slack)))
        changed += moved
        expected += int(np.count_nonzero(~equal(right, start, dtype, pair.slack)))
        seen = by_matrix.setdefault(block.matrix, [0, 0, 0])
        for i, more in enumerate((score.hits - before[0], score.informative - before[1], moved)):
            seen[i] += more
        with np.errstate(over="ignore", invalid="ignore"):
            ours = as_float32(stored, dtype)
            step = np.nan_to_num(ours - base, posinf=0, neginf=0).ravel()
            away = np.nan_to_num(abs(ours - as_float32(right, dtype)), posinf=0)
        flat = np.nan_to_num(update).ravel()
        dot, size = dot + float(step @ flat), size + float(flat @ flat)
        mine += float(step @ step)
        most, total = max(most, float(away.max())), total + float(away.sum(dtype=np.float64))
        largest = max(largest, float(abs(flat).max()))
    signature = "correct" if score.informative and score.share >= RIGHT_SHARE else ""
    if not signature and _is_partial(by_matrix):
        signature = "partial"
    return Verdict(
        signature, compared, changed, expected, score.equal / max(1, compared),
        ratio(dot, size), ratio(dot, math.sqrt(size * mine)), most,
        total / max(1, compared), largest,
    )  # fmt: skip


def _is_partial(by_matrix: dict[int, list[int]]) -> bool:
    """Every expert has either the right update or none, and there are both."""
    right = [hits for hits, informative, _ in by_matrix.values()
             if informative and hits >= RIGHT_SHARE * informative]  # fmt: skip
    still = [moved for _, informative, moved in by_matrix.values() if informative and moved == 0]
    return bool(right and still) and len(right) + len(still) == len(by_matrix)


def _search(pair: Pair, first: Verdict, blocks: list[Block], foreign_base: bool) -> Verdict:
    if first.signature:
        return first
    few = thinned(blocks, pair.base.matrices[2], TRIAL)
    tried = [Score(way) for way in (*ways(pair.target), *_fitted(first))]
    for block in few:
        base, start, stored = pair.read(block)
        for score in tried:
            other = pair.merged_by(score.way, base, block)
            score.add(stored, other, start, pair.dtype, pair.slack)
    # The first of equals wins: the right way stands first, exact arithmetic before rounding.
    best = max(tried, key=lambda score: score.share)
    if best.share < CLEAR_SHARE:
        best = max(tried, key=lambda score: score.cosine)
        if best.cosine < ALIKE or _differs_by_an_update(pair, few, best):
            return first._replace(signature=name_stranger(pair, few, foreign_base))
    return _named(first, best)


def _differs_by_an_update(pair: Pair, blocks: list[Block], best: Score) -> bool:
    """Whether more than rounding is left where the tensor has the right update or a multiple."""
    if best.way.signature not in ("correct", "scaled", "low-precision"):
        return False
    return best.share < LOW_PRECISION_SHARE or is_other_update(pair, blocks, best.way)


def _named(first: Verdict, best: Score) -> Verdict:
    """The verdict for the best way; one that only resembles the right way is low precision."""
    signature = best.way.signature
    if signature == "correct" and best.share < RIGHT_SHARE:
        signature = "low-precision"
    known = LOW_PRECISION.get(best.way.arithmetic, "") if best.share >= CLEAR_SHARE else ""
    return first._replace(signature=signature, arithmetic=known, way=best.way)


def _fitted(first: Verdict) -> list[Way]:
    """The update with the factor that fits best, for factors that no known slip explains."""
    scale, cosine = first.scale or 0.0, first.cosine or 0.0
    fits = abs(cosine) > 0.5 and abs(scale) > 1e-3 and abs(scale - 1) > 0.02
    return [Way("scaled", factor=scale)] if fits else []
