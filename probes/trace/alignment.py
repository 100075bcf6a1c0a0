"""Finds the quantities that two traces share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ...reading.tensors import np
from .quantity import Quantity, Trace

TOLERANCE = 3e-5
"""Share of the root mean square: ten times the rounding of other orders of sums in FP32. At 2e-4,
frequencies that were rounded to BF16 would pass."""
FLOATING = ("float", "bfloat")
SHAPES = frozenset(
    {"view", "reshape", "_unsafe_view", "_reshape_alias", "t", "transpose", "permute", "movedim",
     "expand", "unsqueeze", "squeeze", "clone", "contiguous", "_to_copy", "detach", "alias",
     "lift_fresh"}
)  # fmt: skip
"""Operations whose result holds the same numbers."""
LAYOUT = SHAPES | frozenset(
    {"repeat", "repeat_interleave", "unfold", "as_strided", "slice", "select", "narrow", "split",
     "split_with_sizes", "chunk", "unbind", "cat", "stack", "index", "index_select", "gather",
     "embedding", "flip", "roll", "constant_pad_nd", "copy", "written"}
)  # fmt: skip
"""Operations that move values and compute none."""


class Aligned(NamedTuple):
    """A trace beside another one: ``twins`` holds, for each quantity, the number of the equal one
    of the other trace, -1 for one that is known without a twin (a constant, a layout of known
    ones, rows of the other's weights), or None."""

    trace: Trace
    twins: Sequence[int | None]
    standards: Sequence[int]

    def standard(self, at: int) -> int:
        """One number for all quantities of both traces that equal this one, or -1."""
        return self.standards[at]

    def known(self, at: int) -> bool:
        """Whether a quantity is one of the other trace, too."""
        return self.twins[at] is not None

    def quantity(self, at: int) -> Quantity:
        """A quantity by its number."""
        return self.trace.quantities[at]


def align_both(
    port: Trace, reference: Trace, tolerance: float = TOLERANCE
) -> tuple[Aligned, Aligned]:
    """The port beside the reference, and the reference beside the port."""
    mine, theirs = _twins(port, reference, tolerance), _twins(reference, port, tolerance)
    standards = [-1 if twin is None else twin for twin in mine]
    back = [standards[twin] if twin is not None and twin >= 0 else -1 for twin in theirs]
    return Aligned(port, mine, standards), Aligned(reference, theirs, back)


def equal_ones(mine: Trace, other: Trace, tolerance: float = TOLERANCE) -> list[int | None]:
    """For each quantity the first equal one of the other trace, -1 for a constant."""
    table, order = _sorted_table(other)
    phases = np.array([each.phase for each in other.quantities], dtype=np.int64)[order]
    return [_find(one, one.moments, table, order, phases, tolerance) if one.moments else -1
            for one in mine.quantities]  # fmt: skip


def _twins(mine: Trace, other: Trace, tolerance: float) -> list[int | None]:
    equal = equal_ones(mine, other, tolerance)
    twins: list[int | None] = []
    for at, one in enumerate(mine.quantities):
        twin = equal[at]
        if twin is None:
            twin = mine.shared.get(at)
        if twin is None and not one.dtype.startswith(FLOATING):
            twin = -1  # numbers of positions and masks: what reads them is compared
        if twin is None and one.op in LAYOUT and one.inputs and _keeps(one, mine):
            known = all(twins[each] is not None for each in one.inputs)
            twin = -1 if known else None
        twins.append(twin)
    return twins


def _sorted_table(trace: Trace) -> tuple[Any, Any]:
    found = [(at, one.moments) for at, one in enumerate(trace.quantities) if one.moments]
    table = np.array([each for _, each in found] or np.zeros((0, 6)), dtype=np.float64)
    numbers = np.array([at for at, _ in found], dtype=np.int64)
    order = np.argsort(table[:, 5], kind="stable")
    return table[order], numbers[order]


def _find(
    one: Quantity,
    moments: Sequence[float],
    table: Any,
    numbers: Any,
    phases: Any,
    tolerance: float,
) -> int | None:
    """The first equal quantity, not of a later position."""
    low, high = np.searchsorted(table[:, 5], (moments[5] - tolerance, moments[5] + tolerance))
    near = np.abs(table[low:high] - moments).max(1, initial=0.0) < tolerance
    near &= phases[low:high] <= one.phase
    return int(numbers[low:high][near].min()) if near.any() else None


def _keeps(one: Quantity, trace: Trace) -> bool:
    """Whether an operation of layout leaves the number format as it is, or widens it."""
    widths = {"float64": 3, "float32": 2, "float16": 1, "bfloat16": 1}
    from_ = [trace.quantities[each].dtype for each in one.inputs]
    return widths.get(one.dtype, 9) >= max((widths.get(each, 0) for each in from_), default=0)


def near(
    one: Sequence[float] | None, other: Sequence[float] | None, tolerance: float = TOLERANCE
) -> bool:
    """Whether two fingerprints are equal, but for rounding."""
    if one is None or other is None:
        return one is other
    return max(abs(a - b) for a, b in zip(one, other, strict=True)) < tolerance
