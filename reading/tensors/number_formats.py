"""The number formats of stored weights, without torch.

*Stored* arrays hold the numbers as they are in the file; numpy has no bfloat16, so its bit
patterns are kept as unsigned 16-bit integers. Arithmetic is done in float32.
"""

from __future__ import annotations

from typing import Any

from . import np

# Formats that can be compared number by number -> (numpy name of the stored array, bytes each).
FORMATS = {"BF16": ("<u2", 2), "F16": ("<f2", 2), "F32": ("<f4", 4), "F64": ("<f8", 8)}
# Further formats of the file format, known by size only: quantized, index and mask tensors.
OTHER_FORMATS = {
    "BOOL": 1, "U8": 1, "I8": 1, "F8_E4M3": 1, "F8_E5M2": 1, "F8_E8M0": 1, "F8_E4M3FNUZ": 1,
    "F8_E5M2FNUZ": 1, "I16": 2, "U16": 2, "I32": 4, "U32": 4, "I64": 8, "U64": 8, "C64": 8,
}  # fmt: skip
SIZES = OTHER_FORMATS | {name: size for name, (_, size) in FORMATS.items()}
# Exponent of the last place relative to the exponent that numpy.frexp gives.
_LAST_PLACE = {"BF16": 8, "F16": 11, "F32": 24, "F64": 24}
_NAN = 0x7FC0


def as_float32(stored: Any, dtype: str) -> Any:
    """The numbers of a stored array in float32 (exact except for F64)."""
    if dtype == "BF16":
        return (stored.astype(np.uint32) << 16).view(np.float32)
    with np.errstate(over="ignore"):
        return stored.astype(np.float32)


def store(values: Any, dtype: str) -> Any:
    """float32 numbers rounded to a format as torch does it: to nearest, ties to even."""
    if dtype != "BF16":
        with np.errstate(over="ignore"):
            return values.astype(FORMATS[dtype][0])
    bits = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32)
    odd = (bits >> 16) & 1
    odd += 0x7FFF
    odd += bits  # may wrap for NaN only, which is set below
    odd >>= 16
    rounded = odd.astype(np.uint16)
    if not np.isfinite(values).all():
        rounded[np.isnan(values)] = _NAN
    return rounded


def through(values: Any, dtype: str) -> Any:
    """float32 numbers after rounding to a format and back."""
    return as_float32(store(values, dtype), dtype)


def equal(left: Any, right: Any, dtype: str, slack: float) -> Any:
    """Compare two stored arrays number by number.

    16-bit formats are compared exactly. A float32 merge depends on the order of its sums, so for
    float32 a relative error of 2^-18 and an absolute one of ``slack`` pass as equal.
    """
    if dtype == "BF16":
        return (left == right) | (((left | right) & 0x7FFF) == 0)  # 0 equals -0
    if dtype == "F16":
        return (left == right) | (np.isnan(left) & np.isnan(right))
    with np.errstate(invalid="ignore", over="ignore"):
        near = np.abs(left - right) <= np.abs(right) * 2.0**-18 + slack
    return near | (left == right)


def is_bfloat16_in_float32(values: Any) -> bool:
    """Whether a float32 array holds bfloat16 numbers only (a 16-bit model saved as float32)."""
    return not (values.view(np.uint32) & 0xFFFF).any()


def rounding_energy(values: Any, dtype: str) -> float:
    """Expected sum of squared errors when numbers of these sizes are rounded to a format."""
    _, exponent = np.frexp(values)
    steps = np.ldexp(np.float32(1), exponent - _LAST_PLACE[dtype])
    return float(np.sum(np.square(steps, dtype=np.float64)) / 12)
