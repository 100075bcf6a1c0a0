"""Reads knowledge folders as text and identifies their content."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path

from ..facts import Location, ModelMedicError, Problem


def read_folder(folder: Path, *, tests: bool = True) -> list[tuple[str, str]]:
    """(name, text) of every YAML file below the folder, sorted by name; names start with the
    folder's own name. ``tests=False`` leaves test files out.

    Raises :class:`ModelMedicError` (MM200) where something cannot be read.
    """
    if not folder.is_dir():
        raise ModelMedicError(
            Problem(
                "MM200",
                "this is not a folder",
                Location(str(folder)),
                "name a folder that holds knowledge files",
            )
        )
    found = []
    for parent, folders, files in os.walk(folder):
        folders.sort()
        for file in files:
            if file.endswith(".yaml") and (tests or not file.endswith(".test.yaml")):
                path = os.path.join(parent, file)
                name = os.path.relpath(path, folder).replace(os.sep, "/")
                found.append((f"{folder.name}/{name}", _read(path)))
    return sorted(found)


def digest_of(texts: Iterable[tuple[str, str]]) -> str:
    """SHA-256 over names and texts; the identity of a knowledge base."""
    sha = hashlib.sha256()
    for name, text in sorted(texts):
        for part in (name, text):
            raw = part.encode("utf-8", "surrogatepass")
            sha.update(len(raw).to_bytes(8, "big"))
            sha.update(raw)
    return sha.hexdigest()


def _read(path: str) -> str:
    try:
        if not os.path.isfile(path) and os.path.exists(path):
            raise OSError(0, "not a regular file")  # opening a pipe would wait for a writer
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not text in UTF-8"
        message, hint = f"cannot read: {reason}", "knowledge files are text that you may read"
        raise ModelMedicError(Problem("MM200", message, Location(path), hint)) from None
