"""The sites of the packages in a folder: by text, by exception, by place."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from pathlib import Path

from ...facts.problems import ModelMedicError, Problem
from ...facts.progress import UNWATCHED, Progress, interrupted
from .building import build
from .folder import Package, SiteFolder, normal_name
from .matching import MIN_LETTERS, Fit, fit, flat, letters
from .sites import Site
from .store import StoredPackage, default_folder, packed, read, unpacked, write
from .words import weights, words_of

MAX_MESSAGE = 16_384
MAX_CANDIDATES = 400
MAX_WORDLESS = 200
MAX_MATCHES = 10


@dataclass(frozen=True, slots=True)
class Match:
    """A site whose template fits a message. ``values`` are the texts in place of its placeholders;
    ``score`` orders matches; ``whole`` and ``cut`` are those of the fit."""

    site: Site
    values: tuple[tuple[str, str], ...]
    score: int
    whole: bool
    cut: bool = False


class SourceIndex:
    """The indexes of some packages of one folder; see :func:`open_index`."""

    def __init__(self, folder: SiteFolder) -> None:
        self.folder = folder
        self.problems: tuple[Problem, ...] = ()
        self._stored: dict[str, StoredPackage] = {}

    def add(self, stored: StoredPackage) -> None:
        """Add the index of a package, with its problems."""
        if stored.package not in self._stored:
            self._stored[stored.package] = stored
            self.problems += stored.problems

    @property
    def packages(self) -> dict[str, str]:
        """The packages that are in the index, with their versions."""
        return {name: each.version for name, each in self._stored.items()}

    def count(self, package: str) -> int:
        """How many sites a package has, 0 for one that is not in the index."""
        stored = self._stored.get(self._name(package))
        return len(stored) if stored else 0

    def sites(self, package: str) -> Iterator[Site]:
        """All sites of a package, by file and line; none if it is not in the index."""
        stored = self._stored.get(self._name(package))
        if stored is not None:
            yield from map(stored.site, range(len(stored)))

    def look_up(
        self, text: str, exception: str | None = None, module: str | None = None,
        limit: int = MAX_MATCHES,
    ) -> tuple[Match, ...]:  # fmt: skip
        """The sites that may have given a message, best first.

        The template with the most constant characters in the message wins; a site that raises
        another class than ``exception`` is left out. ``module`` prefers the sites of a module or
        package. Matches of the same score are alternatives: nothing in the message decides.
        """
        message = flat(text[:MAX_MESSAGE])
        fits = _fits(list(self._stored.values()), message)
        found = [
            Match(site, fitted.values, score, fitted.whole, fitted.cut)
            for stored, number, fitted in fits
            for site in stored.alike(number)
            if (score := _score(site, fitted, exception or "", module or "")) > 0
        ]
        found.sort(key=lambda match: (-match.score, match.site.file, match.site.line))
        return tuple(found[:limit])

    def raising(self, exception: str) -> Iterator[Site]:
        """The sites that raise a class, named without its module."""
        for stored in self._stored.values():
            numbers = stored.table.by_exception.get(exception, ())
            yield from (site for site in map(stored.site, numbers) if site.kind == "raise")

    def read(self, file: str) -> bytes:
        """The source of a file, named relative to the folder. Raises :class:`Unreadable`."""
        return self.folder.read(file)

    def at(self, file: str, line: int) -> tuple[Site, ...]:
        """The sites of the statement at a line; ``file`` as a traceback shows it: any path that
        ends in one of the package's."""
        relative = self.relative(file)
        if not relative:
            return ()
        return tuple(site for stored in self._stored.values() for site in stored.of_file(relative)
                     if site.line <= line <= site.last_line)  # fmt: skip

    def relative(self, file: str) -> str:
        """The path below the folder of packages that a path of a traceback means, "" if none."""
        return relative_file(self.folder, file, self._stored)

    def _name(self, package: str) -> str:
        name = normal_name(package)
        return name if name in self._stored else self.folder.owner_of_module(package)


