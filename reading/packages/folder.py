"""The packages in a folder of packages, as recorded by their installer."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path

from ...facts.problems import Location, ModelMedicError, Problem
from ...facts.regular_files import read_regular
from ..python.parsing import Unreadable
from .walking import NO_SOURCES, files_below

MAX_BYTES = 2_000_000
MAX_FILES = 60_000
MAX_RECORD = 64_000_000
MAX_PACKAGES = 10_000
_NAME_RUNS = re.compile(r"[-_.]+")
_DIST_INFO = ".dist-info"


@dataclass(frozen=True, slots=True)
class Package:
    """A distribution, or a folder or module that no distribution records (``version`` is "" then).

    ``files`` are its Python files relative to the folder of packages, with slashes, sorted;
    ``look`` distinguishes installations of one version.
    """

    name: str
    version: str
    files: tuple[str, ...]
    look: str
    problems: tuple[Problem, ...] = field(default=())


def normal_name(name: str) -> str:
    """The name of a distribution in the one form that all spellings share."""
    return _NAME_RUNS.sub("-", name).lower()


def module_of(file: str) -> str:
    """The dotted name of the module in a file of a package."""
    name = file.removesuffix(".py").replace("/", ".")
    return name.removesuffix(".__init__")


class SiteFolder:
    """A folder of packages, such as ``site-packages``. Raises :class:`ModelMedicError` (MM486) if
    it is not a readable folder."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._records: dict[str, tuple[str, ...]] = {}
        self._inside: dict[str, bool] = {"": True}
        try:
            self.root = os.path.realpath(path)
            self._entries = sorted(os.listdir(self.root))[: 4 * MAX_PACKAGES]
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise ModelMedicError(Problem(
                "MM486", f"this is not a folder of packages: {reason}", Location(str(path)),
                "name the folder that packages are installed in, such as "
                ".venv/lib/python3.12/site-packages",
            )) from None  # fmt: skip

    def read(self, file: str) -> bytes:
        """The content of a file, named relative to the folder; a link that leads out of it is not
        followed. Raises :class:`Unreadable`."""
        path = os.path.join(self.root, *file.split("/"))
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
            self._inside[path] = real == self.root or real.startswith(
                self.root.rstrip(os.sep) + os.sep
            )
        return self._inside[path]

    @cached_property
    def recorded(self) -> dict[str, str]:
        """Folders of records (``NAME-VERSION.dist-info``) by the normal name of the package."""
        found: dict[str, str] = {}
        for entry in self._entries:
            if entry.endswith(_DIST_INFO) and len(found) < MAX_PACKAGES:
                found[normal_name(entry.removesuffix(_DIST_INFO).rpartition("-")[0])] = entry
        return found

    def names(self) -> list[str]:
        """All packages: those with a record, and the folders and modules that no record names."""
        covered = {top for name in self.recorded for top in self._tops(name)}
        loose = [top for entry in self._entries if (top := self._importable(entry))]
        return sorted({*self.recorded, *(normal_name(top) for top in loose if top not in covered)})

    def has(self, name: str) -> bool:
        """Whether there is a package of this name, that of the distribution or of a module."""
        return normal_name(name) in self.recorded or bool(self._loose(name)) or (
            self.owner_of_module(name) != "")  # fmt: skip

    def version(self, name: str) -> str:
        """The version of a package by its normal name, "" if not recorded."""
        return self.recorded.get(name, "").removesuffix(_DIST_INFO).rpartition("-")[2]

    def package(self, name: str) -> Package:
        """A package by the name of its distribution or of its module. Raises
        :class:`ModelMedicError` (MM487) if there is none."""
        normal = normal_name(name)
        if normal not in self.recorded and not self._loose(name):
            normal = self.owner_of_module(name) or normal
        if normal in self.recorded:
            return self._of_record(normal)
        top = self._loose(name)
        if not top:
            hint = "`pip list` in that environment shows its packages"
            where = Location(str(self.path))
            raise ModelMedicError(Problem("MM487", f"no package {name} here", where, hint))
        files = tuple(sorted(self._walk(top)))
        return self._checked(normal, "", files, str(len(files)))

    def owner_of_module(self, module: str) -> str:
        """The package that a module belongs to, "" if no record lists it."""
        top = module.partition(".")[0]
        if not top.isidentifier() or not self._loose(top):
            return ""  # and no record need be read
        if normal_name(top) in self.recorded and top in self._tops(normal_name(top)):
            return normal_name(top)
        return self._owners.get(top, "")

    def owner_of_file(self, file: str) -> str:
        """The package that a file (relative, with slashes) belongs to: by the records, else by the
        folder that contains it."""
        top = file.partition("/")[0].removesuffix(".py")
        return self.owner_of_module(top) or (normal_name(top) if self._loose(top) else "")

    @cached_property
    def _owners(self) -> dict[str, str]:
        return {top: name for name in reversed(self.recorded) for top in self._tops(name)}

    def _tops(self, name: str) -> set[str]:
        return {file.partition("/")[0].removesuffix(".py") for file in self._record(name)}

    def _loose(self, name: str) -> str:
        """The entry of a folder or module of this name, "" if there is none."""
        for spelling in dict.fromkeys((name, name.replace("-", "_"))):
            for entry in (spelling, spelling + ".py"):
                if entry in self._entries and self._importable(entry):
                    return entry
        return ""

    def _importable(self, entry: str) -> str:
        """Return the name under which an entry is imported, "" if it cannot be imported."""
        name = entry.removesuffix(".py")
        if not name.isidentifier() or entry in NO_SOURCES:
            return ""
        path = os.path.join(self.root, entry)
        return name if entry.endswith(".py") or os.path.isdir(path) else ""

    def _of_record(self, name: str) -> Package:
        folder = self.recorded[name]
        version = folder.removesuffix(_DIST_INFO).rpartition("-")[2]
        files = self._record(name)
        try:
            status = os.stat(os.path.join(self.root, folder, "RECORD"))
            look = f"{status.st_size} {status.st_mtime_ns}"
        except OSError:
            top = self._loose(name)
            files = tuple(sorted(self._walk(top))) if top else ()
            look = "no record"
        return self._checked(name, version, files, look)

    def _checked(self, name: str, version: str, files: Sequence[str], look: str) -> Package:
        problems: list[Problem] = []
        where = Location(str(self.path / name))
        if len(files) > MAX_FILES:
            left = f"{len(files):,} files; the first {MAX_FILES:,} are read"
            problems.append(Problem("MM488", left, where))
        if not files:
            hint = "an editable install has its files elsewhere: name that folder with --site"
            problems.append(Problem("MM488", f"{name} has no Python files here", where, hint))
        return Package(name, version, tuple(files[:MAX_FILES]), look, tuple(problems))

    def _record(self, name: str) -> tuple[str, ...]:
        """The Python files that the record of a package names; nothing outside of the folder."""
        if name not in self._records:
            path = os.path.join(self.root, self.recorded[name], "RECORD")
            try:
                text = read_regular(path, MAX_RECORD).decode("utf-8", "replace")
                rows = [row[0] for row in csv.reader(text.splitlines()) if row]
            except (OSError, ValueError, csv.Error):
                rows = []
            self._records[name] = tuple(sorted({row for row in rows if _is_source(row)}))
        return self._records[name]

    def _walk(self, top: str) -> Iterator[str]:
        if top.endswith(".py"):
            yield top
            return
        found = files_below(os.path.join(self.root, top))
        python = (f"{top}/{name}" for name in found if name.endswith(".py"))
        yield from islice(python, MAX_FILES + 1)


def _is_source(path: str) -> bool:
    if not path.endswith(".py") or path.startswith("/") or "\\" in path or ":" in path:
        return False
    parts = path.split("/")
    return parts[0].removesuffix(".py").isidentifier() and ".." not in parts
