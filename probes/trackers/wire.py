"""The fields of a protobuf message, without its schema.

The two formats that are read here use a handful of fields that have not changed since they exist;
the packages that define them bring hundreds of megabytes and take seconds to import.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import unpack_from

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
_BITS = 0x7F


def fields(raw: bytes) -> Iterator[tuple[int, int, int | bytes]]:
    """(number, wire type, value) of each field; fixed-width ones as their bytes. What is not a
    message ends early or raises ``ValueError``."""
    at, end = 0, len(raw)
    while at < end:
        key, at = _varint(raw, at)
        number, wire = key >> 3, key & 7
        value: int | bytes
        if wire == VARINT:
            value, at = _varint(raw, at)
        else:
            if wire == BYTES:
                size, at = _varint(raw, at)
            elif wire in (FIXED64, FIXED32):
                size = 8 if wire == FIXED64 else 4
            else:
                raise ValueError("no message: an unknown wire type")
            if at + size > end:
                raise ValueError("no message: a field ends behind it")
            value = raw[at : at + size]
            at += size
        yield number, wire, value


def _varint(raw: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while shift < 70 and at < len(raw):
        byte = raw[at]
        at += 1
        value |= (byte & _BITS) << shift
        if byte <= _BITS:
            return value, at
        shift += 7
    raise ValueError("no message: a number does not end")


def float32(raw: bytes) -> float:
    """The value of a fixed-width field of four bytes."""
    return float(unpack_from("<f", raw)[0])


def signed(value: int) -> int:
    """A varint as a signed number of 64 bits."""
    return value - 2**64 if value >= 2**63 else value
