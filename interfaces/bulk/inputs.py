"""The inputs of a bulk job: files of JSON lines (plain, ``.gz``, ``.zst``), folders of facts files,
folders of runs.

Each is read in a fixed order, from any position, and has a fingerprint that changes when its
content may have changed.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import zlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO, Protocol, cast

from ...facts import Location, Problem
from ...facts.fact_file import MAX_BYTES
from ...facts.records import cached_property
from .records import Position, Read, Record
from .trouble import failure, missing_extra

Fingerprint = tuple[str, str, int, str]
"""Name, type, size in bytes, and a mark that changes with the content."""
_PIECE = 1 << 20
_BROKEN = (OSError, EOFError, ValueError, zlib.error)


class Input(Protocol):
    """One input."""

    @property
    def fingerprint(self) -> Fingerprint: ...
    def reads(self, number: int, start: Position) -> Iterator[Read]:
        """The records from a position on; ``stored`` counts from the beginning of this input."""
        ...


class Inputs:
    """All inputs of a job, one after the other."""

    def __init__(self, paths: Sequence[Path], *, runs: bool) -> None:
        """``runs``: folders hold a run in each subfolder, to be inspected. Raises
        :class:`ModelMedicError` (MM336) for a path that cannot be an input."""
        self._inputs = [_input(path, runs) for path in paths]

    @cached_property
    def fingerprints(self) -> tuple[Fingerprint, ...]:
        return tuple(item.fingerprint for item in self._inputs)

    @property
    def size(self) -> int:
        """Bytes of all inputs as stored (compressed)."""
        return sum(size for _, _, size, _ in self.fingerprints)

    def reads(self, start: Position) -> Iterator[Read]:
        """The records from a position on."""
        behind = sum(size for _, _, size, _ in self.fingerprints[: start.source])
        for number in range(start.source, len(self._inputs)):
            begin = start if number == start.source else Position(number)
            for read in self._inputs[number].reads(number, begin):
                yield read._replace(stored=behind + read.stored)
            behind += self.fingerprints[number][2]


def _input(path: Path, runs: bool) -> Input:
    try:
        if path.is_dir():
            return RunFolders(path) if runs else FactsFolder(path)
        if not runs and path.is_file() and path.stat().st_size >= 0:
            path.open("rb").close()
            return LineFile(path)
    except OSError as error:
        what, hint = f"cannot be read: {error.strerror}", "check its permissions"
        raise failure("MM336", what, hint, str(path)) from None
    if not path.exists():
        raise failure("MM336", "there is nothing here", "check the path", str(path))
    what = "a folder of runs" if runs else "a file of JSON lines, or a folder"
    raise failure("MM336", f"not an input: {what} is expected", f"name {what}", str(path))


class LineFile:
    """One record per line. Empty lines are skipped."""

    def __init__(self, path: Path) -> None:
        self._path = path
        if path.suffix == ".zst":
            _arrow(str(path))  # fails now if it is missing

    @cached_property
    def fingerprint(self) -> Fingerprint:
        status = self._path.stat()
        return str(self._path), "lines", status.st_size, str(status.st_mtime_ns)

    def reads(self, number: int, start: Position) -> Iterator[Read]:
        """The records; a truncated input ends with a record that reports it."""
        name = str(self._path)
        line, offset, stored = start.line, start.offset, 0
        with ExitStack() as stack:
            try:
                file = stack.enter_context(self._path.open("rb"))
                stream = stack.enter_context(_decompressed(file, name))
                _skip(stream, offset)
                while data := stream.readline(MAX_BYTES + 1):
                    line += 1
                    length = len(data) if data.endswith(b"\n") else _whole_length(stream, len(data))
                    offset += length
                    stored = min(file.tell(), self.fingerprint[2])
                    if record := _line_record(name, line, data, length):
                        yield Read(record, Position(number, line, offset), stored)
            except _BROKEN as error:
                reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
                what = f"the input cannot be read any further: {reason}"
                hint = "repair or replace the file; the records before this place are diagnosed"
                problem = Problem("MM335", what, Location(name, line + 1), hint)
                end = Position(number + 1)
                yield Read(Record(name, line + 1, b"", problem), end, self.fingerprint[2])


def _line_record(name: str, line: int, data: bytes, length: int) -> Record | None:
    if length > MAX_BYTES + 1:
        message = f"the line is too long: {length:,} bytes (limit {MAX_BYTES:,})"
        problem = Problem("MM103", message, Location(name, line), "split it into several records")
        return Record(name, line, b"", problem)
    return Record(name, line, data) if data.strip() else None


def _whole_length(stream: BinaryIO, length: int) -> int:
    """Skip the rest of a line and return its length; ``length`` bytes have been read."""
    while piece := stream.readline(_PIECE):
        length += len(piece)
        if piece.endswith(b"\n"):
            break
    return length


def _skip(stream: BinaryIO, count: int) -> None:
    if isinstance(stream, io.BufferedReader) and stream.seekable():
        stream.seek(count)
        return
    while count > 0:
        piece = stream.read(min(count, _PIECE))
        if not piece:
            raise EOFError("it is shorter than it was")
        count -= len(piece)


def _decompressed(file: BinaryIO, name: str) -> BinaryIO:
    if name.endswith(".gz"):
        return cast(BinaryIO, gzip.open(file, "rb"))
    if name.endswith(".zst"):
        arrow = _arrow(name)
        plain = arrow.CompressedInputStream(arrow.PythonFile(file, mode="r"), "zstd")
        return cast(BinaryIO, io.BufferedReader(_ArrowStream(plain), _PIECE))
    return file


def _arrow(name: str) -> Any:
    try:
        import pyarrow
    except ImportError:
        raise missing_extra("a .zst file", "bulk", name) from None
    return pyarrow


class _ArrowStream(io.RawIOBase):
    """pyarrow's decompressed data as a forward-only stream."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._stream.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


