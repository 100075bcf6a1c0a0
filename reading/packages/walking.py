"""The files of a wheel, an sdist or a folder: the one place that walks a release, within limits.

The content of an archive is untrusted: a name that leads elsewhere refuses the whole archive, links
are left out, and sizes are counted while reading, whatever the headers say.
"""

from __future__ import annotations

import gzip
import os
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, NamedTuple, cast

from ...facts import Location, ModelMedicError, Problem
from ...facts.regular_files import read_regular

MAX_ARCHIVE = 300_000_000
MAX_MEMBERS = 60_000
MAX_FILE = 8_000_000
MAX_UNPACKED = 1_000_000_000
MAX_KEPT = 400_000_000
MAX_NAME = 400
MAX_DEPTH = 40
_MAX_DIRECTORY = 32_000_000
_UNSOUND = (
    OSError, EOFError, ValueError, LookupError, RuntimeError, NotImplementedError, struct.error,
    zlib.error, tarfile.TarError, zipfile.BadZipFile,
)  # fmt: skip
NO_SOURCES = frozenset({"__pycache__", "node_modules", "site-packages"})
"""Folders that hold no sources of the package around them."""
_BUILT = frozenset({"build", "dist"})


class Member(NamedTuple):
    """A file: its name with slashes, whether it is a link, and how to read so many bytes of it."""

    name: str
    link: bool
    read: Callable[[int], bytes]


def refused(message: str, path: Path, hint: str = "", code: str = "MM357") -> ModelMedicError:
    """The error for an archive that is not read."""
    return ModelMedicError(Problem(code, message, Location(str(path)), hint))


@contextmanager
def members(path: Path) -> Iterator[Iterator[Member]]:
    """The files of a wheel or sdist (``.whl``, ``.zip``, ``.tar.gz``) or of a folder. Raises
    :class:`ModelMedicError` (MM357) for anything else, and for damaged archives."""
    try:
        if path.is_dir():
            yield _checked(_of_folder(path), path)
        elif path.name.endswith((".whl", ".zip")):
            with _opened(path) as file, zipfile.ZipFile(_light(file, path)) as archive:
                yield _checked(_of_zip(archive), path)
        elif path.name.endswith((".tar.gz", ".tgz")):
            with _opened(path) as file, _untarred(file) as archive:
                yield _checked(_of_tar(archive), path)
        else:
            hint = "name a version, a folder of sources, a .whl, or an sdist (.tar.gz, .zip)"
            raise refused("this is not a readable release", path, hint)
    except _UNSOUND as error:
        raise refused(f"the archive cannot be read: {error}", path) from None


def _opened(path: Path) -> IO[bytes]:
    file = open(path, "rb")  # noqa: SIM115 - the caller closes it
    status = os.fstat(file.fileno())
    if stat.S_ISREG(status.st_mode) and status.st_size <= MAX_ARCHIVE:
        return file
    file.close()
    raise refused(
        f"more than {MAX_ARCHIVE:,} bytes, or no file", path, "unpack it, name the folder"
    )


def _light(file: IO[bytes], path: Path) -> IO[bytes]:
    """A zip file whose directory is small enough to be read; zipfile has no limit."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - 65_600))
    tail = file.read()
    at = tail.rfind(b"PK\x05\x06")
    if at < 0 or len(tail) < at + 22:
        raise refused("this is not a zip archive", path)
    count, length = struct.unpack("<HI", tail[at + 10 : at + 16])
    if tail[max(0, at - 20) : at].startswith(b"PK\x06\x07") or length > _MAX_DIRECTORY:
        raise refused(f"it has too many files ({count:,} or more)", path)
    file.seek(0)
    return file


def _untarred(file: IO[bytes]) -> tarfile.TarFile:
    plain = cast("IO[bytes]", _Bounded(gzip.GzipFile(fileobj=file)))
    return tarfile.open(fileobj=plain, mode="r|")


class _Bounded:
    """A stream that ends with an error after so many bytes."""

    def __init__(self, stream: gzip.GzipFile) -> None:
        self._stream, self._left = stream, MAX_UNPACKED

    def read(self, size: int = -1) -> bytes:
        found = self._stream.read(min(size, self._left + 1) if size >= 0 else self._left + 1)
        self._left -= len(found)
        if self._left < 0:
            raise ValueError(f"unpacked it has more than {MAX_UNPACKED:,} bytes")
        return found


def _checked(found: Iterator[Member], path: Path) -> Iterator[Member]:
    """The members, as long as they are few and their names stay inside."""
    for count, member in enumerate(found):
        if count >= MAX_MEMBERS:
            raise refused(f"it has more than {MAX_MEMBERS:,} files", path)
        if not is_inside(member.name):
            raise refused(f"a file would lie outside of it: {member.name[:80]!r}", path)
        yield member


def is_inside(name: str) -> bool:
    """Whether a name is a plain relative path."""
    parts = name.split("/")
    return (
        0 < len(name) <= MAX_NAME
        and len(parts) <= MAX_DEPTH
        and not any(part in ("", ".", "..") for part in parts)
        and not any(char in '\\:"' or ord(char) < 32 or ord(char) == 127 for char in name)
    )


def _of_zip(archive: zipfile.ZipFile) -> Iterator[Member]:
    for info in archive.infolist():
        if not info.is_dir():
            kind = stat.S_IFMT(info.external_attr >> 16)
            yield Member(info.filename, kind not in (0, stat.S_IFREG), _zip_reader(archive, info))


def _zip_reader(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Callable[[int], bytes]:
    def read(most: int) -> bytes:
        with archive.open(info) as file:
            return file.read(most)

    return read


def _of_tar(archive: tarfile.TarFile) -> Iterator[Member]:
    for info in archive:
        if not info.isdir():
            yield Member(info.name.removeprefix("./"), not info.isreg(), _tar_reader(archive, info))


def _tar_reader(archive: tarfile.TarFile, info: tarfile.TarInfo) -> Callable[[int], bytes]:
    def read(most: int) -> bytes:
        file = archive.extractfile(info)
        return file.read(most) if file else b""

    return read


def has_sources(folder: str) -> bool:
    """Whether a folder of this name may hold sources of the package around it."""
    return folder not in NO_SOURCES


def files_below(folder: str | Path, enters: Callable[[str], bool] = has_sources) -> Iterator[str]:
    """The names of the files in a folder, relative to it and with slashes, folder by folder;
    ``enters`` decides by the name of an inner folder whether to read it."""
    for parent, inner, names in os.walk(folder):
        inner[:] = sorted(filter(enters, inner))
        relative = os.path.relpath(parent, folder).replace(os.sep, "/")
        for name in sorted(names):
            yield name if relative == "." else f"{relative}/{name}"


def _of_folder(path: Path) -> Iterator[Member]:
    for name in files_below(path, _is_released):
        if is_inside(name):
            file = path / name
            yield Member(name, not _is_plain(file), partial(read_regular, file))


def _is_released(folder: str) -> bool:
    return has_sources(folder) and folder not in _BUILT and not folder.startswith(".")


def _is_plain(file: Path) -> bool:
    try:
        return stat.S_ISREG(file.lstat().st_mode)
    except OSError:
        return False
