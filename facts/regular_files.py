"""Opens regular files only: a pipe would wait for a writer, a device has no end.

The check is made on the open file, so that it cannot be swapped in between. Files in a private
folder of this user, such as a cache, are opened only if other users cannot write them, and are
written in one step.
"""

from __future__ import annotations

import errno
import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path
    from typing import BinaryIO


MAX_OWN = 256_000_000
"""Bytes of a file of one's own."""


class NotRegularError(OSError):
    """A folder, a pipe, a device or a socket; :attr:`strerror` says which."""


def open_regular(path: Path | str) -> BinaryIO:
    """Open a file for reading. Raises ``OSError``, also if it is not a regular file, and
    ``ValueError`` for a name that no file can have."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
    try:
        handle = os.open(path, flags | getattr(os, "O_BINARY", 0))
    except OSError as error:
        if error.errno != errno.ENXIO:  # a socket, or a device without a machine behind it
            raise
        raise NotRegularError(0, "this is not a regular file") from None
    mode = os.fstat(handle).st_mode
    if not stat.S_ISREG(mode):
        os.close(handle)
        kind = "a folder" if stat.S_ISDIR(mode) else "not a regular file"
        raise NotRegularError(0, f"this is {kind}")
    return open(handle, "rb")


def read_regular(path: Path | str, limit: int) -> bytes:
    """The content of a file; of one with more than ``limit`` bytes, the first ``limit + 1``. Raises
    as :func:`open_regular` does."""
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        raw = file.read(min(size, limit) + 1)  # no more, since room for it is made at once
        if len(raw) > size:  # it grows, or does not tell its size
            raw += file.read(max(0, limit + 1 - len(raw)))
    return raw


def open_own(path: Path | str) -> BinaryIO:
    """Open a file of this user that nobody else may write. Raises OSError if it is anything else,
    or too large."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)  # a pipe would wait for a writer
    file = open(os.open(path, flags), "rb")  # noqa: SIM115 - the caller closes it
    status = os.fstat(file.fileno())
    if _own(status) and status.st_size <= MAX_OWN:
        return file
    file.close()
    raise PermissionError(f"not a file of this user alone: {path}")


def replace_file(path: Path | str, content: bytes) -> None:
    """Write a file in one step, with its folder, for this user alone. Raises OSError."""
    import tempfile

    folder = os.path.dirname(path) or os.curdir
    os.makedirs(folder, mode=0o700, exist_ok=True)
    handle, draft = tempfile.mkstemp(dir=folder, prefix=".new-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(draft, path)
    except BaseException:
        os.unlink(draft)
        raise


def _own(status: os.stat_result) -> bool:
    if not stat.S_ISREG(status.st_mode):
        return False
    if not hasattr(os, "getuid"):
        return True
    return status.st_uid == os.getuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
