"""Reads knowledge folders as text and identifies their content."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from ..facts import Location, ModelMedicError, Problem

Texts = Sequence[tuple[str, str]]


class Layer(NamedTuple):
    """The files of one layer of knowledge, as bytes: those of its vocabulary, and the others."""

    vocabulary: Sequence[tuple[str, bytes]]
    knowledge: Sequence[tuple[str, bytes]]

    def digest(self) -> str:
        """The identity of the content."""
        return digest_of([*self.vocabulary, *self.knowledge])

    def texts(self) -> tuple[Texts, Texts]:
        """Vocabulary and knowledge as text. Raises :class:`ModelMedicError` (MM200)."""
        return texts_of(self.vocabulary), texts_of(self.knowledge)


def read_overlay(folder: Path, *, tests: bool = False) -> Layer:
    """A folder of knowledge whose vocabulary, if it has one, lies in ``vocabulary/``."""
    files = read_raw(folder, tests=tests)
    return Layer(
        [file for file in files if "/vocabulary/" in file[0]],
        [file for file in files if "/vocabulary/" not in file[0]],
    )


def digest_of_layers(layers: Sequence[Layer]) -> str:
    """The identity of knowledge with overlays, whose order matters."""
    first, *others = (layer.digest() for layer in layers)
    if not others:
        return first
    return digest_of((f"{n:04}", digest.encode()) for n, digest in enumerate([first, *others]))


def read_folder(folder: Path, *, tests: bool = True) -> list[tuple[str, str]]:
    """(name, text) of every YAML file below the folder, sorted by name; names start with the
    folder's own name. ``tests=False`` leaves test files out.

    Raises :class:`ModelMedicError` (MM200) where something cannot be read.
    """
    return [(name, _text(raw, name)) for name, raw in read_raw(folder, tests=tests)]


def read_raw(folder: Path, *, tests: bool = True) -> list[tuple[str, bytes]]:
    """The same as bytes: enough to identify the content, and quicker."""
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


def texts_of(files: Iterable[tuple[str, bytes]]) -> list[tuple[str, str]]:
    """Files as text. Raises :class:`ModelMedicError` (MM200) for one that is not UTF-8."""
    return [(name, _text(raw, name)) for name, raw in files]


def digest_of(files: Iterable[tuple[str, bytes]]) -> str:
    """SHA-256 over names and contents; the identity of a knowledge base."""
    sha = hashlib.sha256()
    for name, raw in sorted(files):
        for part in (name.encode("utf-8", "surrogatepass"), raw):
            sha.update(len(part).to_bytes(8, "big"))
            sha.update(part)
    return sha.hexdigest()


def _read(path: str) -> bytes:
    try:
        if not os.path.isfile(path) and os.path.exists(path):
            raise OSError(0, "not a regular file")  # opening a pipe would wait for a writer
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise _unreadable(error.strerror or str(error), path) from None


def _text(raw: bytes, name: str) -> str:
    try:
        return raw.decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise _unreadable("not text in UTF-8", name) from None


def _unreadable(reason: str, place: str) -> ModelMedicError:
    hint = "knowledge files are text that you may read"
    return ModelMedicError(Problem("MM200", f"cannot read: {reason}", Location(place), hint))
