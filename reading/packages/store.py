"""Indexes of packages in the user's cache folder.

A file is a header in JSON and a body in MessagePack, never code. It is read only if it is a regular
file of this user that nobody else may write, and its body has the checksum in its header; otherwise
it counts as absent and is built again. Sites are decoded when they are asked for.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from ...facts.problems import Location, Problem
from ...facts.regular_files import open_own, replace_file
from .building import Built
from .folder import Package, SiteFolder, module_of
from .sites import Site
from .words import rare_words

FORMAT = 3
KEPT = 60
"""How many packages are kept; writing a new one removes the oldest."""
_UNSOUND = (OSError, ValueError, LookupError, TypeError, msgspec.MsgspecError)


class _Row(msgspec.Struct, array_like=True, frozen=True):
    function: str
    line: int
    last_line: int
    kind: str
    level: str
    exception: str
    parts: tuple[str, ...]
    guards: tuple[str, ...]
    parameters: tuple[str, ...]
    bases: tuple[str, ...]


class _Table(msgspec.Struct, array_like=True, frozen=True):
    """``starts`` has the number of the first site of each file. ``words`` and ``wordless`` name one
    site of each template, ``same`` has the others of it; ``problems`` code, text, place."""

    package: str
    version: str
    files: list[str]
    starts: list[int]
    words: dict[str, list[int]]
    wordless: list[int]
    same: dict[int, list[int]]
    by_exception: dict[str, list[int]]
    problems: list[tuple[str, str, str]]


_ROW = msgspec.msgpack.Decoder(_Row)
_TABLE = msgspec.msgpack.Decoder(_Table)


class StoredPackage:
    """The sites of one package, by number, file, word and exception class."""

    def __init__(self, body: memoryview, table_size: int, row_count: int) -> None:
        self.table = _TABLE.decode(body[:table_size])
        ends = table_size + 4 * row_count
        self._ends = array("I", bytes(body[table_size:ends]))
        self._rows = body[ends:]
        if self._ends and self._ends[-1] != len(self._rows):
            raise ValueError("cut")

    def __len__(self) -> int:
        return len(self._ends)

    @property
    def package(self) -> str:
        """The name of the package."""
        return self.table.package

    @property
    def version(self) -> str:
        """The version of the package."""
        return self.table.version

    @property
    def problems(self) -> tuple[Problem, ...]:
        """The problems met while the package was read: files and parts left out."""
        return tuple(Problem(code, text, Location(place))
                     for code, text, place in self.table.problems)  # fmt: skip

    def site(self, number: int) -> Site:
        """A site by its number."""
        start = self._ends[number - 1] if number else 0
        row = _ROW.decode(self._rows[start : self._ends[number]])
        file = self.table.files[bisect_right(self.table.starts, number) - 1]
        return Site(self.package, self.version, module_of(file), row.function, file, row.line,
                    row.last_line, row.kind, row.level, row.exception, row.parts, row.guards,
                    row.parameters, row.bases)  # fmt: skip

    def alike(self, number: int) -> Iterator[Site]:
        """The sites with the same template as a site that represents it."""
        yield self.site(number)
        yield from map(self.site, self.table.same.get(number, ()))

    def of_file(self, file: str) -> Iterator[Site]:
        """The sites of a file in their order."""
        at = bisect_left(self.table.files, file)
        if at < len(self.table.files) and self.table.files[at] == file:
            starts = [*self.table.starts, len(self)]
            yield from map(self.site, range(starts[at], starts[at + 1]))


def default_folder() -> str:
    """The user's cache folder; "" if ``MODELMEDIC_CACHE`` is set to an empty text."""
    chosen = os.environ.get("MODELMEDIC_CACHE")
    if chosen is not None:
        return chosen
    from platformdirs import user_cache_dir

    return user_cache_dir("modelmedic", appauthor=False)


def read(cache: str, folder: SiteFolder, package: Package) -> StoredPackage | None:
    """The stored index of a package, None if it is missing or cannot be trusted."""
    if not cache:
        return None
    try:
        with open_own(_path(cache, folder, package)) as file:
            return unpacked(file.read())
    except _UNSOUND:
        return None


def write(cache: str, folder: SiteFolder, package: Package, content: bytes) -> None:
    """Store; a cache that cannot be written is not an error."""
    if cache:
        with suppress(OSError):
            path = _path(cache, folder, package)
            replace_file(path, content)
            _forget_old(os.path.dirname(path))


def packed(package: Package, built: Built) -> bytes:
    """The content of the file of a package."""
    sites = sorted(built.sites, key=lambda site: site.file)
    files = list(dict.fromkeys(site.file for site in sites))
    starts: dict[str, int] = {}
    by_exception: dict[str, list[int]] = {}
    rows, ends, total = [], array("I"), 0
    encode = msgspec.msgpack.Encoder().encode
    for number, site in enumerate(sites):
        starts.setdefault(site.file, number)
        if site.exception:
            by_exception.setdefault(site.exception_name, []).append(number)
        row = encode(_Row(site.function, site.line, site.last_line, site.kind, site.level,
                          site.exception, site.parts, site.guards, site.parameters,
                          site.bases))  # fmt: skip
        rows.append(row)
        total += len(row)
        ends.append(total)
    same = _by_template(sites)
    words, wordless = rare_words({some[0]: sites[some[0]].parts for some in same})
    others = {some[0]: some[1:] for some in same if len(some) > 1}
    problems = [(p.code, p.message, p.where.path if p.where else "") for p in built.problems]
    table = encode(_Table(package.name, package.version, files, [starts[file] for file in files],
                          words, wordless, others, by_exception, problems))  # fmt: skip
    body = b"".join([table, ends.tobytes(), *rows])
    header = {"format": FORMAT, "sha256": hashlib.sha256(body).hexdigest(), "table": len(table),
              "rows": len(rows)}  # fmt: skip
    return json.dumps(header).encode() + b"\n" + body


def _by_template(sites: Sequence[Site]) -> list[list[int]]:
    """The numbers of the sites of each template."""
    found: dict[tuple[str, ...], list[int]] = {}
    for number, site in enumerate(sites):
        found.setdefault(site.parts, []).append(number)
    return list(found.values())


def unpacked(content: bytes) -> StoredPackage | None:
    """The index in the content of a file; None if it is not what this version writes."""
    try:
        start = content.index(b"\n") + 1
        header = json.loads(content[:start])
        body = memoryview(content)[start:]
        if header["format"] != FORMAT or hashlib.sha256(body).hexdigest() != header["sha256"]:
            return None
        return StoredPackage(body, int(header["table"]), int(header["rows"]))
    except _UNSOUND:
        return None


def _path(cache: str, folder: SiteFolder, package: Package) -> str:
    # Which sources can be parsed depends on the version of this interpreter.
    told = f"{folder.root}\0{package.look}\0{sys.version_info[:2]}"
    mark = hashlib.sha256(told.encode("utf-8", "replace")).hexdigest()[:20]
    safe = "".join(c if c.isalnum() or c in ".-+" else "_" for c in package.name)[:80]
    version = "".join(c if c.isalnum() or c in ".-+" else "_" for c in package.version)[:40]
    return os.path.join(cache, "source", f"{FORMAT}-{safe}-{version}-{mark}.idx")


def _forget_old(folder: str) -> None:
    found = sorted(Path(folder).glob("*.idx"), key=lambda path: path.stat().st_mtime)
    for path in found[:-KEPT]:
        path.unlink(missing_ok=True)
