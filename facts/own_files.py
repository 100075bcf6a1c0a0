"""Files in a folder that belongs to this user alone, such as a cache: opened only if nobody else
may have written them, written in one step."""

from __future__ import annotations

import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path
    from typing import BinaryIO

MAX_BYTES = 256_000_000


def open_own(path: Path | str) -> BinaryIO:
    """Open a file of this user that nobody else may write. Raises OSError if it is anything else,
    or too large."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)  # a pipe would wait for a writer
    file = open(os.open(path, flags), "rb")  # noqa: SIM115 - the caller closes it
    status = os.fstat(file.fileno())
    if _own(status) and status.st_size <= MAX_BYTES:
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
