"""Numbers rounded to a format and read back, including formats of eight bits."""

from __future__ import annotations

from typing import Any

from ....reading.tensors import np
from ....reading.tensors.number_formats import through

_EIGHT_BITS = {"F8_E4M3": (3, -6, 448.0), "F8_E5M2": (2, -14, 57_344.0)}
"""Digits of the fraction, the least exponent, and the largest number."""


def stored(values: Any, name: Any, start: int | None = None) -> Any:
    """Convert the BF16 output of a module to the format in which it is kept; without a format,
    return it unchanged. ``I8`` are whole numbers. These, and a format followed by a stretch
    (``F8_E4M3-token``), have one step for each token, or (``-all``) one for each call: that of the
    prompt, and those of the tokens from ``start`` on (positions are the last axis but one)."""
    if not name:
        return values
    values = in_format(values, "BF16")
    kind, _, of = str(name).partition("-")
    if not of and not kind.startswith("I"):
        return in_format(values, kind)
    if of != "all":
        return scaled(values, kind, -1)
    if values.ndim < 3:
        return scaled(values, kind, None)
    count = values.shape[-2]
    first = count if start is None else min(start, count)
    calls = [slice(0, first), *(slice(at, at + 1) for at in range(first, count))]
    return np.concatenate([scaled(values[..., call, :], kind, None) for call in calls
                           if call.stop > call.start], axis=-2)  # fmt: skip


def scaled(values: Any, kind: str, axes: Any) -> Any:
    """Quantise with one step for all numbers along some axes: to whole numbers (``I8``, ``I4``), or
    to a format whose largest number matches the largest value."""
    top = largest(kind) if kind in _EIGHT_BITS else 2.0 ** (int(kind[1:]) - 1) - 1
    most = np.abs(values).max(axis=axes, keepdims=True)
    step = np.maximum(most, np.float32(1e-20)) / np.float32(top)
    cut = values / step
    return ((in_format(cut, kind) if kind in _EIGHT_BITS else np.rint(cut)) * step).astype(
        np.float32
    )


def weight_in(matrix: Any, name: str) -> Any:
    """A weight of fewer bits, in BF16 again: a format as it is (``F8_E4M3``), or one with a step
    for each ``row``, for ``all``, or for so many numbers of a row (``I4-32``)."""
    kind, _, of = name.partition("-")
    if not of:
        return in_format(in_format(matrix, kind), "BF16")
    cut = matrix
    if of.isdigit():
        if matrix.shape[-1] % int(of) or matrix.shape[-1] == int(of):
            raise ValueError("there are no such blocks")
        cut = matrix.reshape(*matrix.shape[:-1], -1, int(of))
    made = scaled(cut, kind, (-2, -1) if of == "all" else -1)
    return in_format(made.reshape(matrix.shape), "BF16")


def largest(name: str) -> float:
    """The largest number of a format of eight bits."""
    return _EIGHT_BITS[name][2]


def in_format(values: Any, name: str) -> Any:
    """float32 numbers after rounding to a format, to even; values that are too large become the
    largest number."""
    if name not in _EIGHT_BITS:
        return through(np.ascontiguousarray(values, np.float32), name)
    digits, least, most = _EIGHT_BITS[name]
    exponent = np.frexp(values)[1] - 1
    step = np.ldexp(np.float32(1), np.maximum(exponent, least) - digits)
    found = np.rint(values / step) * step
    return found.clip(-most, most).astype(np.float32)
