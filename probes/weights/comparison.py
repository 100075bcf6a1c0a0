"""Decides which update a tensor received: W of the base, M merged, and what each way of merging
would have stored, H = round(W + update).

The decision goes by the share of equal elements of M and H among those that M or H changes, then
by the cosine of their changes, never by the largest difference: 16-bit rounding exceeds the
difference that a wrong layout of a small update makes (and then most elements do not change).
"""

from __future__ import annotations

from .first_look import RIGHT_SHARE, Verdict, first_look
from .hypotheses import LOW_PRECISION, Way, ways
from .pairs import Pair, Score
from .safetensors_files import Tensor
from .sampling import Block, blocks_of, thinned
from .strangers import is_rounded, name_stranger
from .targets import Target

# Shares of equal elements among the changed ones, as in :mod:`.first_look`.
CLEAR_SHARE = 0.9
# Cosine of the changes that still shows a way of merging when rounding differs.
ALIKE = 0.8
# Elements on which all ways are tried.
TRIAL = 2**20


def compare(target: Target, merged: Tensor, elements: int, foreign_base: bool) -> Verdict:
    """Compare a merged tensor of the target's shape, on about ``elements`` elements.

    ``foreign_base``: the tensors that the adapter leaves alone differ from the base model.
    Raises ``OSError`` or ``ValueError`` where a file cannot be read.
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
    # The first of equals wins: the right way stands first, exact arithmetic before rounding.
    best = max(tried, key=lambda score: score.share)
    if best.share < CLEAR_SHARE:
        best = max(tried, key=lambda score: score.cosine)
        if not _explains(pair, few[0].matrix, best):
            return first._replace(signature=name_stranger(pair, few[0].matrix, foreign_base))
    return _named(first, best)


def _explains(pair: Pair, matrix: int, best: Score) -> bool:
    """Whether a way that agrees in few elements accounts for the change. A layout is told by the
    direction alone; the right update or a multiple has to leave no more than rounding."""
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
