"""Computes the block of a tensor that a right merge, and each known wrong one, would have
written."""

from __future__ import annotations

import functools
import itertools
import math
import operator
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ...reading.tensors import np
from ...reading.tensors.number_formats import store, through
from .adapters import Lora
from .magnitudes import lengthened
from .targets import Piece, Target


class Way(NamedTuple):
    """A way of merging, right or wrong in one respect.

    ``flip`` interleaves if gate and up are halves, and the reverse; ``swap`` exchanges gate and
    up; ``only`` keeps the update of gate or up alone; ``pile`` adds both to gate; ``turn`` takes
    the other axis; ``starts`` are other first rows of the fused parts; ``factor`` scales the
    update; ``arithmetic`` is exact (float32), or names a low-precision order of operations;
    ``slip`` says what mistake leads to the factor, if only one does; ``plain`` leaves out the
    lengths of rows that DoRA has trained.
    """

    signature: str
    flip: bool = False
    swap: bool = False
    only: str = ""
    pile: bool = False
    turn: bool = False
    starts: tuple[int, ...] = ()
    factor: float = 1.0
    arithmetic: str = "exact"
    slip: str = ""
    plain: bool = False


RIGHT = Way("correct")
# Orders of low-precision operations, each with its number format.
LOW_PRECISION = {
    "delta-bfloat16": "bfloat16", "all-bfloat16": "bfloat16",
    "all-bfloat16-scaled-first": "bfloat16", "product-bfloat16": "bfloat16",
    "add-float16": "float16", "all-float16": "float16", "base-bfloat16": "bfloat16",
    "base-float16": "float16",
}  # fmt: skip


_FORMATS = {"bfloat16": "BF16", "float16": "F16"}
_PATTERN_SLIPS = {"rank": "rank-pattern-ignored", "alpha": "alpha-pattern-ignored",
                  "both": "patterns-ignored"}  # fmt: skip
_DECLARED = {*_PATTERN_SLIPS.values(), "root-ignored"}


def ways(target: Target) -> Iterator[Way]:
    """The right way first, then every wrong one that the tensor's shape allows."""
    yield RIGHT
    yield from _layouts(target)
    for arithmetic in LOW_PRECISION:
        yield Way("low-precision", arithmetic=arithmetic)
    lora = target.pieces[0].lora
    if target.magnitude is not None:
        yield Way("plain", slip="magnitude-left-out", plain=True)
    again = "twice" if math.isclose(lora.scale, 2) else "merged-twice"
    yield Way("scaled", factor=2.0, arithmetic="twice", slip=again)
    for factor, slip in _factors(lora).items():
        yield Way("scaled", factor=factor, slip=slip)


def _layouts(target: Target) -> Iterator[Way]:
    _, height, width = target.tensor.matrices
    square = height == width
    if target.is_fused:
        yield from (
            Way("interleaved", flip=True), Way("swapped", swap=True),
            Way("swapped", swap=True, flip=True), Way("up-on-gate", pile=True),
            Way("up-on-gate", pile=True, flip=True), Way("partial", only="gate"),
            Way("partial", only="up"),
        )  # fmt: skip
        if square:
            yield from (Way("wrong-axis", turn=True), Way("wrong-axis", turn=True, flip=True))
        return
    if target.sibling is not None:
        yield Way("swapped", swap=True)
    if target.pieces[0].part == "rows":
        yield from (Way("split-rows", starts=starts) for starts in _starts(target))
    elif square:
        yield Way("transposed", turn=True)


