"""Scalar products of rows: fast if float32 is enough, in float64 if it is not.

Differences and short sums are computed in float32 if the files have no more: the difference of
two close numbers is exact there, and a sum of squares over so few numbers is right to 1e-7. All
longer sums, and whatever float32 cannot hold, are in float64.
"""

from __future__ import annotations

import math
from typing import Any

from ...reading.tensors import np

SHORT = 1 << 10
"""Number of products that are summed in float32."""
_SMALL = 1e-24
"""Sums of squares below this may have lost numbers to underflow."""
_CANCELS = 0.05
"""Products lost digits if less than this share of them is left."""


def products(left: Any, right: Any) -> Any:
    """The scalar product of each pair of rows, in float64."""
    if left.dtype != np.float32 or right.dtype != np.float32:
        return np.vecdot(left, right, dtype=np.float64)
    rows, width = left.shape
    whole = width - width % SHORT
    form = (rows, -1, SHORT)
    found = np.zeros(rows)
    if whole:
        parts = np.vecdot(left[:, :whole].reshape(form), right[:, :whole].reshape(form))
        found += parts.sum(axis=1, dtype=np.float64)
    if width > whole:
        found += np.vecdot(left[:, whole:], right[:, whole:])
    return found


def refine(rows: Any, fp32: Any, bf16: Any, target: Any) -> None:
    """Compute those rows again, in float64, whose squares leave the range of float32, or whose
    product cancels out."""
    if np.float64 in (fp32.dtype, bf16.dtype, target.dtype):
        return
    squares, product = rows[:4], rows[4]
    cancels = np.abs(product) < _CANCELS * np.sqrt(squares[2] * squares[3])
    poor = ~((squares > _SMALL) & np.isfinite(squares)).all(axis=0) | cancels
    for at in np.flatnonzero(poor):
        a, b, c = (values[at].astype(np.float64) for values in (fp32, bf16, target))
        off, base = c - a, b - a
        rows[:, at] = off @ off, base @ base, a @ a, c @ c, a @ c


def largest(values: Any) -> float:
    """The largest magnitude, NaN if there is one."""
    low, high = float(values.min()), float(values.max())
    return low if math.isnan(low) else max(high, -low)
