"""Reads text files of any size within bounds: lines with their numbers, JSON rows, whole texts.

Files packed by gzip are unpacked on the way; the bounds are those of the unpacked text.

Shared by the probes of run folders, profiles and data sets. Problems: MM440 a file cannot be read
at all, MM441 a line cannot be used, MM442 a part was left out because of a bound, MM407 because the
user did not want to wait.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

from ...facts.problems import Location, ModelMedicError, Problem, excerpt
from ...facts.progress import UNWATCHED, Progress, Step, interrupted
from ...facts.regular_files import open_regular
from .values import parse_json

# A line beyond this is skipped without being kept in memory.
MAX_LINE_BYTES = 8_000_000
# Lines reported one by one; a broken file would fill the report otherwise.
MAX_LINE_PROBLEMS = 20
_CHUNK = 1 << 20
_UNREADABLE = (OSError, ValueError, EOFError, zlib.error)
_GZIP = b"\x1f\x8b"
_MARKS = ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"), (b"\xef\xbb\xbf", "utf-8-sig"))


class Line(NamedTuple):
    """A line without its end; ``number`` counts from 1. ``too_long`` says that it was skipped."""

    number: int
    raw: bytes
    too_long: bool = False


class Row(NamedTuple):
    """The JSON value of a line, or its problem in ``error``."""

    number: int
    value: Any
    error: str = ""


class Ending:
    """The state at the end of a file: whether the bound on bytes cut it, or the user, if the reader
    ``ends_early``; and whether its last line has no line end (the writer was killed)."""

    def __init__(self, *, ends_early: bool = False) -> None:
        self.ends_early = ends_early
        self.cut = False
        self.interrupted = False
        self.open_line = False

    def problem(self, used: str, where: Location) -> Problem:
        """That the file was cut (MM442, MM407); ``used`` says where."""
        if self.interrupted:
            return interrupted(used, where)
        return Problem("MM442", f"the file is long: {used}", where)


def read_lines(
    path: Path, max_bytes: int, ending: Ending | None = None, progress: Progress = UNWATCHED
) -> Iterator[Line]:
    """The lines of a regular file, at most ``max_bytes`` of it, in bounded memory.

    Raises :class:`ModelMedicError` (MM440) if it cannot be opened or read, also half-way.
    """
    ending = ending or Ending()
    with _open(path) as file:
        size = _size(file, max_bytes)
        part = progress.part(path.name, size, "bytes", ends_early=ending.ends_early)
        with part as step:
            yield from _lines(file, max_bytes, ending, step)


def _size(file: BinaryIO, max_bytes: int) -> int:
    """Bytes to be read; 0 if that is unknown before unpacking."""
    return (
        min(os.fstat(file.fileno()).st_size, max_bytes) if isinstance(file, BufferedReader) else 0
    )


@contextmanager
def _open(path: Path) -> Iterator[BinaryIO]:
    """The file, unpacked. Raises MM440 if opening it, or reading in the context, fails."""
    try:
        with open_regular(path) as file:
            packed = file.read(2) == _GZIP
            file.seek(0)
            if not packed:
                yield file
                return
            import gzip

            with gzip.GzipFile(fileobj=file) as unpacked:
                yield cast(BinaryIO, unpacked)
    except _UNREADABLE as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        hint = "check the path and its permissions"
        raise ModelMedicError(Problem("MM440", f"cannot read the file: {reason}",
                                      Location(str(path)), hint)) from None  # fmt: skip


def _lines(file: BinaryIO, max_bytes: int, ending: Ending, step: Step) -> Iterator[Line]:
    number, left = 0, max_bytes
    told = left - _CHUNK
    while True:
        if left < told:
            goes_on = step(told + _CHUNK - left)
            told = left - _CHUNK
            if ending.ends_early and not goes_on:
                ending.cut = ending.interrupted = True
                return
        # One byte more than the bound tells a line of exactly that length from a longer one.
        raw = file.readline(min(MAX_LINE_BYTES, left) + 1)
        if not raw:
            return
        number += 1
        left -= len(raw)
        if left < 0:
            ending.cut = True
            return
        if raw.endswith(b"\n"):
            yield Line(number, raw.rstrip(b"\r\n"))
        elif len(raw) > MAX_LINE_BYTES:
            left = _skip_line(file, left)
            yield Line(number, b"", too_long=True)
            if left < 0:
                ending.cut = True
                return
        else:
            ending.open_line = True
            yield Line(number, raw.rstrip(b"\r"))


def _skip_line(file: BinaryIO, left: int) -> int:
    while left >= 0:
        chunk = file.readline(_CHUNK)
        left -= len(chunk)
        if not chunk or chunk.endswith(b"\n"):
            break
    return left


def read_rows(
    path: Path, max_bytes: int, ending: Ending | None = None, progress: Progress = UNWATCHED
) -> Iterator[Row]:
    """The JSON values of the lines that are not blank. Raises MM440 as :func:`read_lines` does."""
    number = 0
    try:
        for line in read_lines(path, max_bytes, ending, progress):
            number = line.number
            if line.too_long:
                yield Row(number, None, f"the line has more than {MAX_LINE_BYTES:,} bytes")
            elif line.raw.strip():
                yield parse_row(number, line.raw)
    except ModelMedicError as error:
        if not number:
            raise
        # The rows so far are good; a file that breaks off loses only the rest.
        why = error.problems[0].message
        yield Row(number + 1, None, f"{why}; everything from here on is lost")


def parse_row(number: int, raw: bytes) -> Row:
    """The JSON value of one line; ``NaN`` and ``Infinity`` are taken as Python writes them."""
    try:
        text = raw.decode("utf-8-sig" if number == 1 else "utf-8")
        return Row(number, json.loads(text))
    except UnicodeDecodeError as error:
        return Row(number, None, f"not UTF-8 (byte {error.start + 1} of the line)")
    except json.JSONDecodeError as error:
        return Row(number, None, f"not valid JSON at column {error.colno}: {error.msg}")
    except (ValueError, RecursionError) as error:
        reason = "nested too deep" if isinstance(error, RecursionError) else str(error)[:120]
        return Row(number, None, f"not usable as JSON: {reason}")


def read_text(path: Path, max_bytes: int) -> tuple[str, bool]:
    """The text of a regular file and whether it was cut at ``max_bytes``. Raises MM440."""
    with _open(path) as file:
        raw = file.read(max_bytes + 1)
    return decode(raw[:max_bytes]), len(raw) > max_bytes


def read_json(path: Path, max_bytes: int) -> tuple[Any, bool]:
    """The JSON value of a regular file and whether the file is too long for it; None if there is
    no value. Raises MM440."""
    text, cut = read_text(path, max_bytes)
    return None if cut else parse_json(text), cut


def decode(raw: bytes) -> str:
    """Decode text in UTF-8, or in UTF-16 if marked as such; other bytes are replaced."""
    encoding = next((name for mark, name in _MARKS if raw.startswith(mark)), "utf-8")
    return raw.decode(encoding, "replace")


def first_value(head: bytes) -> Any:
    """The JSON value of the first line of a file's head that is not blank, or None."""
    for number, raw in enumerate(head.splitlines()[:10], 1):
        if raw.strip():
            return parse_row(number, raw).value
    return None


class LineProblems:
    """Collects MM441 for single lines, at most MAX_LINE_PROBLEMS of them and then their number."""

    def __init__(self, path: Path, lost: str) -> None:
        self._name, self._lost = str(path), lost
        self._kept: list[Problem] = []
        self.count = 0

    def add(self, number: int, message: str) -> None:
        """Report a line; ``lost`` of the constructor says what that costs."""
        self.count += 1
        if len(self._kept) < MAX_LINE_PROBLEMS:
            text = f"{excerpt(message, 200)[1:-1]}; {self._lost}"
            self._kept.append(Problem("MM441", text, Location(self._name, number)))

    def all(self) -> list[Problem]:
        """The problems, with a last one for those that are not shown one by one."""
        more = self.count - len(self._kept)
        if not more:
            return self._kept
        text = f"{more:,} more lines cannot be used; {self._lost}"
        return [*self._kept, Problem("MM441", text, Location(self._name))]