def open_index(
    site_dir: Path | str, packages: Iterable[str] | None = None, *, also: Iterable[str] = (),
    cache: str | None = None, build_missing: bool = True, progress: Progress = UNWATCHED,
) -> SourceIndex:  # fmt: skip
    """The index of packages (all of the folder if None), from the cache or built now.

    Those in ``also`` are taken only if they are in the cache, silently left out if they are not.
    ``cache`` is a folder, "" for none, None for the user's. Without ``build_missing`` packages that
    are not in the cache are left out. Nothing of a package is imported or run. Raises
    :class:`ModelMedicError` MM486 if the folder is not one of packages; a package that is not there
    (MM487) and files that cannot be read are problems of the index.
    """
    folder = SiteFolder(Path(site_dir))
    where = default_folder() if cache is None else cache
    index = SourceIndex(folder)
    for name in folder.names() if packages is None else packages:
        try:
            package = folder.package(name)
        except ModelMedicError as error:
            index.problems += error.problems
            continue
        known = read(where, folder, package)
        if known is None and build_missing:
            known = _built(folder, package, where, progress)
            if known is None:
                index.problems += (interrupted(f"the source of {package.name} was not read"),)
        if known is not None:
            index.add(known)
    for name in also:
        if folder.has(name) and (known := read(where, folder, folder.package(name))):
            index.add(known)
    return index


def relative_file(folder: SiteFolder, file: str, names: Iterable[str]) -> str:
    """The path below a folder of packages that a path of a traceback means, "" if there is none:
    that below the folder itself or below another of its kind, else the longest end of the path
    that begins with a package in ``names``."""
    path = file.replace("\\", "/")
    root = folder.root.replace(os.sep, "/").rstrip("/") + "/"
    if path.startswith(root):
        return path[len(root) :]
    for mark in ("/site-packages/", "/dist-packages/"):
        _, found, after = path.rpartition(mark)
        if found:
            return after
    parts = path.split("/")
    wanted = set(names)
    for at, part in enumerate(parts):
        top = part.removesuffix(".py")
        if top.isidentifier() and folder.owner_of_file(part) in wanted:
            return "/".join(parts[at:])
    return ""


def _built(
    folder: SiteFolder, package: Package, cache: str, progress: Progress
) -> StoredPackage | None:
    """The index of a package, written into the cache; None if it was told to end early."""
    built = build(folder, package, progress)
    if built is None:
        return None
    content = packed(package, built)
    write(cache, folder, package, content)
    return unpacked(content)


def _fits(known: Sequence[StoredPackage], message: str) -> list[tuple[StoredPackage, int, Fit]]:
    """The templates that fit a message, each by one of its sites; except those with far less
    constant text than the best."""
    found = [(stored, number, fitted)
             for stored, number in _candidates(known, words_of(message))
             if (fitted := fit(stored.site(number).parts, message)) is not None]  # fmt: skip
    best = max((fitted.score for _, _, fitted in found), default=0)
    return [each for each in found if 3 * each[2].score >= best]


def _candidates(
    known: Sequence[StoredPackage], words: set[str]
) -> Iterator[tuple[StoredPackage, int]]:
    """The sites that share the most significant words with a message, and those without words."""
    found: list[tuple[int, int, int]] = []
    for place, stored in enumerate(known):
        table = stored.table.words
        counts = weights(table[word] for word in words if word in table)
        found += [(-weight, place, number) for number, weight in counts.items()]
    for _, place, number in nsmallest(MAX_CANDIDATES, found):
        yield known[place], number
    for stored in known:
        for number in stored.table.wordless[:MAX_WORDLESS]:
            yield stored, number


def _score(site: Site, fitted: Fit, exception: str, module: str) -> int:
    """The weight of a fit, 0 for a meaningless one: too little constant text, unless class or
    module agree and the template covers the whole message, or a class that is not the site's."""
    agrees = bool(exception) and exception in (site.exception_name, *_short(site.bases))
    if exception and site.kind in ("raise", "assert") and site.exception and not agrees:
        return 0
    near = bool(module) and (site.module + ".").startswith(module + ".")
    support = agrees or near
    if fitted.cut and fitted.score < (MIN_LETTERS if support else 2 * MIN_LETTERS):
        return 0
    if letters(site.parts) < (3 if support and fitted.whole else MIN_LETTERS):
        return 0
    return 8 * fitted.score + 40 * fitted.whole + 20 * agrees + 20 * near - 40 * fitted.cut


def _short(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(name.rpartition(".")[2] for name in names)
