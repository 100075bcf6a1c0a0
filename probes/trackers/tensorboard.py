"""TensorBoard event files: records of length, checksum, message, checksum.

Of a message its step and its scalars are read, in both forms that writers use (a plain value, or a
tensor of one element). Of a file with very many records whole stretches are skipped, evenly.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil
from pathlib import Path
from struct import Struct, error, unpack_from
from typing import BinaryIO

from ...facts.progress import Progress, Step
from .series import MAX_VALUES, Series
from .wire import BYTES, FIXED32, VARINT, fields, float32, signed

MARK = b"brain.Event:"
MAX_BYTES = 4_000_000_000
MAX_RECORD = 64_000_000
_CHUNK = 4_000_000
_STRETCH = 1_000  # records that are read, or passed over, in a row
_LENGTH = Struct("<Q")
_AROUND = 16  # bytes of a record apart from its message


def looks_like_events(head: bytes) -> bool:
    """Whether ``head`` is the beginning of an event file."""
    return MARK in head[:64] and head[:1] != b"{"


def read_events(path: Path, file: BinaryIO, size: int, progress: Progress) -> Series:
    """The scalars of a file."""
    series = Series(str(path))
    with progress.part(path.name, size, "bytes", ends_early=True) as step:
        reader = _Records(file, size, step)
        for raw in reader:
            try:
                _take(series, raw)
            except (ValueError, error):
                reader.broken += 1
            if series.full:
                break
    if reader.ended:
        series.problem("MM407", "the reading was ended; what follows is left out")
    if reader.stride > 1 or series.full:
        series.problem("MM442", f"the file is long: {reader.read:,} of its records are used")
    if reader.wrong:
        series.problem("MM441", f"no record at byte {reader.at:,}: what follows is left out")
    if reader.broken:
        series.problem("MM441", f"{reader.broken:,} records are broken and left out")
    return series


class _Records:
    """The messages of a file, within its bounds."""

    def __init__(self, file: BinaryIO, size: int, step: Step) -> None:
        self._file, self._size, self._step = file, size, step
        self.at = self.read = self.broken = 0
        self.stride = 1
        self.wrong = self.ended = False

    def __iter__(self) -> Iterator[bytes]:
        buffer, start, number = b"", 0, 0
        while True:
            if len(buffer) - start < 12:
                buffer, start = buffer[start:] + self._more(), 0
                if len(buffer) < 12:
                    return
            (length,) = _LENGTH.unpack_from(buffer, start)
            whole = length + _AROUND
            if length > MAX_RECORD:
                self.wrong = True
                return
            while len(buffer) - start < whole:
                more = self._more()
                if not more:
                    return  # it is being written, or was cut
                buffer, start = buffer[start:] + more, 0
            if (number // _STRETCH) % self.stride == 0:
                self.read += 1
                yield buffer[start + 12 : start + 12 + length]
            start += whole
            self.at += whole
            number += 1
            if number == _STRETCH:
                self.stride = max(ceil(self._size / self.at * _STRETCH / MAX_VALUES), 1)

    def _more(self) -> bytes:
        if self.ended or self.at > MAX_BYTES:
            return b""
        chunk = self._file.read(_CHUNK)
        self.ended = bool(chunk) and not self._step(len(chunk))
        return chunk


def _take(series: Series, raw: bytes) -> None:
    step, summary = 0, b""
    for number, wire, value in fields(raw):
        if number == 2 and wire == VARINT and isinstance(value, int):
            step = signed(value)
        elif number == 5 and wire == BYTES and isinstance(value, bytes):
            summary = value
    for number, wire, value in fields(summary):
        if number == 1 and wire == BYTES and isinstance(value, bytes):
            _take_value(series, step, value)


def _take_value(series: Series, step: int, raw: bytes) -> None:
    tag, scalar = "", None
    for number, wire, value in fields(raw):
        if not isinstance(value, bytes):
            continue
        if number == 1 and wire == BYTES:
            tag = value.decode("utf-8", "replace")
        elif number == 2 and wire == FIXED32:
            scalar = float32(value)
        elif number == 8 and wire == BYTES and len(value) < 100:
            scalar = _of_tensor(value)
    if tag and scalar is not None:
        series.add(step, tag, scalar)


def _of_tensor(raw: bytes) -> float | None:
    """The value of a tensor of one float."""
    kind, found = 0, None
    for number, wire, value in fields(raw):
        if number == 1 and wire == VARINT and isinstance(value, int):
            kind = value
        elif number in (4, 5, 6) and isinstance(value, bytes) and wire in (BYTES, FIXED32):
            found = value
    if found is None or kind not in (1, 2):
        return None
    width = {1: 4, 2: 8}[kind]
    return (
        float(unpack_from("<f" if kind == 1 else "<d", found)[0]) if len(found) == width else None
    )
