"""Compiled knowledge in the user's cache folder, by content digest.

The file is JSON, never code. It is read only if it is a regular file of this user that nobody else
may write, holds the digest asked for, and its body has the checksum that it claims; otherwise it
counts as absent and is rebuilt. Structure is checked when the program is built from it.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

FORMAT = 1
MAX_BYTES = 64_000_000


def default_folder() -> Path | None:
    """The cache folder of this user, or None where there is no home to put it into."""
    from platformdirs import user_cache_path

    with suppress(RuntimeError, OSError):
        return user_cache_path("modelmedic", appauthor=False)
    return None


def read(folder: Path, digest: str) -> dict[str, Any] | None:
    """The cached knowledge, or None if there is none that can be trusted."""
    try:
        with _path(folder, digest).open("rb") as file:
            status = os.fstat(file.fileno())
            if not _own(status) or status.st_size > MAX_BYTES:
                return None
            head, _, body = file.read().partition(b"\n")
        wanted = {"format": FORMAT, "digest": digest, "sha256": hashlib.sha256(body).hexdigest()}
        if json.loads(head) != wanted:
            return None
        plain = json.loads(body)
    except (OSError, ValueError, RecursionError):
        return None
    return plain if isinstance(plain, dict) else None


def write(folder: Path, digest: str, plain: dict[str, Any]) -> None:
    """Store; a cache that cannot be written is no error."""
    body = json.dumps(plain, ensure_ascii=False, separators=(",", ":")).encode()
    head = {"format": FORMAT, "digest": digest, "sha256": hashlib.sha256(body).hexdigest()}
    with suppress(OSError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=folder, prefix=".new-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(json.dumps(head).encode() + b"\n" + body)
            Path(name).replace(_path(folder, digest))
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise


def _path(folder: Path, digest: str) -> Path:
    return folder / f"knowledge-{FORMAT}-{digest}.json"


def _own(status: os.stat_result) -> bool:
    if not stat.S_ISREG(status.st_mode):
        return False
    if not hasattr(os, "getuid"):
        return True
    return status.st_uid == os.getuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
