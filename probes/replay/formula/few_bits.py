"""Numbers as they come back from a format, those of eight bits included."""

from __future__ import annotations

from typing import Any

from ...shared import np
from ...weights.number_formats import through

_EIGHT_BITS = {"F8_E4M3": (3, -6, 448.0), "F8_E5M2": (2, -14, 57_344.0)}
"""Digits of the fraction, the least exponent, and the largest number."""


def stored(values: Any, name: Any) -> Any:
    """What comes out of a module in BF16 and is kept in another format; as it is without one."""
    return values if not name else in_format(in_format(values, "BF16"), str(name))


def in_format(values: Any, name: str) -> Any:
    """float32 numbers after rounding to a format, to even; the largest for what is too large."""
    if name not in _EIGHT_BITS:
        return through(np.ascontiguousarray(values, np.float32), name)
    digits, least, most = _EIGHT_BITS[name]
    exponent = np.frexp(values)[1] - 1
    step = np.ldexp(np.float32(1), np.maximum(exponent, least) - digits)
    found = np.rint(values / step) * step
    return found.clip(-most, most).astype(np.float32)
