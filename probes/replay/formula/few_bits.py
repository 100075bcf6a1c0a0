"""Numbers as they come back from a format, those of eight bits included."""

from __future__ import annotations

from typing import Any

from ...shared import np
from ...weights.number_formats import through

_EIGHT_BITS = {"F8_E4M3": (3, -6, 448.0), "F8_E5M2": (2, -14, 57_344.0)}
"""Digits of the fraction, the least exponent, and the largest number."""


def stored(values: Any, name: Any, start: int | None = None) -> Any:
    """What comes out of a module in BF16 and is kept in another format; as it is without one.
    ``I8`` are whole numbers with one step for each token, ``I8-all`` with one for each call: that
    of the prompt, and those of the tokens from ``start`` on (positions are the last axis but
    one)."""
    if not name:
        return values
    values = in_format(values, "BF16")
    if name == "I8-all" and values.ndim > 2:
        count = values.shape[-2]
        first = count if start is None else min(start, count)
        calls = [slice(0, first), *(slice(at, at + 1) for at in range(first, count))]
        return np.concatenate([_whole_numbers(values[..., call, :], None) for call in calls
                               if call.stop > call.start], axis=-2)  # fmt: skip
    if str(name).startswith("I8"):
        return _whole_numbers(values, None if name == "I8-all" else -1)
    return in_format(values, str(name))


def _whole_numbers(values: Any, axis: int | None) -> Any:
    most = np.abs(values).max(axis=axis, keepdims=True)
    step = np.maximum(most, np.float32(1e-20)) / 127
    return (np.rint(values / step) * step).astype(np.float32)


def largest(name: str) -> float:
    """The largest number of a format of eight bits."""
    return _EIGHT_BITS[name][2]


def in_format(values: Any, name: str) -> Any:
    """float32 numbers after rounding to a format, to even; the largest for what is too large."""
    if name not in _EIGHT_BITS:
        return through(np.ascontiguousarray(values, np.float32), name)
    digits, least, most = _EIGHT_BITS[name]
    exponent = np.frexp(values)[1] - 1
    step = np.ldexp(np.float32(1), np.maximum(exponent, least) - digits)
    found = np.rint(values / step) * step
    return found.clip(-most, most).astype(np.float32)
