"""A wheel, sdist or folder of sources, unpacked into a folder of packages of its own."""

from __future__ import annotations

import csv
import io
import tomllib
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from packaging.metadata import parse_email
from packaging.requirements import InvalidRequirement, Requirement
from packaging.version import InvalidVersion, Version

from ...facts import Location, Problem
from .folder import SiteFolder, normal_name
from .release import Release
from .walking import MAX_FILE, MAX_KEPT, members, refused

_TOLD = frozenset({"METADATA", "PKG-INFO", "pyproject.toml", "entry_points.txt"})
_ASIDE = frozenset({"tests", "test", "docs", "doc", "examples", "benchmarks", "scripts", "tools"})
_ALONE = frozenset({"setup.py", "conftest.py", "noxfile.py"})
MAX_PROBLEMS = 5


def unpacked(package: str, path: Path, label: str, target: Path) -> Release:
    """The release in a wheel, sdist or folder, its sources written below ``target`` as an installer
    would. ``label`` is its version, or a substitute for it. Raises :class:`ModelMedicError` (MM357)
    if the input is not a release of the package."""
    kept, names, problems = _read(path, package)
    told = {name: raw for name, raw in kept.items() if PurePosixPath(name).name in _TOLD}
    top = _top(kept, path, package)
    sources = {
        name.removeprefix(top): raw
        for name, raw in kept.items()
        if name.endswith(".py") and name.startswith(top) and _counts(name.removeprefix(top))
    }
    if path.is_dir() and "__init__.py" in sources:  # the folder itself is imported
        sources = {f"{path.resolve().name}/{name}": raw for name, raw in sources.items()}
    if not sources:
        raise refused("it has no Python files", path, "is this the package?")
    metadata = _metadata(told)
    for wanted in (
        {normal_name(str(metadata["name"]))} - {"", package} if metadata.get("name") else ()
    ):
        raise refused(f"this is {wanted}, not {package}", path)
    version = version_in(str(metadata.get("version") or "")) or version_in(label)
    _write(target, package, version, sources)
    inside = (name.removeprefix(top) for name in names if name.startswith(top))
    files = frozenset(name for name in inside if ".dist-info/" not in name)
    requires = _requirements(metadata) | _commands(told)
    folder = SiteFolder(target)
    python = folder.package(package).files
    return Release(package, version, folder, python, version or label, files, requires,
                   tuple(problems))  # fmt: skip


def version_in(said: str) -> str:
    """Return the version in a text, "" if the text is not a version."""
    try:
        return str(Version(said))
    except InvalidVersion:
        return ""


def _read(path: Path, package: str) -> tuple[dict[str, bytes], list[str], list[Problem]]:
    """The files to read, the names of all files, and the problems."""
    kept: dict[str, bytes] = {}
    names: list[str] = []
    problems: list[Problem] = []
    total = 0
    with members(path) as found:
        for member in found:
            name = PurePosixPath(member.name).name
            why = ""
            if member.link:
                why = "a link, left out"
            elif name.endswith(".py") or name in _TOLD:
                raw = member.read(MAX_FILE + 1)
                total += len(raw)
                why = f"more than {MAX_FILE:,} bytes, not read" if len(raw) > MAX_FILE else ""
                if not why:
                    kept.setdefault(member.name, raw)
            if total > MAX_KEPT:
                raise refused(f"more than {MAX_KEPT:,} bytes of sources", path)
            if why and len(problems) < MAX_PROBLEMS:
                problems.append(Problem("MM357", why, Location(f"{path.name}/{member.name}")))
            if not member.link:
                names.append(member.name)
    return kept, names, problems


def _top(kept: Mapping[str, bytes], path: Path, package: str) -> str:
    """Find the folder above the imported modules: that of an sdist, and ``src``."""
    top = ""
    first = {name.partition("/")[0] for name in kept if "/" in name}
    if not path.is_dir() and path.suffix != ".whl" and len(first) == 1:
        top = f"{first.pop()}/"
    inner = f"{top}src/"
    return inner if any(n.startswith(inner) and n.endswith(".py") for n in kept) else top


def _counts(name: str) -> bool:
    """Whether a source would be installed."""
    first, slash, _ = name.partition("/")
    return first not in _ASIDE and ".data" not in first if slash else first not in _ALONE


def _metadata(told: Mapping[str, bytes]) -> Mapping[str, Any]:
    """Read the metadata of a package from the outermost METADATA or PKG-INFO, else
    ``pyproject.toml``."""
    by_depth = sorted(told, key=lambda name: (name.count("/"), name))
    for name in by_depth:
        if name.endswith(("METADATA", "PKG-INFO")):
            return dict(parse_email(told[name])[0])
    for name in by_depth:
        if name.endswith("pyproject.toml"):
            return _of_pyproject(told[name])
    return {}


def _of_pyproject(raw: bytes) -> Mapping[str, Any]:
    try:
        project = tomllib.loads(raw.decode("utf-8", "replace")).get("project", {})
        further = [
            f"{each.partition(';')[0]}; extra == '{extra}'"
            for extra, some in project.get("optional-dependencies", {}).items()
            for each in some
        ]
        return {
            "name": project.get("name"), "version": project.get("version"),
            "requires_python": project.get("requires-python", ""),
            "requires_dist": [*project.get("dependencies", []), *further],
        }  # fmt: skip
    except (tomllib.TOMLDecodeError, AttributeError, TypeError, RecursionError):
        return {}


def _requirements(metadata: Mapping[str, Any]) -> dict[str, str]:
    """``package; marker`` -> the versions that are allowed."""
    found: dict[str, str] = {}
    if metadata.get("requires_python"):
        found["python"] = str(metadata["requires_python"])
    for line in metadata.get("requires_dist") or ():
        try:
            wanted = Requirement(str(line))
        except (InvalidRequirement, RecursionError):
            continue
        marker = f"; {wanted.marker}" if wanted.marker else ""
        allowed = ",".join(sorted(map(str, wanted.specifier))) or "any version"
        found[normal_name(wanted.name) + marker] = allowed
    return found


def _commands(told: Mapping[str, bytes]) -> dict[str, str]:
    """``command NAME`` -> the function that it calls."""
    found = {}
    for name, raw in told.items():
        if name.endswith(".dist-info/entry_points.txt"):
            _, _, part = raw.decode("utf-8", "replace").partition("[console_scripts]")
            for line in part.partition("\n[")[0].splitlines():
                command, equals, target = line.partition("=")
                if equals:
                    found[f"command {command.strip()}"] = target.strip()
    return found


def _write(target: Path, package: str, version: str, sources: Mapping[str, bytes]) -> None:
    """Write the sources as an installer would, with a record of exactly these."""
    recorded = io.StringIO()
    rows = csv.writer(recorded, lineterminator="\n")
    for name, raw in sorted(sources.items()):
        file = target / name
        try:
            file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with open(file, "xb") as open_file:
                open_file.write(raw)
        except (FileExistsError, NotADirectoryError):
            continue  # two names, one the folder of the other
        rows.writerow([name, "", ""])
    told = target / f"{package.replace('-', '_')}-{version or '0'}.dist-info"
    (target / told).mkdir()
    (told / "RECORD").write_text(recorded.getvalue(), encoding="utf-8")
    head = f"Metadata-Version: 2.1\nName: {package}\nVersion: {version or '0'}\n"
    (told / "METADATA").write_text(head, encoding="utf-8")
