"""Waits for changes of knowledge files."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence

from ..engine.compiler.knowledge_base import SHIPPED_FOLDERS

_SECONDS = 0.3
"""Polling is quick enough for some hundred files and works on every file system."""

State = dict[str, tuple[int, int]]


def changes(overlays: Sequence[str]) -> Iterator[None]:
    """Comes back at once, and then after every change of a YAML file."""
    folders = [*SHIPPED_FOLDERS, *overlays]
    known = _state(folders)
    yield
    while True:
        time.sleep(_SECONDS)
        now = _state(folders)
        if now != known:
            known = now
            yield


def _state(folders: Sequence[str]) -> State:
    found: State = {}
    for folder in folders:
        for parent, _, files in os.walk(folder):
            for name in files:
                if name.endswith(".yaml"):
                    path = os.path.join(parent, name)
                    try:
                        status = os.stat(path)
                    except OSError:
                        continue  # it went away between listing and looking
                    found[path] = (status.st_mtime_ns, status.st_size)
    return found
