"""Recognises artefacts by their content, and finds the probe that reads each.

Probes declare their artefacts. Recognisers and probes are imported when they are needed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

from ..facts.fact_file import read_facts
from ..facts.kinds import Vocabulary
from ..facts.problems import Location, ModelMedicError, Problem
from ..facts.progress import UNWATCHED, Progress, Step
from ..facts.redaction.masking import cut
from ..facts.regular_files import NotRegularError, open_regular
from .outcome import Outcome
from .registry import load_module, load_probe, told

HEAD = 65_536
"""Bytes of a file that recognisers see."""
_GZIP = b"\x1f\x8b"
_FACTS_SCHEMA = b'"modelmedic/facts/'
FACTS_HEAD = 4_096
"""Bytes at the start of a facts file that contain its schema."""
MAX_FILES = 20_000
MAX_TEXT_BYTES = 10_000_000
MAX_TEXTS_BYTES = 20_000_000
"""The limit of all texts together that were found, not named."""
MAX_DEPTH = 12
_SKIPPED = frozenset({"__pycache__", "node_modules", "site-packages", "venv", ".tox", ".nox"})
# Files of a tracker next to a run repeat the run; they count only if there is nothing else.
_TRACKER, _TRACKED = "wandb", ".wandb"
_RUNS = frozenset({"metrics", "trackers"})
# Suffixes of code, settings and markup; a text has none of them, or says who wrote it.
_NO_TEXT = frozenset({
    ".c", ".cc", ".cfg", ".conf", ".cpp", ".css", ".cu", ".h", ".hpp", ".html", ".ini", ".js",
    ".lock", ".ps1", ".py", ".pyi", ".rs", ".sh", ".svg", ".toml", ".ts", ".xml",
})  # fmt: skip
_DATA = frozenset({".ipynb", ".json", ".jsonl", ".yaml", ".yml"})
MAX_DATA_BYTES = 200_000
_OF_PROJECTS = frozenset({
    "AUTHORS", "CHANGELOG", "CITATION", "CODE_OF_CONDUCT", "CODEOWNERS", "CONTRIBUTING", "COPYING",
    "HISTORY", "LICENSE", "MAINTAINERS", "NOTICE", "REQUIREMENTS", "SECURITY",
})  # fmt: skip
_MOST_STRANGE = 0.02
"""The share of characters that are not UTF-8 from which a file is not text."""
# Contents of the folder of an environment; env is also a common name for packages of users.
_INSTALLED = ("pyvenv.cfg", "conda-meta")


class Artefact(NamedTuple):
    """A kind of file or folder, with the probe that reads it; see ``ArtefactDeclaration``."""

    probe: str
    name: str
    title: str
    precedence: int
    of: str = "file"
    claims: Sequence[str] = ()
    together: bool = False
    packed: bool = False
    stated: bool = False

    def fits(self, path: Path, head: bytes) -> bool:
        """Whether the probe recognises it."""
        recognise = getattr(load_module(self.probe, "recognition"), f"looks_like_{self.probe}")
        try:
            return bool(recognise(path, head))
        except OSError:  # an unreadable file cannot be recognised
            return False

    def accepts(self, path: Path, head: bytes) -> bool:
        """Whether the probe reads it if it is named, though it does not recognise it."""
        module = load_module(self.probe, "recognition")
        accept = getattr(module, f"named_{self.probe}", None)
        return accept is not None and bool(accept(path, head))


FACTS_FILE = Artefact("", "facts", "facts file", 0)
"""Facts that a probe found earlier and that were kept (``-o``): read directly, without a probe."""


class Table:
    """All artefacts, in the order in which they are tried: the first that fits wins."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.rows = sorted(
            (Artefact(probe.name, name, **declared) for probe in vocabulary.probes.values()
             for name, declared in probe.artefacts.items()),
            key=lambda row: (row.precedence, row.name),
        )  # fmt: skip

    def titles(self) -> str:
        """The titles of all artefacts, for messages."""
        return "artefacts: " + ", ".join(dict.fromkeys(row.title for row in self.rows))

    def of_folder(self, path: Path) -> Artefact | None:
        """Recognise a folder as a whole."""
        return next((r for r in self.rows if r.of != "file" and r.fits(path, b"")), None)

    def of_file(self, path: Path, head: bytes) -> Artefact | None:
        """Recognise a file that starts with ``head``."""
        if path.suffix == ".json" and _FACTS_SCHEMA in head[:FACTS_HEAD]:
            return FACTS_FILE
        rows = [row for row in self.rows if row.of != "folder"]
        if head.startswith(_GZIP):
            head = _unpacked(head)
            rows = [row for row in rows if row.packed]
        return next((row for row in rows if row.fits(path, head)), None)

    def of_named(self, path: Path, head: bytes) -> Artefact | None:
        """The possible artefact of a file that the user named, if nothing recognises it."""
        return next((r for r in self.rows if r.of != "folder" and r.accepts(path, head)), None)