class FactsFolder:
    """A folder in which every ``*.json`` file, at any depth, holds the facts of one run."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @cached_property
    def fingerprint(self) -> Fingerprint:
        return _folder_fingerprint(self._path, "facts", self._files())

    def reads(self, number: int, start: Position) -> Iterator[Read]:
        stored = 0
        for place, path in enumerate(self._files(), 1):
            if place <= start.line:
                stored += _size(path)
                continue
            record = _whole_file(path)
            stored += len(record.data)
            yield Read(record, Position(number, place), stored)

    def _files(self) -> Iterator[str]:
        for parent, folders, files in os.walk(self._path, onerror=_refuse):
            folders.sort()
            for name in sorted(files):
                if name.endswith(".json"):
                    yield os.path.join(parent, name)


class RunFolders:
    """A folder whose subfolders each hold one run: logs, metrics, scripts, data."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @cached_property
    def fingerprint(self) -> Fingerprint:
        name, kind, _, digest = _folder_fingerprint(self._path, "runs", self._folders())
        return name, kind, sum(1 for _ in self._folders()), digest

    def reads(self, number: int, start: Position) -> Iterator[Read]:
        for place, path in enumerate(self._folders(), 1):
            if place > start.line:
                yield Read(Record(path, 0), Position(number, place), place)

    def _folders(self) -> Iterator[str]:
        with os.scandir(self._path) as entries:
            yield from sorted(entry.path for entry in entries if entry.is_dir())


def _folder_fingerprint(path: Path, kind: str, files: Iterator[str]) -> Fingerprint:
    sha, size = hashlib.sha256(), 0
    for name in files:
        try:
            status = os.stat(name)
            look = f"{name}\0{status.st_size}\0{status.st_mtime_ns}\0"
            size += status.st_size
        except OSError:
            look = f"{name}\0"  # reading it will report the problem
        sha.update(look.encode(errors="replace"))
    return str(path), kind, size, sha.hexdigest()


def _refuse(error: OSError) -> None:
    """A folder that cannot be listed must not be skipped silently."""
    what = f"the folder cannot be read: {error.strerror}"
    raise failure("MM336", what, "check its permissions", str(error.filename)) from None


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def _whole_file(path: str) -> Record:
    """The record in a file, or the reason that it cannot be read."""
    try:
        if not os.path.isfile(path):
            raise OSError(0, "not a regular file")  # opening a pipe would wait for a writer
        with open(path, "rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        where = Location(path)
        reason = f"cannot read the file: {error.strerror}"
        return Record(path, 0, b"", Problem("MM101", reason, where, "check its permissions"))
    if len(data) > MAX_BYTES:
        message = f"the file has more than {MAX_BYTES:,} bytes"
        hint = "split it into several files"
        return Record(path, 0, b"", Problem("MM103", message, Location(path), hint))
    return Record(path, 0, data)
