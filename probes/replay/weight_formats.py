"""Weights of fewer bits, as hypotheses name them."""

from __future__ import annotations

from typing import Any

from ..shared import np
from .formula.few_bits import in_format, largest
from .weight_orders import Around, Weights


def rounded(
    weights: Weights, around: Around, part: str, bits: str, of: str = "row"
) -> dict[str, Any]:
    """Numbers of fewer bits of all matrices whose names begin so: one step for each ``row``, for
    ``all``, or for each ``32``, ``64`` or ``128`` numbers of a row; or another format."""
    found = {}
    for key, matrix in weights.items():
        if key.startswith(part) and matrix.ndim > 1:
            cut = matrix
            if of.isdigit():
                if matrix.shape[-1] % int(of) or matrix.shape[-1] == int(of):
                    raise ValueError("there are no such blocks")
                cut = matrix.reshape(*matrix.shape[:-1], -1, int(of))
            made = _in_bits(cut, bits, (-2, -1) if of == "all" else (-1,))
            found[key] = in_format(made.reshape(matrix.shape), "BF16")
    if not found:
        raise KeyError(part)
    return found


def _in_bits(matrix: Any, bits: str, axes: tuple[int, ...]) -> Any:
    """``scaled-`` formats are of numbers of which the largest is that of the format."""
    name = bits.removeprefix("scaled-")
    if not name.isdigit():
        step = np.float32(1)
        if name != bits:
            step = np.abs(matrix).max(axis=axes, keepdims=True) / np.float32(largest(name))
            step = np.where(step == 0, np.float32(1), step)
        return in_format(matrix / step, name) * step
    most = 2.0 ** (int(name) - 1) - 1
    step = np.abs(matrix).max(axis=axes, keepdims=True) / most
    step[step == 0] = 1
    return np.rint(matrix / step) * step
