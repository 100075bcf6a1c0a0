"""Numbers as they come back from a format, those of eight bits included."""

from __future__ import annotations

from typing import Any

from ...shared import np
from ...weights.number_formats import through

_EIGHT_BITS = {"F8_E4M3": (3, -6, 448.0), "F8_E5M2": (2, -14, 57_344.0)}
"""Digits of the fraction, the least exponent, and the largest number."""


def stored(values: Any, name: Any) -> Any:
    """What comes out of a module in BF16 and is kept in another format (``I8``: as whole numbers,
    with one step for each token); as it is without one."""
    if not name:
        return values
    values = in_format(values, "BF16")
    if name != "I8":
        return in_format(values, str(name))
    step = np.maximum(np.abs(values).max(axis=-1, keepdims=True), np.float32(1e-20)) / 127
    return (np.rint(values / step) * step).astype(np.float32)


def in_format(values: Any, name: str) -> Any:
    """float32 numbers after rounding to a format, to even; the largest for what is too large."""
    if name not in _EIGHT_BITS:
        return through(np.ascontiguousarray(values, np.float32), name)
    digits, least, most = _EIGHT_BITS[name]
    exponent = np.frexp(values)[1] - 1
    step = np.ldexp(np.float32(1), np.maximum(exponent, least) - digits)
    found = np.rint(values / step) * step
    return found.clip(-most, most).astype(np.float32)