Finder = Callable[[Path], tuple[Path, ...]]
"""All files that are read together with one."""


class Unit(NamedTuple):
    """Paths that one probe reads in one call."""

    artefact: Artefact
    paths: tuple[Path, ...]


class Texts:
    """Files of text that no probe knows: ``found``, and ``left`` out because they are too long.
    ``data`` are short files of values, whose figures may be measured."""

    def __init__(self) -> None:
        self.found: list[Path] = []
        self.data: list[Path] = []
        self.left: list[Path] = []
        self._room = MAX_TEXTS_BYTES

    def add(self, path: Path, *, named: bool) -> None:
        """Note a file, at most :data:`MAX_TEXT_BYTES` long; all that are not named share a
        limit."""
        size = os.path.getsize(path)
        if not named and path.suffix.lower() in _DATA:
            if size <= min(MAX_DATA_BYTES, self._room):
                self._room -= size
                self.data.append(path)
            return
        if not named and size > min(MAX_TEXT_BYTES, self._room):
            self.left.append(path)
            return
        self._room -= 0 if named else size
        self.found.append(path)


def find_units(
    paths: Sequence[Path],
    vocabulary: Vocabulary,
    progress: Progress = UNWATCHED,
    texts: Texts | None = None,
) -> tuple[list[Unit], list[Problem]]:
    """The units to read below the paths, in walk order, and problems with what cannot be read.
    Files of text that no probe knows are added to ``texts``; without it they are problems if they
    were named, and left out if not."""
    with progress.part("looking at files", unit="files") as step:
        return _find_units(paths, vocabulary, step, texts)


def _find_units(
    paths: Sequence[Path], vocabulary: Vocabulary, step: Step, texts: Texts | None
) -> tuple[list[Unit], list[Problem]]:
    walk = _Walk(Table(vocabulary), step, texts)
    found: list[Unit] = []
    together: dict[str, list[Path]] = {}
    for artefact, path in walk.artefacts(paths):
        if artefact.together:
            together.setdefault(artefact.name, []).append(path)
        else:
            found.append(Unit(artefact, (path,)))
    found = list(_as_families(found))
    rows = (row for row in walk.table.rows if row.name in together)
    found += [Unit(row, tuple(together[row.name])) for row in rows]
    read = {each for unit in found for path in unit.paths for each in (path, *path.parents)}
    places = [Path(problem.where.path) for problem in walk.problems if problem.where]
    places += [path for path, _ in walk.unknown]
    places += [*texts.found, *texts.left, *texts.data] if texts else []
    told = {each for place in places for each in (place, *place.parents)}
    for path in paths:
        if os.path.isdir(path) and path not in read | told:
            message = "nothing in this folder is an artefact that is known"
            walk.unknown.append((path, message))
    unknown = [each for each in walk.unknown if not _is_read_with(each[0], found)]
    for number, (path, message) in enumerate(unknown):
        # The list of readable artefacts helps only if the user gave none of them, and only once.
        walk.problem("MM406", message, path, "" if found or number else walk.table.titles())
    return found, walk.problems


