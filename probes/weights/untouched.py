"""Tensors that no module of the adapter belongs to: a merge has to leave them as they are."""

from __future__ import annotations

from typing import NamedTuple

from ...reading.tensors import np
from ...reading.tensors.number_formats import SIZES, as_float32, equal, store, through
from ...reading.tensors.safetensors_files import Tensor
from .pairs import blocks_of

_CHUNK = 2**22
# Formats through which a float32 model may have gone, by the name that facts have for them.
_NARROW = {"base-bfloat16": "BF16", "base-float16": "F16"}


class Untouched(NamedTuple):
    """How a tensor without an update compares: ``same`` says that all compared elements are
    equal, ``plain`` that the base holds one number only (as a fresh norm does), which proves
    nothing about the model; ``share`` of equal elements and the largest difference. ``zeroed``:
    all are zero, but not those of the base; ``rounded`` names the 16-bit format after which all
    are equal."""

    same: bool
    plain: bool
    share: float
    max_abs: float | None
    zeroed: bool = False
    rounded: str = ""

    @property
    def tells(self) -> bool:
        """Whether a difference would indicate another base model."""
        return not self.zeroed and not self.rounded and not (self.plain and self.same)


def compare_untouched(base: Tensor, merged: Tensor, elements: int) -> Untouched | None:
    """Compare about ``elements`` elements; None if the formats allow no comparison. Raises
    ``OSError`` or ``ValueError`` if a file cannot be read."""
    if base.comparable and merged.comparable:
        return _by_number(base, merged, elements)
    if base.dtype != merged.dtype or base.size == 0:
        return None
    return _by_bytes(base, merged, elements)


def _by_number(base: Tensor, merged: Tensor, elements: int) -> Untouched:
    seen = hits = 0
    largest = 0.0
    low, high = np.inf, -np.inf
    # A wider format may have been rounded in between: then the narrower one counts.
    narrow = min(base.dtype, merged.dtype, key=SIZES.__getitem__)
    zero = True
    rounded = {} if narrow != "F32" else dict(_NARROW)
    for block in blocks_of(base, elements):
        ours = as_float32(merged.rows(*block), merged.dtype)
        theirs = as_float32(base.rows(*block), base.dtype)
        left, right = store(ours, narrow), store(theirs, narrow)
        hits += int(np.count_nonzero(equal(left, right, narrow, 0.0)))
        seen += ours.size
        zero = zero and not ours.any()
        rounded = {name: each for name, each in rounded.items()
                   if np.array_equal(ours, through(theirs, each))}  # fmt: skip
        with np.errstate(invalid="ignore", over="ignore"):
            away = np.nan_to_num(np.abs(ours - theirs), posinf=0)
        largest = max(largest, float(away.max()))
        low, high = min(low, float(theirs.min())), max(high, float(theirs.max()))
    same = hits == seen
    name = "" if same else next(iter(rounded), "")
    return Untouched(same, low == high, hits / seen, largest, zero and not same, name)


def _by_bytes(base: Tensor, merged: Tensor, elements: int) -> Untouched | None:
    count = min(elements, _CHUNK, base.size)
    left, right = base.read_bytes(0, count), merged.read_bytes(0, count)
    if not left or len(left) != len(right):
        return None
    same = left == right
    return Untouched(same, len(set(left[:4096])) < 2, float(same), None)
