"""Files of users, written whole or not at all."""

from __future__ import annotations

import os
import signal
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def replace(path: Path, data: bytes) -> None:
    """Write the file, with the permissions that it had. Raises OSError."""
    draft = path.with_name(f".{path.name}-{os.getpid()}")
    try:
        with _tidy_end(), draft.open("xb") as file:
            file.write(data)
        if path.exists():
            draft.chmod(stat.S_IMODE(path.stat().st_mode))
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


@contextmanager
def _tidy_end() -> Iterator[None]:
    """Turns SIGTERM into an exception, so that the draft is deleted."""
    if threading.current_thread() is not threading.main_thread():
        yield  # handlers belong to the main thread
        return

    def end(*_: object) -> None:
        raise SystemExit(128 + signal.SIGTERM)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