def _as_families(units: Sequence[Unit]) -> Iterator[Unit]:
    """Merge files that are read together (a rotated log) into one unit, at the place of the first
    of them."""
    finders: dict[str, Finder | None] = {}
    seen: set[tuple[str, tuple[Path, ...]]] = set()
    for unit in units:
        probe, (path, *_) = unit.artefact.probe, unit.paths
        if probe not in finders:
            finders[probe] = _family_finder(probe)
        find = finders[probe]
        family = find(path) if find else unit.paths
        if (unit.artefact.name, family) not in seen:
            seen.add((unit.artefact.name, family))
            yield unit._replace(paths=family)


def _family_finder(probe: str) -> Finder | None:
    make: Callable[[], Finder] | None
    if not probe:  # a facts file
        return None
    make = getattr(load_module(probe, "recognition"), "families", None)
    return make() if make else None


def gather_unit(unit: Unit, vocabulary: Vocabulary, progress: Progress = UNWATCHED) -> Outcome:
    """The facts of one unit. A failure of the probe itself becomes a problem (MM405)."""
    where = Location(str(unit.paths[0]))
    artefact = unit.artefact
    try:
        if artefact is FACTS_FILE:
            return Outcome(tuple(read_facts(unit.paths[0], vocabulary)))
        module = load_module(artefact.probe, "probe")
        gather = getattr(module, "gather_found", None) or load_probe(artefact.probe)
        many = artefact.together or _family_finder(artefact.probe) is not None
        given: Any = list(unit.paths) if many else unit.paths[0]
        with progress.part(unit.paths[0].name):
            outcome: Outcome = gather(given, vocabulary, **told(gather, progress))
    except ModelMedicError as error:
        return Outcome(problems=error.problems)
    except Exception as error:  # noqa: BLE001 - one bad file must not cost the others
        message = f"reading the {artefact.title} failed: {type(error).__name__}: {error}"
        return Outcome(problems=(Problem("MM405", cut(message, 400), where, "report this"),))
    return outcome


