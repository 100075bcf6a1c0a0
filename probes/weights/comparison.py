"""Decides which update a tensor received: W of the base, M merged, and what each way of merging
would have stored, H = round(W + update).

The decision goes by the share of equal elements of M and H among those that M or H changes, then
by the cosine of their changes, never by the largest difference: 16-bit rounding exceeds the
difference that a wrong layout of a small update makes (and then most elements do not change).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ...reading.tensors import np
from ...reading.tensors.number_formats import as_float32, equal, store
from ...reading.tensors.safetensors_files import Tensor
from .displaced import Origin
from .hypotheses import LOW_PRECISION, RIGHT, Way, ways
from .pairs import Block, Pair, Score, blocks_of, ratio, row_numbers, thinned
from .strangers import is_rounded, name_stranger
from .targets import Target

# Shares of equal elements among the changed ones, as in :mod:`.comparison`.
CLEAR_SHARE = 0.9
# Cosine of the changes that still shows a way of merging when rounding differs.
ALIKE = 0.8
# Elements on which all ways are tried.
TRIAL = 2**20


def compare(target: Target, merged: Tensor, elements: int, foreign_base: bool) -> Verdict:
    """Find out how the update of ``target`` was merged into ``merged`` (same shape), from about
    ``elements`` elements.

    ``foreign_base``: tensors that the adapter leaves alone already differ from the base model.
    Raises ``OSError`` or ``ValueError`` if a file cannot be read.
    """
    blocks = blocks_of(target.tensor, elements)
    pair = Pair(target, merged, blocks[0])
    first = first_look(pair, blocks)
    if first.expected == 0:
        return first._replace(signature="invisible" if first.changed == 0 else "other")
    if first.signature:
        return first
    if first.changed == 0:
        return first._replace(signature="unchanged", scale=0.0)
    return _search(pair, first, blocks, foreign_base)


def _search(pair: Pair, first: Verdict, blocks: list[Block], foreign_base: bool) -> Verdict:
    few = thinned(blocks, pair.base.matrices[2], TRIAL)
    tried = [Score(way) for way in (*ways(pair.target), *_fitted(first))]
    for block in few:
        base, start, stored = pair.read(block)
        for score in tried:
            other = pair.merged_by(score.way, base, block)
            score.add(stored, other, start, pair.dtype, pair.slack)
    # The first of equals wins: the right way comes first, exact arithmetic before rounding.
    best = max(tried, key=lambda score: score.share)
    if best.share < CLEAR_SHARE:
        best = max(tried, key=lambda score: score.cosine)
        if not _explains(pair, few[0].matrix, best):
            return first._replace(signature=name_stranger(pair, few[0].matrix, foreign_base))
    return _named(first, best)


def _explains(pair: Pair, matrix: int, best: Score) -> bool:
    """Whether a way that agrees in few elements accounts for the change. The direction alone shows
    a layout; the right update or a multiple has to leave no more than rounding."""
    if best.cosine < ALIKE:
        return False
    by_size = best.way.signature in ("correct", "scaled", "low-precision")
    return not by_size or is_rounded(pair, matrix, best.way)


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


# Shares of equal elements among the changed ones. Measured on small models: a right merge has
# 1.000; one whose sums were taken in another order 0.999; the nearest wrong one (the update
# rounded to bfloat16) 0.75 of an ordinary and 0.99 of a tiny update, and is then told apart by
# its own, better share; a wrong layout below 0.1.
RIGHT_SHARE = 0.98
# From here on no other way is tried; below, one with a better share is the answer.
SURE_SHARE = 0.9995


class Verdict(NamedTuple):
    """The update that a tensor received, with the numbers behind it.

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
    origin: Origin | None = None


def first_look(pair: Pair, blocks: list[Block]) -> Verdict:
    """Compare with the right way alone; the signature is empty if that settles nothing."""
    numbers = _Numbers(Score(RIGHT))
    for block in blocks:
        base, start, stored = pair.read(block)
        update = pair.updates.update(RIGHT, block.matrix, row_numbers(block))
        with np.errstate(over="ignore", invalid="ignore"):
            right = store(base + update, pair.dtype)
        numbers.add(pair, block.matrix, (base, start, stored, right, update))
    return numbers.verdict()


class _Numbers:
    """Sums over the blocks of a tensor."""

    def __init__(self, score: Score) -> None:
        self.score = score
        # By matrix: equal elements among the relevant ones, the relevant ones, those that M
        # changes.
        self.matrices: dict[int, list[int]] = {}
        self.compared = self.expected = self.broken = 0
        self.dot = self.size = self.change = self.total = self.most = self.largest = 0.0

    def add(self, pair: Pair, matrix: int, arrays: tuple[Any, Any, Any, Any, Any]) -> None:
        """Add a block: W in float32, W, M and the right merge as stored, and the update."""
        base, start, stored, right, update = arrays
        hits, relevant = self.score.hits, self.score.informative
        self.score.add(stored, right, start, pair.dtype, pair.slack)
        changed = int(np.count_nonzero(~equal(stored, start, pair.dtype, pair.slack)))
        counts = (self.score.hits - hits, self.score.informative - relevant, changed)
        known = self.matrices.get(matrix, (0, 0, 0))
        self.matrices[matrix] = [a + b for a, b in zip(known, counts, strict=True)]
        self.expected += int(np.count_nonzero(~equal(right, start, pair.dtype, pair.slack)))
        self.compared += stored.size
        ours, wanted = as_float32(stored, pair.dtype), as_float32(right, pair.dtype)
        self.broken += int(np.count_nonzero(~np.isfinite(ours) & np.isfinite(wanted)))
        with np.errstate(over="ignore", invalid="ignore"):
            step = np.nan_to_num(ours - base, posinf=0, neginf=0).ravel()
            away = np.nan_to_num(abs(ours - wanted), posinf=0)
        flat = np.nan_to_num(update, posinf=0, neginf=0).ravel()
        self.dot += float(step @ flat)
        self.size += float(flat @ flat)
        self.change += float(step @ step)
        self.total += float(away.sum(dtype=np.float64))
        self.most = max(self.most, float(away.max()))
        self.largest = max(self.largest, float(abs(flat).max()))

    def verdict(self) -> Verdict:
        """The numbers, with a signature if the first look settles it."""
        compared = max(1, self.compared)
        changed = sum(changed for _, _, changed in self.matrices.values())
        return Verdict(
            self._signature(), self.compared, changed, self.expected, self.score.equal / compared,
            ratio(self.dot, self.size), ratio(self.dot, math.sqrt(self.size * self.change)),
            self.most, self.total / compared, self.largest,
        )  # fmt: skip

    def _signature(self) -> str:
        if self.broken:
            return "other"  # infinite or no numbers if a right merge has numbers
        if self.score.informative and self.score.share >= SURE_SHARE:
            return "correct"
        return "partial" if self._is_partial() else ""

    def _is_partial(self) -> bool:
        """Every expert has either the right update or none, and there are both."""
        counts = [each for each in self.matrices.values() if each[1]]
        right = sum(hits >= RIGHT_SHARE * relevant for hits, relevant, _ in counts)
        still = sum(changed == 0 for _, _, changed in counts)
        return right > 0 and still > 0 and right + still == len(counts)
