"""Versions of the SDK that a program is written for: from the environment, lock files, requirement
files and pyproject.toml of its project, inline metadata, and installs in a notebook.

The nearest statement counts: the program itself, then file by file from its folder up to that of
the project. Nothing is resolved, run or imported.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ...facts.problems import ModelMedicError
from ...facts.regular_files import read_regular
from ...reading.python.project import MAX_LEVELS, PROJECT_MARKS
from ...reading.python.sources import Source
from ..environment.freeze import read_listing
from ..environment.package_lists import normal_name

if TYPE_CHECKING:
    from packaging.version import Version

PACKAGES = ("tinker", "tinker-cookbook", "tml-renderers", "transformers")
MAX_BYTES = 2_000_000
MAX_ENTRIES = 5_000
_LOCKS = ("uv.lock", "poetry.lock", "pylock.toml", "Pipfile.lock")
_REQUIREMENTS = re.compile(r"(?:requirements[\w.-]{0,60}|[\w.-]{0,60}requirements)\.(?:txt|in)\Z")
_INSTALLED = re.compile(r"([A-Za-z0-9_.]{1,60})-(\d[A-Za-z0-9.+!_]{0,60})\.dist-info\Z")
_PIP = re.compile(r"['\"]?\s*[%!]\s*(?:uv\s+)?pip3?\s+install\s+(.{1,500})")
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9._-]{0,60}(?:\[[^\]]{0,60}\])?[<>=!~][^\s'\"]{1,80}")
_REPOSITORY = re.compile(
    r"git\+[\w+.-]{1,12}://[^\s'\"#@]{1,200}/([\w.-]{1,60}?)(?:\.git)?/?(?:@([\w./-]{1,80}))?(?=[#\s'\";]|\Z)"
)
_SOURCE = re.compile(
    r"^(?:source\s*=\s*\{\s*(git|directory|editable|path|url|virtual)\s*=|\[package\.source\]\s*\n"
    r"type\s*=\s*\"(git|directory|file|url)\")(?:[^\n?]{0,300}\?(?:rev|tag)=([\w./-]{1,80}))?",
    re.MULTILINE,
)
MAX_BLOCK = 400
"""Lines of a lock file that are read for one package."""
_TAG = re.compile(r"v?(\d+(?:\.\d+){1,3})\Z")
_ELSEWHERE = ("git", "url", "path", "file", "workspace")


class Required(NamedTuple):
    """A package with its exact ``version``, or with the bounds that are stated (each may be
    empty); ``place`` is a file with a line if it has one. ``origin`` is its source if it is not
    from an index; then the version does not determine its content."""

    name: str
    place: str
    version: str = ""
    at_least: str = ""
    below: str = ""
    origin: str = ""


def required_versions(sources: Iterable[Source]) -> list[Required]:
    """The requirement for each of :data:`PACKAGES` in the program made of ``sources``, the entry
    point first."""
    sources = list(sources)
    stated = [*_inline(sources), *_around(Path(sources[0].name))]
    found: dict[str, Required] = {}
    for each in stated:
        if not any(_contradicts(each, other) for other in stated):
            found.setdefault(each.name, each)
    return [found[name] for name in PACKAGES if name in found]


def _contradicts(exact: Required, bound: Required) -> bool:
    """Whether another statement excludes a locked version: an outdated lock file says nothing about
    the installed version."""
    from packaging.version import InvalidVersion, Version

    locked = Path(exact.place).name.partition(":")[0] in _LOCKS
    if exact.name != bound.name or not locked or not (bound.at_least or bound.below):
        return False
    try:
        version = Version(exact.version or "nothing")
        early = bool(bound.at_least) and version < Version(bound.at_least)
        return early or (bool(bound.below) and version >= Version(bound.below))
    except InvalidVersion:
        return False


def _around(program: Path) -> Iterator[Required]:
    for folder in _folders(program.parent):
        names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
        names = [n for n in names[:MAX_ENTRIES] if not os.path.islink(folder / n)]
        for name in names:
            if name in (".venv", "venv"):
                yield from _installed(folder / name)
        for name in (n for n in _LOCKS if n in names):
            yield from _locked(folder / name)
        for name in (n for n in names if _REQUIREMENTS.match(n)):
            yield from _of_lines(_lines(folder / name), str(folder / name))
        if "pyproject.toml" in names:
            yield from _of_project(folder / "pyproject.toml")


def _folders(folder: Path) -> list[Path]:
    """The folder of a program and those above it, up to that of the project."""
    found = [folder]
    for _ in range(MAX_LEVELS):
        if any(os.path.exists(found[-1] / mark) for mark in (*PROJECT_MARKS, *_LOCKS)):
            return found
        if found[-1].parent == found[-1]:
            break
        found.append(found[-1].parent)
    return found[:1]


def _installed(environment: Path) -> Iterator[Required]:
    for library in sorted(environment.glob("lib/python3*/site-packages"))[:2]:
        for name in sorted(os.listdir(library))[:MAX_ENTRIES]:
            match = _INSTALLED.match(name)
            if match and normal_name(match[1]) in PACKAGES:
                yield Required(normal_name(match[1]), str(library / name), match[2])


def _locked(path: Path) -> tuple[Required, ...]:
    try:
        state = os.stat(path)
        return _listed(path, state.st_mtime_ns, state.st_size)
    except (OSError, ModelMedicError):
        return ()


@lru_cache(maxsize=16)
def _listed(path: Path, *state: int) -> tuple[Required, ...]:
    """The requirements of a lock file; cached, because large files take long and each program of a
    project needs them."""
    listed, lines = read_listing(path).packages, _lines(path)
    found: list[Required] = []
    for name in PACKAGES:
        version, line = listed.get(name, ("", 0))
        place = f"{path}:{line}" if line else str(path)
        source = _source_of(lines, name)
        if source is not None:
            found.append(_elsewhere(name, place, source[1] or source[2], source[3]))
        elif version:
            found.append(Required(name, place, version))
    return tuple(found)


def _source_of(lines: list[str], name: str) -> re.Match[str] | None:
    """The source of a package in a lock file, if it is not an index: such a version looks like that
    of a release."""
    start = f'name = "{name}"'
    for number, line in enumerate(lines):
        if line.rstrip() == start and number and lines[number - 1].startswith("[[package]]"):
            block = lines[number : number + MAX_BLOCK]
            ends = (at for at, each in enumerate(block) if each.startswith("[[package]]"))
            return _SOURCE.search("\n".join(block[: next(ends, len(block))]))
    return None


def _lines(path: Path) -> list[str]:
    try:
        return read_regular(path, MAX_BYTES).decode("utf-8-sig", "replace").splitlines()
    except (OSError, ValueError):
        return []


def _of_lines(lines: Iterable[str], name: str) -> Iterator[Required]:
    for number, line in enumerate(lines, 1):
        plain = line.partition(" #")[0].partition(" --hash")[0].strip().rstrip("\\").strip()
        place = f"{name}:{number}"
        stated = _requirement(plain, place) or next(_repositories(plain, place), None)
        if stated is not None:
            yield stated


def _repositories(text: str, place: str) -> Iterator[Required]:
    """Packages that a line takes out of repositories, named by these alone."""
    if not text.startswith("#"):
        for name, revision in _REPOSITORY.findall(text):
            if (name := normal_name(name)) in PACKAGES:
                yield _elsewhere(name, place, "git", revision)


def _elsewhere(name: str, place: str, origin: str, revision: object = None) -> Required:
    """A package that does not come from an index; a tag may be its version."""
    tag = _TAG.match(revision) if isinstance(revision, str) else None
    return Required(name, place, tag[1]) if tag else Required(name, place, origin=origin)


def _of_project(path: Path) -> Iterator[Required]:
    lines = _lines(path)
    for name, origin, revision in _sources("\n".join(lines)):
        at = next((n for n, line in enumerate(lines, 1) if name in line and origin in line), 0)
        yield _elsewhere(normal_name(name), f"{path}:{at}" if at else str(path), origin, revision)
    for text in _dependencies("\n".join(lines)):
        at = next((n for n, line in enumerate(lines, 1) if text in line), 0)
        stated = _requirement(text, f"{path}:{at}" if at else str(path))
        if stated is not None:
            yield stated


def _toml(text: str) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError):
        return {}


def _dependencies(text: str) -> list[str]:
    """The dependencies of a TOML text: of the project, or of a script by itself."""
    data = _toml(text)
    project = data.get("project")
    given = (project if isinstance(project, dict) else data).get("dependencies")
    return [each for each in given if isinstance(each, str)] if isinstance(given, list) else []


def _sources(text: str) -> Iterator[tuple[str, str, object]]:
    """Packages of ours that a TOML text takes from elsewhere, each with the kind of its origin and
    its revision: the sources of uv, the dependencies of Poetry."""
    for where in (("uv", "sources"), ("poetry", "dependencies")):
        table: Any = _toml(text).get("tool")
        for key in where:
            table = table.get(key) if isinstance(table, dict) else None
        for name, source in table.items() if isinstance(table, dict) else ():
            of = [each for each in _ELSEWHERE if isinstance(source, dict) and each in source]
            if of and normal_name(name) in PACKAGES:
                yield name, of[0], source.get("tag") or source.get("rev")


def _inline(sources: Iterable[Source]) -> Iterator[Required]:
    for source in sources:
        block: list[str] | None = None
        for number, line in enumerate(source.lines):
            if block is None and line.rstrip() == "# /// script":
                block = []
            elif block is not None and line.rstrip() == "# ///":
                for text in _dependencies("\n".join(block)):
                    if stated := _requirement(text, source.places[number].location(source.name)):
                        yield stated
                block = None
            elif block is not None:
                block.append(line.removeprefix("#").removeprefix(" "))
            elif installs := _PIP.match(line.strip()):
                place = source.places[number].location(source.name)
                words = (_requirement(word, place) for word in _WORD.findall(installs[1]))
                yield from filter(None, words)
                yield from _repositories(installs[1], place)


def _requirement(text: str, place: str) -> Required | None:
    """Read one requirement; None unless it is about one of the packages of interest."""
    if len(text) > 300 or not text[:1].isalpha():
        return None
    from packaging.requirements import InvalidRequirement, Requirement

    try:
        requirement = Requirement(text)
    except InvalidRequirement:
        return None
    name = normal_name(requirement.name)
    if name not in PACKAGES:
        return None
    if requirement.url:
        taken = next(_repositories(requirement.url, place), None)
        revision = taken.version if taken is not None else None
        return _elsewhere(
            name, place, requirement.url.partition(":")[0].partition("+")[0], revision
        )
    version = ""
    at_least: list[str] = []
    below: list[str] = []
    for each in requirement.specifier:
        exact = each.operator in ("==", "===") and not each.version.endswith(".*")
        version = each.version if exact else version
        if each.operator in (">=", ">", "~="):
            at_least.append(each.version)
        if each.operator == "<":
            below.append(each.version)
        if each.operator in ("~=", "==") and not exact:
            lowest, above = _series(each.version, each.operator)
            at_least.append(lowest)
            below.append(above)
    low, high = _extreme(at_least, max), _extreme(below, min)
    return Required(name, place, version, "" if version else low, "" if version else high)


def _series(version: str, operator: str) -> tuple[str, str]:
    """The bounds of ``== 0.3.*`` and ``~= 0.3.1``: the first version, and the first one beyond."""
    from packaging.version import InvalidVersion, Version

    try:
        release = list(Version(version.removesuffix(".*")).release)
    except InvalidVersion:
        return "", ""
    kept = release if operator == "==" else release[:-1]
    above = [*kept[:-1], kept[-1] + 1] if kept else []
    return version.removesuffix(".*"), ".".join(map(str, above))


def _extreme(versions: list[str], pick: Callable[[list[Version]], Version]) -> str:
    from packaging.version import InvalidVersion, Version

    known: list[Version] = []
    for each in versions:
        try:
            known.append(Version(each))
        except InvalidVersion:
            continue
    return str(pick(known)) if known else ""
