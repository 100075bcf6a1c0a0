"""Reads knowledge folders as text and identifies their content."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from ....facts import Location, ModelMedicError, Problem
from ....facts.records import cached_property
from ....facts.regular_files import read_regular

MAX_FILES = 10_000
MAX_BYTES = 16_000_000  # beyond what the reader of YAML takes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

Files = Sequence[tuple[str, str]]
"""Names and paths. Names start with that of the folder that was asked for."""

Raw = Sequence[tuple[str, bytes]]
Texts = Sequence[tuple[str, str]]


class Layer:
    """The files of one layer of knowledge, by name and path: those of its vocabulary, and the
    others. They are read when their content is first asked for."""

    def __init__(self, vocabulary: Files, knowledge: Files) -> None:
        self.vocabulary = vocabulary
        self.knowledge = knowledge

    @property
    def files(self) -> Files:
        """The files of vocabulary and knowledge together."""
        return [*self.vocabulary, *self.knowledge]

    def digest(self) -> str:
        """The identity of the content."""
        return digest_of([*self._content[0], *self._content[1]])

    def texts(self) -> tuple[Texts, Texts]:
        """Vocabulary and knowledge as text. Raises :class:`ModelMedicError` (MM200)."""
        return texts_of(self._content[0]), texts_of(self._content[1])

    @cached_property
    def _content(self) -> tuple[Raw, Raw]:
        return _read_all(self.vocabulary), _read_all(self.knowledge)


def overlay_layer(folder: Path | str, *, tests: bool = False) -> Layer:
    """A folder of knowledge whose vocabulary, if it has one, is in ``vocabulary/``."""
    files = files_in(folder, tests=tests)
    return Layer(
        [file for file in files if "/vocabulary/" in file[0]],
        [file for file in files if "/vocabulary/" not in file[0]],
    )


def digest_of_layers(digests: Sequence[str]) -> str:
    """The identity of knowledge with overlays, whose order matters."""
    if len(digests) == 1:
        return digests[0]
    return digest_of((f"{n:04}", digest.encode()) for n, digest in enumerate(digests))


def knowledge_key(digests: Sequence[str], applied: str) -> str:
    """The name of compiled knowledge in the cache: by its layers, and which changes apply."""
    digest = digest_of_layers(digests)
    return digest if applied == "valid" else digest_of([(applied, digest.encode())])


def read_folder(folder: Path | str, *, tests: bool = True) -> list[tuple[str, str]]:
    """(name, text) of every YAML file below the folder, sorted by name; names start with the
    folder's own name. ``tests=False`` leaves test files out.

    Raises :class:`ModelMedicError` (MM200) if a file cannot be read.
    """
    return texts_of(_read_all(files_in(folder, tests=tests)))


def files_in(folder: Path | str, *, tests: bool = True) -> list[tuple[str, str]]:
    """The same files as (name, path), unread."""
    top = os.fspath(folder)
    if not os.path.isdir(top):
        raise ModelMedicError(
            Problem(
                "MM200",
                "this is not a folder",
                Location(top),
                "name a folder that holds knowledge files",
            )
        )
    name = os.path.basename(os.path.normpath(top))
    found = []
    for parent, folders, files in os.walk(top):
        folders.sort()
        below = parent[len(top) :].replace(os.sep, "/").strip("/")
        prefix = f"{name}/{below}/" if below else f"{name}/"
        for file in files:
            if file.endswith(".yaml") and (tests or not file.endswith(".test.yaml")):
                found.append((prefix + file, os.path.join(parent, file)))
        if len(found) > MAX_FILES:
            raise _unreadable(f"more than {MAX_FILES:,} knowledge files", top)
    return sorted(found)


def vocabulary_in(top: str) -> list[tuple[str, str]]:
    """The vocabulary of a checkout or an installation: its kinds and questions, and what the
    folder of each probe declares (``probes/NAME/probe.yaml``)."""
    probes = os.path.join(top, "probes")
    names = os.listdir(probes) if os.path.isdir(probes) else []
    found = files_in(os.path.join(top, "facts", "vocabulary"))
    for name in names:
        path = os.path.join(probes, name, "probe.yaml")
        if os.path.isfile(path):
            found.append((f"probes/{name}/probe.yaml", path))
    return sorted(found)


def _read_all(files: Files) -> Raw:
    return [(name, _read(path)) for name, path in files]


def texts_of(files: Iterable[tuple[str, bytes]]) -> list[tuple[str, str]]:
    """Files as text. Raises :class:`ModelMedicError` (MM200) for one that is not UTF-8."""
    return [(name, _text(raw, name)) for name, raw in files]


def digest_of(files: Iterable[tuple[str, bytes]]) -> str:
    """SHA-256 over names and contents; the identity of a knowledge base."""
    import hashlib  # with OpenSSL: a twentieth of a whole run that finds its knowledge compiled

    sha = hashlib.sha256()
    for name, raw in sorted(files):
        for part in (name.encode("utf-8", "surrogatepass"), raw):
            sha.update(len(part).to_bytes(8, "big"))
            sha.update(part)
    return sha.hexdigest()


def _read(path: str) -> bytes:
    try:
        raw = read_regular(path, MAX_BYTES)
    except OSError as error:
        reason = (error.strerror or str(error)).removeprefix("this is ")
        raise _unreadable(reason, path) from None
    if len(raw) > MAX_BYTES:
        raise _unreadable(f"more than {MAX_BYTES:,} bytes", path)
    return raw


def _text(raw: bytes, name: str) -> str:
    try:
        return raw.decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise _unreadable("not text in UTF-8", name) from None


def _unreadable(reason: str, place: str) -> ModelMedicError:
    hint = "knowledge files are text that you may read"
    return ModelMedicError(Problem("MM200", f"cannot read: {reason}", Location(place), hint))
