"""Which rows of a tensor are compared: all of a small one, evenly spread blocks of a large one."""

from __future__ import annotations

from typing import NamedTuple

from .safetensors_files import Tensor

BLOCK = 2**20
# A large matrix is looked at in so many places at least, both ends among them; where there are
# many matrices, in fewer, but never less than two.
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