def _starts(target: Target) -> Iterator[tuple[int, ...]]:
    """Other first rows: every other order of the parts, and equal shares of the height."""
    heights = [piece.lora.rows for piece in target.pieces]
    right = tuple(piece.first for piece in target.pieces)
    seen = {right}
    total = target.tensor.matrices[1]
    orders = itertools.permutations(range(len(heights)))
    starts = [tuple(sum(heights[each] for each in order[: order.index(i)])
                    for i in range(len(heights))) for order in orders]  # fmt: skip
    starts.append(tuple(total * i // len(heights) for i in range(len(heights))))
    starts.append(tuple(0 for _ in heights))
    for each in starts:
        if each not in seen:
            seen.add(each)
            yield each


def _factors(lora: Lora) -> dict[float, str]:
    """Factors that slips with alpha and r lead to, none of them 1, with the slip if only one leads
    there."""
    scale, rank = lora.scale, lora.rank
    root = 1 / math.sqrt(rank)
    slips = (
        *(((lora.plain_scale / scale, _PATTERN_SLIPS[lora.pattern]),) if lora.pattern else ()),
        *(((root, "root-ignored"),) if lora.stabilised else ()),
        (1 / scale, "scale-left-out"), (scale, "scale-twice"), (rank, "rank-left-out"),
        (1 / rank, "rank-twice"), (1 / (scale * rank), "alpha-left-out"),
        (math.sqrt(rank), "rank-root"), (-1.0, "subtracted"), (2.0, ""), (0.5, ""),
    )  # fmt: skip
    kept: dict[float, str] = {}
    for factor, slip in slips:
        same = next((each for each in (1.0, *kept) if math.isclose(factor, each, rel_tol=1e-6)), 0)
        if not same:
            kept[factor] = slip
        elif kept.get(same) in _DECLARED:
            continue  # what the adapter's file asks for and the merge does not do
        elif slip and same in kept:
            kept[same] = "twice" if math.isclose(same, 2) and slip == "scale-twice" else ""
    if math.isclose(scale, 2) and kept.get(scale) not in _DECLARED:
        kept[scale] = "twice"
    return kept


class Updates:
    """Computes blocks of updates for one target; holds the matrices of one expert at a time."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._expert = -1
        self._pairs: dict[int, tuple[Any, Any]] = {}

    def merged(self, base: Any, way: Way, matrix: int, first: int, dtype: str) -> Any:
        """The block that ``way`` would have stored for ``base`` (float32), which starts at row
        ``first`` of a matrix."""
        rows = np.arange(first, first + len(base))
        with np.errstate(over="ignore", invalid="ignore"):
            update = self.update(way, matrix, rows)
            if way.arithmetic in ("add-float16", "all-float16"):
                return store(through(through(base, "F16") + through(update, "F16"), "F16"), dtype)
            if way.arithmetic.startswith("base-"):
                base = through(base, _FORMATS[LOW_PRECISION[way.arithmetic]])
            if way.arithmetic == "twice":
                half = update / 2
                return store(through(base + half, dtype) + half, dtype)
            return store(base + update, dtype)

    def update(self, way: Way, matrix: int, rows: Any) -> Any:
        """The update of some rows of a matrix in float32."""
        if self._expert != matrix:
            self._expert, self._pairs = matrix, {}
        target = self._target
        if way.swap and target.sibling is not None:
            return self._product(target.sibling, matrix, rows, way, target.axis == "natural")
        if target.is_fused:
            return self._fused(way, matrix, rows)
        if target.pieces[0].part == "rows":
            return self._stacked(way, matrix, rows)
        natural = (target.axis == "natural") != way.turn
        update = self._sum(target.pieces, matrix, rows, way, natural)
        size = target.magnitude
        return (
            update if size is None or way.plain else lengthened(target.tensor, size, update, rows)
        )

    def _fused(self, way: Way, matrix: int, rows: Any) -> Any:
        target = self._target
        natural = (target.axis == "natural") != way.turn
        interleaved = target.interleaved != way.flip
        _, height, width = target.tensor.matrices
        update = np.zeros((len(rows), width), np.float32)
        half = (height if natural else width) // 2
        for place in ("gate", "up"):
            wanted = _wanted(place, way)
            pieces = [piece for piece in target.pieces if piece.part in wanted]
            start = 0 if place == "gate" else 1 if interleaved else half
            end = None if interleaved or place == "up" else half
            step = 2 if interleaved else 1
            if natural:
                chosen, inner = _rows_of_part(rows, place, half, interleaved)
                update[chosen] = self._sum(pieces, matrix, inner, way, True)
            else:
                update[:, start:end:step] = self._sum(pieces, matrix, rows, way, False)
        return update

    def _stacked(self, way: Way, matrix: int, rows: Any) -> Any:
        target = self._target
        update = np.zeros((len(rows), target.tensor.matrices[2]), np.float32)
        starts = way.starts or tuple(piece.first for piece in target.pieces)
        for piece, start in zip(target.pieces, starts, strict=True):
            inside = (rows >= start) & (rows < start + piece.lora.rows)
            if inside.any():
                update[inside] += self._product(piece, matrix, rows[inside] - start, way, True)
        return update

    def _sum(
        self, pieces: list[Piece] | tuple[Piece, ...], matrix: int, rows: Any, way: Way,
        natural: bool,
    ) -> Any:  # fmt: skip
        here = [piece for piece in pieces if piece.expert in (None, matrix)]
        if not here:
            lora = self._target.pieces[0].lora
            return np.zeros((len(rows), lora.columns if natural else lora.rows), np.float32)
        products = (self._product(piece, matrix, rows, way, natural) for piece in here)
        return functools.reduce(operator.add, products)

    def _product(self, piece: Piece, matrix: int, rows: Any, way: Way, natural: bool) -> Any:
        """The update of a module's rows; a transposed one has inputs for rows."""
        a, b = self._pair(piece, matrix)
        cast = _casts(way.arithmetic)
        scale = np.float32(piece.lora.scale)
        if way.arithmetic in ("all-bfloat16", "all-float16"):
            a, b = cast(a), cast(b / scale)
            return cast(cast(_matmul(a, b, rows, natural)) * scale)
        if way.arithmetic == "all-bfloat16-scaled-first":
            a, b = cast(a), cast(cast(b / scale) * scale)
        if way.arithmetic == "product-bfloat16":
            a, b = cast(a), cast(b)
        update = cast(_matmul(a, b, rows, natural))
        return update if way.factor == 1 else update * np.float32(way.factor)

    def _pair(self, piece: Piece, matrix: int) -> tuple[Any, Any]:
        key = id(piece)
        if key not in self._pairs:
            source = piece.source if piece.source is not None else matrix
            self._pairs[key] = piece.lora.pair(0 if piece.expert is not None else source)
        return self._pairs[key]


def _wanted(place: str, way: Way) -> tuple[str, ...]:
    """The parts whose updates a way of merging writes into a place."""
    if way.pile:
        return ("gate", "up") if place == "gate" else ()
    if way.only:
        return (place,) if place == way.only else ()
    if way.swap:
        return ("up",) if place == "gate" else ("gate",)
    return (place,)


def _rows_of_part(rows: Any, place: str, half: int, interleaved: bool) -> tuple[Any, Any]:
    """The mask of the rows of gate or up, and their numbers within that part."""
    if interleaved:
        chosen = rows % 2 == (0 if place == "gate" else 1)
        return chosen, rows[chosen] // 2
    chosen = rows < half if place == "gate" else rows >= half
    return chosen, rows[chosen] - (0 if place == "gate" else half)


def _matmul(a: Any, b: Any, rows: Any, natural: bool) -> Any:
    return b[rows] @ a if natural else a[:, rows].T @ b.T


def _casts(arithmetic: str) -> Callable[[Any], Any]:
    """The rounding between the steps of a computation."""
    if arithmetic == "all-float16":
        return lambda values: through(values, "F16")
    if LOW_PRECISION.get(arithmetic) == "bfloat16" and arithmetic != "base-bfloat16":
        return lambda values: through(values, "BF16")
    return lambda values: values
