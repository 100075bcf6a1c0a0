"""A tensor of the base model with its merged counterpart, and how well a way of merging fits."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ...reading.tensors import np
from ...reading.tensors.number_formats import as_float32, equal, is_bfloat16_in_float32, store
from ...reading.tensors.safetensors_files import Tensor
from .hypotheses import RIGHT, Updates, Way
from .targets import Target

BLOCK = 2**20
# A large matrix is sampled in at least this many places, both ends among them; with many matrices
# in fewer, but never less than two.
PLACES = 8
MANY_PLACES = 64


class Block(NamedTuple):
    """Rows ``first`` to ``last`` (excluded) of one matrix of a tensor."""

    matrix: int
    first: int
    last: int


def blocks_of(tensor: Tensor, elements: int) -> list[Block]:
    """Blocks with about ``elements`` elements in all, every matrix among them (but never more
    than one matrix for each 64 elements), in order."""
    matrices, height, width = tensor.matrices
    step = max(1, matrices * 64 // max(elements, 64))
    chosen = range(0, matrices, step)
    rows = max(2, elements // max(1, len(chosen) * width))
    places = max(2, min(PLACES, MANY_PLACES // len(chosen)))
    return [block for matrix in chosen
            for block in _of_matrix(matrix, height, width, rows, places)]  # fmt: skip


def _of_matrix(matrix: int, height: int, width: int, rows: int, places: int) -> list[Block]:
    limit = max(1, BLOCK // width)
    if rows >= height:
        return [Block(matrix, first, min(height, first + limit))
                for first in range(0, height, limit)]  # fmt: skip
    places = min(max(places, -(-rows // limit)), rows)
    each = min(limit, max(1, rows // places))
    if places == 1:
        return [Block(matrix, 0, each)]
    last = height - each
    starts = sorted({last * place // (places - 1) for place in range(places)})
    return [Block(matrix, first, first + each) for first in starts]


def thinned(blocks: list[Block], width: int, elements: int) -> list[Block]:
    """Some of the blocks, cut to about ``elements`` elements, evenly spread."""
    if not blocks:
        return []
    most = max(1, min(len(blocks), 32))
    chosen = [blocks[len(blocks) * i // most] for i in range(most)]
    rows = max(1, elements // (most * max(1, width)))
    return [Block(b.matrix, b.first, min(b.last, b.first + rows)) for b in chosen]


class Pair:
    """A tensor of the base and its merged counterpart, read in the same blocks."""

    def __init__(self, target: Target, merged: Tensor, probe: Block) -> None:
        self.target, self.base, self.merged = target, target.tensor, merged
        self.updates = Updates(target)
        # A 16-bit model that was saved in float32 is compared as a 16-bit model.
        sample = merged.rows(probe.matrix, probe.first, probe.last)
        narrow = merged.dtype == "F32"
        self.dtype = "BF16" if narrow and is_bfloat16_in_float32(sample) else merged.dtype
        right = self.updates.update(RIGHT, probe.matrix, row_numbers(probe))
        self.slack = 1e-5 * float(abs(right).max(initial=0.0)) if self.dtype[0] == "F" else 0.0

    def read(self, block: Block) -> tuple[Any, Any, Any]:
        """A block: W in float32, W and M as stored in M's format."""
        base = as_float32(self.base.rows(*block), self.base.dtype)
        stored = self.merged.rows(*block)
        if self.dtype != self.merged.dtype:
            stored = store(stored, self.dtype)
        return base, store(base, self.dtype), stored

    def merged_by(self, way: Way, base: Any, block: Block) -> Any:
        """The values that a way of merging would have stored."""
        return self.updates.merged(base, way, block.matrix, block.first, self.dtype)


def row_numbers(block: Block) -> Any:
    """The numbers of a block's rows."""
    return np.arange(block.first, block.last)


class Score:
    """Agreement of M with one way of merging."""

    def __init__(self, way: Way) -> None:
        self.way = way
        self.hits = self.informative = self.equal = 0
        self.dot = self.mine = self.theirs = 0.0

    def add(self, stored: Any, other: Any, base: Any, dtype: str, slack: float) -> None:
        """Take a block into account: M and H as stored, W as stored in M's format."""
        same = equal(stored, other, dtype, slack)
        relevant = ~(equal(stored, base, dtype, slack) & equal(other, base, dtype, slack))
        self.equal += int(np.count_nonzero(same))
        self.hits += int(np.count_nonzero(same & relevant))
        self.informative += int(np.count_nonzero(relevant))
        start = as_float32(base, dtype)
        with np.errstate(invalid="ignore", over="ignore"):
            mine = np.nan_to_num(as_float32(stored, dtype) - start, posinf=0, neginf=0).ravel()
            theirs = np.nan_to_num(as_float32(other, dtype) - start, posinf=0, neginf=0).ravel()
            self.dot += float(mine @ theirs)
            self.mine += float(mine @ mine)
            self.theirs += float(theirs @ theirs)

    @property
    def share(self) -> float:
        """Share of equal elements among those that M or H changes."""
        return self.hits / self.informative if self.informative else 0.0

    @property
    def cosine(self) -> float:
        """Cosine of the changes of M and H."""
        return ratio(self.dot, math.sqrt(self.mine * self.theirs))


def ratio(above: float, below: float) -> float:
    """``above / below``, or 0 if that is not a number."""
    return above / below if below > 0 and math.isfinite(above) else 0.0
