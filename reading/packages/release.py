"""One version of a package: its modules, their texts, and its sites."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from ...facts.problems import Problem
from ..python.parsing import Unreadable, parse
from .folder import SiteFolder, module_of, normal_name
from .index import SourceIndex, open_index
from .texts import Text, texts_in
from .walking import files_below


@dataclass(frozen=True)
class Release:
    """A release whose Python files are in a folder of packages; they are read when first needed.

    ``label`` is its version, or a substitute if that is unknown. ``names`` are the names of all
    members of the archive; ``requires`` maps each ``package; marker`` to its allowed versions.
    """

    package: str
    version: str
    folder: SiteFolder
    python: Sequence[str]
    label: str = ""
    names: frozenset[str] = frozenset()
    requires: Mapping[str, str] = field(default_factory=dict)
    problems: tuple[Problem, ...] = field(default=(), compare=False)

    @cached_property
    def files(self) -> Mapping[str, str]:
        """The files of its modules by dotted name, sorted."""
        return dict(sorted((module_of(file), file) for file in self.python))

    def read(self, module: str) -> bytes:
        """The source of a module, empty if it cannot be read."""
        try:
            return self.folder.read(self.files[module])
        except Unreadable:
            return b""

    def tree(self, module: str) -> ast.Module | None:
        """The syntax tree of a module, None if it cannot be parsed."""
        try:
            return parse(self.read(module))[0]
        except Unreadable:
            return None

    def texts(self, module: str) -> Sequence[Text]:
        """The texts of a module, read once."""
        if module not in self._texts:
            tree = self.tree(module)
            self._texts[module] = texts_in(tree) if tree is not None else []
        return self._texts[module]

    @cached_property
    def index(self) -> SourceIndex:
        """The index of the sites in the release."""
        return open_index(self.folder.path, [self.package], cache="")

    @cached_property
    def _texts(self) -> dict[str, Sequence[Text]]:
        return {}


def installed(names: Iterable[str], folders: Sequence[SiteFolder]) -> dict[str, Release]:
    """The packages among ``names`` that are recorded in folders, by normal name. A folder hides
    packages of the same name in later folders, as it does for Python."""
    found: dict[str, Release] = {}
    for name in sorted({normal_name(name) for name in names}):
        folder = next((each for each in folders if name in each.recorded), None)
        if folder is not None:
            package = folder.package(name)
            found[name] = Release(name, package.version, folder, package.files, package.version)
    return found


def of_sources(name: str, folder: Path) -> Release:
    """A folder of sources, treated as a release of unknown version. Raises :class:`ModelMedicError`
    (MM486)."""
    site = SiteFolder(folder)
    python = [file for file in files_below(site.root) if file.endswith(".py")]
    return Release(normal_name(name), "", site, python)
