"""The files of one log, rotated and packed or not, as one stream of whole lines in time order."""

from __future__ import annotations

import errno
import os
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from importlib import import_module
from io import FileIO
from pathlib import Path
from typing import IO, NamedTuple, cast

from ...facts.problems import Location, Problem
from ...facts.regular_files import open_regular

CHUNK = 4 << 20
# Bytes of all files together, unpacked: a packed file can be a thousand times its size.
MAX_BYTES = 64 << 30
# Columns past this hold data dumps, not messages.
FREE = 1 << 30
MAX_RATIO = 200
"""A packed file is read to :data:`FREE` bytes, or this many times its size."""
MAX_LINE = 1 << 16
MAX_FILES = 1_000
HEAD = 1 << 16
_PACKED = frozenset({".gz", ".bz2", ".xz"})
_PACKERS = ((b"\x1f\x8b", "gzip"), (b"BZh", "bz2"), (b"\xfd7zXZ\x00", "lzma"))
# `.1`, `-20260102`, `.2026-01-02_03-04-05` behind the name of the log.
_ROTATED = re.compile(
    r"(?P<base>.+?)[.-](?:(?P<number>\d{1,3})|(?P<date>\d{4}-?\d\d-?\d\d[\dT_:.-]{0,16}))\Z"
)


class Piece(NamedTuple):
    """Whole lines of the log, each with its line end; ``line`` is the number of the first one,
    counted from 1 over all files, ``lines`` how many they are."""

    data: bytes
    line: int
    lines: int


class LogFamilies:
    """Groups the files that belong to one log; each folder is listed once."""

    def __init__(self) -> None:
        self._folders: dict[Path, dict[str, list[Path]]] = {}

    def of(self, path: Path) -> tuple[Path, ...]:
        """All files of the log that ``path`` belongs to, the oldest first; ``path`` alone if there
        is no other. Numbers count into the past (``log.2.gz``, ``log.1``, ``log``), dates name
        it."""
        folder = path.parent
        by_base = self._folders.get(folder)
        if by_base is None:
            by_base = self._folders[folder] = {}
            try:
                names = os.listdir(folder)
            except OSError:
                names = []
            for name in names:
                by_base.setdefault(_base(name), []).append(folder / name)
        found = by_base.get(_base(path.name), ())
        if path not in found:
            return (path,)
        return in_time_order(found)[-MAX_FILES:]


def in_time_order(paths: Sequence[Path]) -> tuple[Path, ...]:
    """The files of one log, the oldest first."""
    return tuple(sorted(paths, key=lambda path: (_age(path.name), path.name)))


def _base(name: str) -> str:
    stem = _unpacked(name)
    rotated = _ROTATED.match(stem)
    return rotated["base"] if rotated else stem


def _age(name: str) -> tuple[int, str, int]:
    """Sorts dated files by date, then numbered ones downwards, then the one being written."""
    rotated = _ROTATED.match(_unpacked(name))
    if rotated is None:
        return (2, "", 0)
    if rotated["number"] is None:
        return (0, rotated["date"].replace("-", ""), 0)
    return (1, "", -int(rotated["number"]))


def _unpacked(name: str) -> str:
    stem, dot, suffix = name.rpartition(".")
    return stem if dot + suffix in _PACKED and stem else name


def size_of(paths: Sequence[Path]) -> int:
    """Size of the files in bytes; 0 if it is only known after unpacking, or no file is readable."""
    if any(_unpacked(path.name) != path.name for path in paths):
        return 0
    try:
        return sum(path.stat().st_size for path in paths)
    except (OSError, ValueError):
        return 0