class _Walk:
    """Walks the paths and collects problems with them."""

    def __init__(self, table: Table, step: Step, texts: Texts | None) -> None:
        self.table = table
        self._step = step
        self._texts = texts
        self.problems: list[Problem] = []
        self.unknown: list[tuple[Path, str]] = []
        self._trackers: list[Path] = []

    def problem(self, code: str, message: str, path: Path, hint: str) -> None:
        """Note a problem with a path."""
        self.problems.append(Problem(code, message, Location(str(path)), hint))

    def artefacts(self, paths: Sequence[Path]) -> Iterator[tuple[Artefact, Path]]:
        """All that is recognised, in the order of the walk; a tracker's copies last, if at all."""
        probes = set()
        for artefact, path in self._recognised(self._files(paths)):
            probes.add(artefact.probe)
            yield artefact, path
        if not probes & _RUNS:
            inside = ((p, False) for each in self._trackers for p in self._below(each, 0))
            yield from self._recognised((p, n) for p, n in inside if p.suffix == _TRACKED)

    def _recognised(self, files: Iterable[tuple[Path, bool]]) -> Iterator[tuple[Artefact, Path]]:
        for count, (path, named) in enumerate(files):
            if count == MAX_FILES:
                message = f"more than {MAX_FILES} files; the rest is left out"
                self.problem("MM404", message, path, "name a smaller folder")
                return
            self._step()
            if os.path.isdir(path):
                if artefact := self.table.of_folder(path):
                    yield artefact, path
                continue
            head = self._head(path, named)
            artefact = self.table.of_file(path, head) if head is not None else None
            if artefact is None and head is not None and self._is_text(path, head, named):
                continue
            if artefact is None and named and head is not None:
                artefact = self.table.of_named(path, head)
            if artefact is not None:
                yield artefact, path
            elif named and head is not None:
                self.unknown.append((path, "this is not a known artefact; it was not read"))

    def _is_text(self, path: Path, head: bytes, named: bool) -> bool:
        """Whether it is kept as a text."""
        if self._texts is None or not is_text(path, head, named=named):
            return False
        if named and os.path.getsize(path) > MAX_TEXT_BYTES:
            return False  # it may be read as a log
        self._texts.add(path, named=named)
        return True

    def _files(self, paths: Sequence[Path]) -> Iterator[tuple[Path, bool]]:
        """Every folder and file, sorted; ``named`` ones were given, not found."""
        for path in paths:
            if not os.path.lexists(path):
                self.problem("MM403", "there is no such file or folder", path, "check the path")
            elif os.path.isdir(path):
                yield from ((found, False) for found in self._below(path, 0))
            else:
                yield path, True

    def _below(self, folder: Path, depth: int, inherited: tuple[str, ...] = ()) -> Iterator[Path]:
        """``inherited`` are the claims of the folders above, relative to this one."""
        entries = self._entries(folder, told=bool(inherited))
        if entries is None:
            return
        yield folder
        artefact = self.table.of_folder(folder)
        claims = (*inherited, *(artefact.claims if artefact else ()))
        for entry in entries:
            if entry.is_symlink():
                continue
            if entry.is_dir():
                inside = f"{entry.name}/"
                if entry.name == _TRACKER:
                    self._trackers.append(Path(entry.path))
                elif depth < MAX_DEPTH and not _claimed(inside, claims) and not _is_skipped(entry):
                    inner = tuple(c.partition("/")[2] for c in claims if c.startswith(inside))
                    yield from self._below(Path(entry.path), depth + 1, inner)
            elif not _claimed(entry.name, claims):
                yield Path(entry.path)

    def _entries(self, folder: Path, *, told: bool) -> list[os.DirEntry[str]] | None:
        """The entries of a folder, sorted; None if it may not be listed and entered. With
        ``told``, the probe of a folder above reports what is lost."""
        reason = "Permission denied"
        try:
            if os.access(folder, os.R_OK | os.X_OK):
                return sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError as error:
            reason = error.strerror or str(error)
        if not told:
            message = f"cannot read the folder: {reason}; nothing of what is in it is known"
            hint = "give yourself the right to read it: chmod u+rx FOLDER"
            self.problem("MM403", message, folder, hint)
        return None

    def _head(self, path: Path, named: bool) -> bytes | None:
        """The start of a regular file."""
        try:
            with open_regular(path) as file:
                return file.read(HEAD)
        except NotRegularError as error:
            if named:
                self.problem("MM403", str(error.strerror), path, "give a file or folder")
        except OSError as error:
            message = f"cannot read the file: {error.strerror}"
            self.problem("MM403", message, path, "check its permissions")
        return None


def is_text(path: Path, head: bytes, *, named: bool) -> bool:
    """Whether a file that no probe knows may be a text of the user: neither data nor, unless it is
    ``named``, code, settings or a document of a project."""
    if b"\0" in head or not head.strip():
        return False
    decoded = head.decode("utf-8", "replace")
    if decoded.count("\ufffd") > len(decoded) * _MOST_STRANGE + 1:
        return False
    other = path.suffix.lower() in _NO_TEXT or path.stem.upper() in _OF_PROJECTS
    return named or not other


def _is_skipped(folder: os.DirEntry[str]) -> bool:
    """Whether a folder is not the user's own: hidden, packages, virtual environments."""
    hidden = folder.name.startswith(".") or folder.name in _SKIPPED
    return hidden or any(os.path.exists(os.path.join(folder.path, mark)) for mark in _INSTALLED)


def _is_read_with(path: Path, units: Iterable[Unit]) -> bool:
    """Whether the file is read together with one next to it."""
    beside = (u.artefact for u in units if any(p.parent == path.parent for p in u.paths))
    return any(_claimed(path.name, artefact.claims) for artefact in beside)


def _claimed(name: str, claims: Sequence[str]) -> bool:
    return any(fnmatchcase(name, claim) for claim in claims)


def _unpacked(head: bytes) -> bytes:
    """The start of the content of a packed file; empty if it is damaged."""
    import zlib

    try:
        return zlib.decompressobj(31).decompress(head, HEAD)
    except zlib.error:
        return b""
