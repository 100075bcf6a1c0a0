"""A package -> its sites, read from its files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

from ...facts.problems import Location, Problem
from ...facts.progress import UNWATCHED, Progress
from ...facts.uncollected import uncollected
from ..python.parsing import Unreadable
from ..python.parts import has_words
from .exceptions import Classes
from .folder import Package, SiteFolder, module_of
from .site_reader import FileSites, RawSite, read_sites
from .sites import Site

MAX_SITES = 300_000
MAX_PROBLEMS = 5


@dataclass(frozen=True, slots=True)
class Built:
    """The sites of a package by file and line, and what was left out."""

    sites: tuple[Site, ...]
    problems: tuple[Problem, ...]


def build(folder: SiteFolder, package: Package, progress: Progress = UNWATCHED) -> Built | None:
    """Read all files of a package; None if it was told to end early. Never raises over their
    content."""
    problems = list(package.problems)
    skipped: list[Problem] = []
    found: list[tuple[str, FileSites]] = []
    what = f"source of {package.name}"
    part = progress.part(what, len(package.files), "files", ends_early=True)
    with uncollected(), part as step:
        for file in package.files:
            if not step():
                return None
            try:
                sites = read_sites(folder.read(file))
            except Unreadable as error:
                where = Location(os.path.join(folder.path, file))
                skipped.append(Problem("MM489", f"not read: {error}", where))
                continue
            if sites.sites or sites.classes:
                found.append((file, sites))
    problems += skipped[:MAX_PROBLEMS]
    if len(skipped) > MAX_PROBLEMS:
        more = f"{len(skipped) - MAX_PROBLEMS:,} more files of {package.name} were not read"
        problems.append(Problem("MM489", more, Location(str(folder.path))))
    return Built(tuple(_sites(package, found))[:MAX_SITES], tuple(problems))


def sites_of_file(raw: bytes, file: str, package: str = "", version: str = "") -> list[Site]:
    """The sites of a single file, with the classes that it defines. Raises :class:`Unreadable`."""
    alone = Package(package, version, (file,), "")
    return list(_sites(alone, [(file, read_sites(raw))]))


def _sites(package: Package, found: list[tuple[str, FileSites]]) -> Iterator[Site]:
    classes = Classes({module_of(file): sites.classes for file, sites in found})
    for file, sites in found:
        module = module_of(file)
        for raw in sites.sites:
            yield _site(raw, package, file, module, classes)


def _site(raw: RawSite, package: Package, file: str, module: str, classes: Classes) -> Site:
    parts = raw.parts
    bases: tuple[str, ...] = ()
    if raw.exception:
        bases = classes.ancestors(module, raw.exception)
    if raw.thrown is not None and bases:
        told = classes.message(module, raw.exception, raw.thrown)
        parts = told if told is not None and has_words(told) else parts
    return Site(package.name, package.version, module, raw.function, file, raw.line, raw.last_line,
                raw.kind, raw.level, raw.exception, parts, raw.guards, raw.parameters,
                bases)  # fmt: skip
