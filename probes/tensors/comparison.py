"""Compares one tensor of three runs, in pieces of bounded size (how: :mod:`.products`)."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ...reading.tensors import np
from ...reading.tensors.stored import Reader, Stored
from .device import GPU_BLOCK, Compute, Figures
from .products import largest, products, refine

BLOCK = 1 << 17
"""Elements of a piece: its five float32 arrays fit into the cache of the processor."""
MAX_ROWS = 1 << 20
"""Positions up to this number are kept one by one."""
MAX_WIDTH = 1 << 21
"""Rows up to this width are read whole, as the figures of logits need."""
EPS = 1e-12


class Shape(NamedTuple):
    """Batches, positions and width that are compared; ``first`` is the target's position in the
    reference (the last one if the target has only that)."""

    batches: int
    positions: int
    width: int
    first: int = 0


class Result(NamedTuple):
    """Figures of one tensor. ``state`` is the reason if ``r_ratio`` is None; ``per_position`` has
    arrays of the R-ratio and the cosine (and for logits KL and top-1) or None."""

    r_ratio: float | None
    state: str | None
    cosine: float | None
    rel_l2: float | None
    baseline_rel: float | None
    norm_ratio: float | None
    max_abs: float | None
    l_inf: float | None
    bit_equal: bool
    per_position: dict[str, Any] | None


def three(shape: tuple[int, ...]) -> tuple[int, int, int]:
    """A shape as (batches, positions, width)."""
    if len(shape) < 2:
        return 1, 1, math.prod(shape)
    return math.prod(shape[:-2]), shape[-2], shape[-1]


def align(reference: tuple[int, ...], target: tuple[int, ...], logits: bool) -> Shape | str:
    """The part of the target that corresponds to the reference, or the reason why nothing does.

    The device pads positions at the end, computes logits for the last position only, and pads the
    vocabulary; anything else is a shard or a mistake.
    """
    batches, positions, width = three(reference)
    others, steps, wide = three(target)
    if not (batches and positions and width and others and steps and wide):
        return "a tensor is empty"
    if batches != others:
        return f"the batches differ ({batches} and {others})"
    if width != wide and not logits:
        return f"the last axes differ ({width} and {wide}); a shard must be gathered first"
    width = min(width, wide)
    if steps >= positions:
        return Shape(batches, positions, width)
    if steps == 1 and logits:
        return Shape(batches, 1, width, positions - 1)
    return f"the target has {steps} positions, the reference {positions}"


class Rows:
    """The aligned rows of one tensor, read in order."""

    def __init__(self, reader: Reader, stored: Stored, shape: Shape, first: int) -> None:
        self._reader, self._shape, self._first = reader, shape, first
        _, self._steps, self._wide = three(stored.shape)
        self._at = 0  # numbers read or passed so far

    def read(self, row: int, rows: int, column: int, columns: int) -> Any:
        """``columns`` numbers of ``rows`` rows of one batch, from ``column``. They hold until the
        next call."""
        batch, position = divmod(row, self._shape.positions)
        start = ((batch * self._steps) + position + self._first) * self._wide + column
        if columns == self._wide or rows == 1:
            return self._take(start, rows * columns).reshape(rows, columns)
        first = self._take(start, columns)
        found = np.empty((rows, columns), first.dtype)
        found[0] = first
        for at in range(1, rows):
            found[at] = self._take(start + at * self._wide, columns)
        return found

    def _take(self, start: int, count: int) -> Any:
        self._reader.skip(start - self._at)
        self._at = start + count
        return self._reader.read(count)


def compare(
    fp32: Stored, bf16: Stored, target: Stored, shape: Shape, logits: bool, block: int = BLOCK,
    keep: Any = None, compute: Compute | None = None,
) -> Result:  # fmt: skip
    """The figures of one tensor, over the rows that ``keep`` marks (None: all); ``compute`` does
    them elsewhere than in numpy. Raises ``OSError`` or ``ValueError`` if a file is not what its
    header says."""
    block = block if compute is None else max(block, GPU_BLOCK)
    sums = _Sums(shape, logits, compute)
    with fp32.open() as a, bf16.open() as b, target.open() as c, np.errstate(all="ignore"):
        runs = (
            Rows(a, fp32, shape, shape.first),
            Rows(b, bf16, shape, shape.first),
            Rows(c, target, shape, 0),
        )
        columns = shape.width if logits or shape.width <= block else block
        step = max(1, block // columns)
        for batch in range(shape.batches):
            for position in range(0, shape.positions, step):
                rows = min(step, shape.positions - position)
                row = batch * shape.positions + position
                for column in range(0, shape.width, columns):
                    count = min(columns, shape.width - column)
                    parts = [run.read(row, rows, column, count) for run in runs]
                    if keep is not None:
                        for part in parts:  # nothing, in all three, adds nothing
                            part[~keep[row : row + rows]] = 0
                    sums.add(row, *parts)
        return sums.result(keep)


class _Sums:
    def __init__(self, shape: Shape, logits: bool, compute: Compute | None) -> None:
        total = shape.batches * shape.positions
        self._logits = logits
        self._compute = compute or self._figures
        self._space = [np.empty(0), np.empty(0)]
        self._by_row = total <= MAX_ROWS
        # Squares of target - fp32, bf16 - fp32, fp32, target, and the product fp32 * target.
        self._rows = np.zeros((5, total if self._by_row else 1))
        self._parts: list[list[float]] = [[], [], [], [], []]
        self._max_target = self._max_baseline = 0.0
        self._equal = True
        self._kl = np.zeros(total if logits and self._by_row else 0)
        self._top1 = np.zeros(len(self._kl))

    def add(self, row: int, fp32: Any, bf16: Any, target: Any) -> None:
        found = self._compute(fp32, bf16, target, bool(len(self._kl)))
        self._equal = self._equal and found.equal
        self._max_target = _larger(self._max_target, found.largest)
        self._max_baseline = _larger(self._max_baseline, found.largest_baseline)
        for part, value in zip(self._parts, found.rows.sum(axis=1), strict=True):
            part.append(float(value))
        if not self._by_row:
            return
        end = row + len(fp32)
        self._rows[:, row:end] += found.rows
        if len(self._kl):
            self._kl[row:end], self._top1[row:end] = found.kl, found.top1

    def _figures(self, fp32: Any, bf16: Any, target: Any, logits: bool) -> Figures:
        off, base = self._minus(0, target, fp32), self._minus(1, bf16, fp32)
        highest = largest(off)
        equal = self._equal and highest == 0
        if self._equal and math.isnan(highest):  # equal infinities have no difference
            equal = bool(np.array_equal(target, fp32))
        pairs = ((off, off), (base, base), (fp32, fp32), (target, target), (fp32, target))
        rows = np.stack([products(left, right) for left, right in pairs])
        refine(rows, fp32, bf16, target)
        found = Figures(rows, highest, largest(base), equal)
        if not logits:
            return found
        top1 = fp32.argmax(axis=1) == target.argmax(axis=1)
        return found._replace(kl=_divergence(fp32, target), top1=top1)

    def _minus(self, place: int, left: Any, right: Any) -> Any:
        """The difference, in memory that all pieces share."""
        kind = np.result_type(left, right)
        space = self._space[place]
        if space.dtype != kind or space.size < left.size:
            space = self._space[place] = np.empty(left.size, kind)
        return np.subtract(left, right, out=space[: left.size].reshape(left.shape))

    def result(self, keep: Any = None) -> Result:
        off, base, left, right, product = (_sum(part) for part in self._parts)
        r_ratio, state = _ratio(off, base)
        norm = math.sqrt(left) if left >= 0 else math.nan
        known = math.isfinite(norm) and norm > 0
        return Result(
            r_ratio=r_ratio, state=state, cosine=_cosine(product, left, right),
            rel_l2=_finite(math.sqrt(off) / norm) if known and off >= 0 else None,
            baseline_rel=_finite(math.sqrt(base) / norm) if known and base >= 0 else None,
            norm_ratio=_finite(math.sqrt(right) / norm) if known and right >= 0 else None,
            max_abs=_finite(self._max_target),
            l_inf=_finite(self._max_target / self._max_baseline) if self._max_baseline else None,
            bit_equal=self._equal, per_position=self._per_position(keep),
        )  # fmt: skip

    def _per_position(self, keep: Any) -> dict[str, Any] | None:
        if not self._by_row:
            return None
        off, base, left, right, product = self._rows
        floor = np.maximum(EPS, 1e-7 * np.sqrt(left)) if self._logits else EPS
        norms = np.sqrt(left) * np.sqrt(right)
        found = {
            "r_ratio": np.sqrt(off) / (np.sqrt(base) + floor),
            "cosine": np.where(norms > 0, product / np.where(norms > 0, norms, 1), 0.0),
        }
        if len(self._kl):
            found |= {"kl": self._kl, "top1": self._top1}
        return found if keep is None else {key: values[keep] for key, values in found.items()}


def _ratio(off: float, base: float) -> tuple[float | None, str | None]:
    """R, or why there is none: a pair of references that is bit-equal has no noise to compare."""
    if math.isnan(off) or math.isnan(base):
        return None, "nan"
    if math.isinf(off) or math.isinf(base):
        return None, "infinite"
    if base == 0:
        return None, "zero-denominator"
    return math.sqrt(off) / (math.sqrt(base) + EPS), None


def _cosine(product: float, left: float, right: float) -> float | None:
    if not all(map(math.isfinite, (product, left, right))):
        return None
    norm = math.sqrt(left) * math.sqrt(right)
    return max(-1.0, min(1.0, product / norm)) if norm > 0 else 0.0


def _divergence(reference: Any, target: Any) -> Any:
    """KL(softmax(reference) || softmax(target)) of each row, natural logarithm, clipped at 0."""
    p, q = (_log_softmax(rows.astype(np.float64)) for rows in (reference, target))
    return np.maximum(0, np.einsum("ij,ij->i", np.exp(p), p - q))


def _log_softmax(rows: Any) -> Any:
    shifted = rows - rows.max(axis=1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))


def _larger(known: float, found: Any) -> float:
    """The larger of two; NaN stays."""
    value = float(found)
    return value if value > known or math.isnan(value) else known


def _sum(parts: list[float]) -> float:
    # fsum raises if infinities of both signs, or a sum too large, come together.
    try:
        return math.fsum(parts)
    except (OverflowError, ValueError):
        return math.nan


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
