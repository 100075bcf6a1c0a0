"""Names a change that no way of merging this adapter explains: another adapter, another base,
misplaced rows, or none of these.

A LoRA update has few dimensions, whichever adapter it is of. Rows of the own update at other
places keep its row space and the sizes of its rows. Another base differs in all dimensions.
"""

from __future__ import annotations

from typing import Any

from ...reading.tensors import np
from ...reading.tensors.number_formats import as_float32, rounding_energy
from .hypotheses import RIGHT, Way
from .pairs import PLACES, Block, Pair, row_numbers

# Largest distance of a change from a low-dimensional one, in units of the expected rounding.
ROUNDING_TIMES = 3.0
# Relative error of an update that was computed in bfloat16 (eight bits) throughout.
LOW_PRECISION_ERROR = 2.0**-7
# A change below this many times its rounding shows no dimensions.
VISIBLE_TIMES = 4.0
# Share of a change beyond chance that lies in a row space, from which on it counts as inside.
INSIDE = 0.5
# Rows at other places are as long as they were, but for rounding.
ROW_SIZE_ERROR = 0.03
# Only up to this many elements are all rows of a matrix read for that.
MAX_MATRIX = 2**26
_AT_ONCE = 2**20


def name_stranger(pair: Pair, matrix: int, foreign_base: bool) -> str:
    """The signature of a change that is not this adapter's; ``foreign_base`` says that tensors
    without any update differ from the base too."""
    if foreign_base:
        return "wrong-base"
    rank = _rank(pair)
    change, update, energy = _sample(pair, matrix, rank)
    if change is None:
        return "other"
    total = float(np.sum(np.square(change)))
    values = np.linalg.svd(change, compute_uv=False)
    tail = float(np.sum(values[rank:] ** 2))
    if len(values) <= rank or total < VISIBLE_TIMES * energy or tail > ROUNDING_TIMES * energy:
        return "other"
    if _inside(change, update) > INSIDE and _has_its_row_sizes(pair, matrix, update):
        return "split-rows" if pair.target.pieces[0].part == "rows" else "other"
    return "wrong-adapter"


def is_rounded(pair: Pair, matrix: int, way: Way) -> bool:
    """Whether what a way leaves unexplained is as small as the rounding of 16-bit arithmetic makes
    it; another checkpoint of the same run, whose update is much alike, differs by more."""
    change, update, energy = _sample(pair, matrix, _rank(pair), way)
    if change is None:
        return False
    left = float(np.sum(np.square(change - update)))
    size = float(np.sum(np.square(update)))
    return left <= ROUNDING_TIMES * energy + LOW_PRECISION_ERROR**2 * size


def _rank(pair: Pair) -> int:
    """Dimensions that this adapter's update of the tensor can have."""
    pieces = pair.target.pieces
    if pieces[0].part == "rows":
        return sum(piece.lora.rank for piece in pieces)
    return pieces[0].lora.rank * (2 if pair.target.is_fused else 1)


def _sample(pair: Pair, matrix: int, rank: int, way: Way = RIGHT) -> tuple[Any, Any, float]:
    """Rows of one matrix: the change in float64, the update of a way, and the rounding energy;
    None instead of arrays if numbers are not finite."""
    changes, updates, energy = [], [], 0.0
    for block in _some_rows(matrix, pair.base.matrices[1], max(64, 4 * rank)):
        base, _, stored = pair.read(block)
        ours = as_float32(stored, pair.dtype)
        changes.append(ours.astype(np.float64) - base)
        updates.append(pair.updates.update(way, matrix, row_numbers(block)))
        if np.isfinite(ours).all():
            energy += rounding_energy(ours, pair.dtype)
    change, update = np.concatenate(changes), np.concatenate(updates).astype(np.float64)
    if not (np.isfinite(change).all() and np.isfinite(update).all()):
        return None, None, 0.0
    return change, update, energy


def _some_rows(matrix: int, height: int, wanted: int) -> list[Block]:
    """About ``wanted`` rows of a matrix in evenly spread runs."""
    if wanted >= height:
        return [Block(matrix, 0, height)]
    each = -(-wanted // PLACES)
    starts = sorted({(height - each) * place // (PLACES - 1) for place in range(PLACES)})
    return [Block(matrix, start, start + each) for start in starts]


def _inside(change: Any, update: Any) -> float:
    """Share of a change in the row space of an update, beyond what chance would give (0 to 1)."""
    _, sizes, directions = np.linalg.svd(update, full_matrices=False)
    basis = directions[sizes > 1e-5 * sizes.max(initial=0.0)]
    dimensions = basis.shape[0] / max(1, update.shape[1])
    total = float(np.sum(np.square(change)))
    if dimensions >= 1 or total == 0:
        return 0.0
    share = float(np.sum(np.square(change @ basis.T))) / total
    return float((share - dimensions) / (1 - dimensions))


def _has_its_row_sizes(pair: Pair, matrix: int, update: Any) -> bool:
    """Whether the rows of the change are as long as those of the whole update, in any order."""
    _, height, width = pair.base.matrices
    if height * width > MAX_MATRIX:
        return False
    _, sizes, directions = np.linalg.svd(update, full_matrices=False)
    basis = directions[sizes > 1e-5 * sizes.max(initial=0.0)].T
    step = max(1, _AT_ONCE // width)
    mine, theirs = [], []
    for first in range(0, height, step):
        block = Block(matrix, first, min(height, first + step))
        base, _, stored = pair.read(block)
        mine.append(np.linalg.norm((as_float32(stored, pair.dtype) - base) @ basis, axis=1))
        right = pair.updates.update(RIGHT, matrix, row_numbers(block))
        theirs.append(np.linalg.norm(right, axis=1))
    ours, expected = np.sort(np.concatenate(mine)), np.sort(np.concatenate(theirs))
    return float(np.abs(ours - expected).sum()) <= ROW_SIZE_ERROR * float(expected.sum())