class LogStream:
    """Reads files one after the other; :meth:`pieces` can be walked once.

    A file that cannot be read costs that file, a damaged packed one the rest of it; both are
    reported in ``problems`` (MM490 cannot be read, MM493 not a text, MM494 damaged, MM495 too
    long). A lone text in UTF-16 is turned into UTF-8.
    """

    def __init__(self, paths: Sequence[Path], limit: int = MAX_BYTES) -> None:
        self.problems: list[Problem] = []
        self.cut_lines = 0
        self._paths = paths
        self._left = limit
        self._passed = self._last_lines = 0
        self._offsets: list[int] = []  # of the files that are not empty, in bytes and in lines
        self._starts: list[int] = []
        self._names: list[str] = []

    def place(self, line: int) -> str:
        """``file:line`` of a line of the stream."""
        at = bisect_right(self._starts, line) - 1
        if at < 0:
            return str(line)
        return f"{self._names[at]}:{line - self._starts[at] + 1}"

    def last_file(self) -> tuple[str, int]:
        """The newest file that was read, and the line of the stream that is its first."""
        return (self._names[-1], self._starts[-1]) if self._starts else ("", 1)

    def pieces(self) -> Iterator[Piece]:
        """The stream, in pieces of about :data:`CHUNK` bytes; the ends of pieces depend on the
        stream alone, not on its files."""
        line, rest, skipping = 1, b"", False
        self._passed = 0  # bytes of the stream before the rest
        for data in self._even(self._lines()):
            if skipping:
                end = data.find(b"\n") + 1 or len(data)
                self._passed += end
                skipping = data[end - 1 : end] != b"\n"
                data = data[end:]
            rest += data
            end = rest.rfind(b"\n") + 1
            if end:
                yield self._piece(rest[:end], line, end)
                line += self._last_lines
                rest = rest[end:]
            if len(rest) > CHUNK:
                yield self._piece(rest[:MAX_LINE] + b"\n", line, len(rest))
                line += 1
                rest, skipping = b"", True
                self.cut_lines += 1
        if rest:
            yield self._piece(rest + b"\n", line, len(rest))

    def _piece(self, data: bytes, line: int, size: int) -> Piece:
        """A piece that took ``size`` bytes of the stream; notes the files that begin in it."""
        for offset in self._offsets[len(self._starts) :]:
            if offset >= self._passed + size:
                break
            self._starts.append(line + data.count(b"\n", 0, offset - self._passed))
        self._passed += size
        self._last_lines = data.count(b"\n")
        return Piece(data, line, self._last_lines)

    def _even(self, parts: Iterator[bytes]) -> Iterator[bytes]:
        """The same bytes in parts of exactly :data:`CHUNK`, but for the last one."""
        held: list[bytes] = []
        size = 0
        for part in parts:
            while part:
                held.append(part[: CHUNK - size])
                part = part[CHUNK - size :]
                size += len(held[-1])
                if size == CHUNK:
                    yield b"".join(held) if len(held) > 1 else held[0]
                    held, size = [], 0
        if held:
            yield b"".join(held)

    def _lines(self) -> Iterator[bytes]:
        """The bytes of all files; each file ends with a line end. Records where each file
        begins."""
        offset = 0
        for path in self._paths:
            start, last = offset, b""
            for data in self._file(path):
                if offset == start and data:
                    self._offsets.append(start)
                    self._names.append(str(path))
                offset += len(data)
                last = data[-1:] or last
                yield data
            if last and last != b"\n":
                offset += 1
                yield b"\n"

    def _file(self, path: Path) -> Iterator[bytes]:
        where = Location(str(path))
        read = 0
        try:
            with _open(path) as stream:
                rest = _worth(path, stream)
                for data in _decoded(stream, where, self.problems):
                    kept = data[: min(self._left, rest - read)]
                    self._left -= len(kept)
                    read += len(kept)
                    yield kept
                    if self._left <= 0 or read >= rest:
                        text = f"the log is too long: everything after byte {read:,} was left out"
                        self._problem("MM495", text, where, "give the last files only")
                        return
        except (OSError, EOFError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
            if read == 0:
                self._problem("MM490", f"cannot be read: {reason}", where, "check the path")
            else:
                message = f"the file is damaged; everything after byte {read:,} is lost: {reason}"
                self._problem("MM494", message, where)

    def _problem(self, code: str, message: str, where: Location, hint: str = "") -> None:
        self.problems.append(Problem(code, message, where, hint))


def _open(path: Path) -> IO[bytes]:
    """The unpacked bytes of a regular file; packed ones are known by their first bytes."""
    with open_regular(path) as file:
        head = file.read(6)
    packer = next((module for mark, module in _PACKERS if head.startswith(mark)), "")
    if not packer:
        return _Snapshot(path)
    return cast(IO[bytes], import_module(packer).open(os.fspath(path), "rb"))


class _Snapshot(FileIO):
    """A file with the length that it has when it is opened, so that a growing log has an end.
    Holes, which log rotation leaves, are skipped."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._left = os.fstat(self.fileno()).st_size or MAX_BYTES  # some do not report their size

    def read(self, size: int | None = -1, /) -> bytes:
        self._pass_hole()
        wanted = self._left if size is None or size < 0 else min(size, self._left)
        data = super().read(wanted)
        self._left -= len(data)
        return data

    def _pass_hole(self) -> None:
        before = self.tell()
        try:
            self._left -= os.lseek(self.fileno(), before, os.SEEK_DATA) - before
        except OSError as error:
            if error.errno == errno.ENXIO:  # nothing but a hole is left
                self._left = 0
        except AttributeError:  # a system without this call
            pass


def _worth(path: Path, stream: IO[bytes]) -> int:
    """Upper bound of the unpacked size of a file, against decompression bombs."""
    if isinstance(stream, FileIO):
        return MAX_BYTES
    return max(FREE, MAX_RATIO * path.stat().st_size)


def _decoded(stream: IO[bytes], where: Location, problems: list[Problem]) -> Iterator[bytes]:
    """The parts of a file as UTF-8 without a byte order mark; nothing of a file that is not
    text."""
    decoder = None
    data = _read(stream)
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        import codecs

        decoder = codecs.getincrementaldecoder("utf-16")("replace")
    elif b"\0" in data[:HEAD]:
        hint = "give the log as a text file"
        problems.append(Problem("MM493", "this is not text", where, hint))
        return
    kept = data.removeprefix(b"\xef\xbb\xbf")
    while data:
        yield decoder.decode(kept).encode("utf-8", "replace") if decoder else kept
        kept = data = _read(stream)


def _read(stream: IO[bytes]) -> bytes:
    try:
        return stream.read(CHUNK)
    except (OSError, EOFError):
        raise
    except Exception as error:  # noqa: BLE001 - each packer has errors of its own
        raise EOFError(str(error)) from None
