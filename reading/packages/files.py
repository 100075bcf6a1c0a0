"""Reads the files of a folder of packages within bounds."""

from __future__ import annotations

import os

from ...facts.regular_files import read_regular
from ..python.parsing import Unreadable
from .folder import SiteFolder

MAX_BYTES = 2_000_000


class SourceFiles:
    """Reads files of a folder; what a link leads out of it is not read."""

    def __init__(self, folder: SiteFolder) -> None:
        self._root = folder.root
        self._inside: dict[str, bool] = {"": True}

    def read(self, file: str) -> bytes:
        """The content of a file, named relative to the folder. Raises :class:`Unreadable`."""
        path = os.path.join(self._root, *file.split("/"))
        try:
            if not self._is_inside(os.path.dirname(path)) or (
                os.path.islink(path) and not self._is_inside(path)
            ):
                raise Unreadable("a link leads out of the folder")
            raw = read_regular(path, MAX_BYTES)
        except (OSError, ValueError) as error:
            raise Unreadable(getattr(error, "strerror", None) or str(error)) from None
        if len(raw) > MAX_BYTES:
            raise Unreadable(f"more than {MAX_BYTES:,} bytes")
        return raw

    def _is_inside(self, path: str) -> bool:
        if path not in self._inside:
            real = os.path.realpath(path)
            self._inside[path] = real == self._root or real.startswith(
                self._root.rstrip(os.sep) + os.sep
            )
        return self._inside[path]
