"""Opens regular files only: a pipe would wait for a writer, a device has no end.

The check is made on the open file, so that nobody can swap it in between.
"""

from __future__ import annotations

import errno
import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path
    from typing import BinaryIO


class NotRegularError(OSError):
    """A folder, a pipe, a device or a socket; :attr:`strerror` says which."""


def open_regular(path: Path | str) -> BinaryIO:
    """Open a file for reading. Raises ``OSError``, also where it is not a regular file, and
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
