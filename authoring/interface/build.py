"""Adds releases to the table of the public interface that the probe of scripts reads.

    python -m modelmedic.authoring.interface.build TABLE RELEASE...

Each ``RELEASE`` is a wheel, or a folder of sources named ``NAME-VERSION``. A date in place of a
version stands for what a repository held before the first release. Entries of the table stay; a
release that it has is read again. A missing table is created.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from packaging.version import Version

from ...reading.packages.folder import normal_name
from ...reading.packages.modules import modules_of
from ...reading.packages.unpacking import unpacked
from .listing import Flat, list_interface
from .spans import joined, parted

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}\Z")


def extended(tables: Mapping[str, Any], paths: Iterable[Path]) -> dict[str, Any]:
    """The tables of packages with more releases, oldest first."""
    known: dict[str, dict[str, Flat]] = {
        package: dict(zip(t["versions"], parted(t, len(t["versions"])), strict=True))
        for package, t in tables.items()
    }
    for path in paths:
        top, version = _named(path)
        package = top.replace("_", "-")
        with TemporaryDirectory(prefix="modelmedic-interface-") as work:
            release = unpacked(normal_name(package), path, version, Path(work, "unpacked"))
            known.setdefault(package, {})[version] = list_interface(modules_of(release, top))
    found = {}
    for package, releases in known.items():
        versions = sorted(releases, key=_order)
        found[package] = {"versions": versions, **joined([releases[v] for v in versions])}
    return found


def _named(path: Path) -> tuple[str, str]:
    """The package and version in the name of a wheel or folder."""
    top, _, rest = path.name.removesuffix(".whl").partition("-")
    return top, rest if _DATE.match(rest) else rest.partition("-")[0]


def _order(version: str) -> tuple[bool, Any]:
    dated = bool(_DATE.match(version))
    return (False, version) if dated else (True, Version(version))


def written(tables: Mapping[str, Any]) -> str:
    """The file: one line for each module, class and function."""
    return "{\n" + ",\n".join(f"{json.dumps(p)}: {_object(t)}" for p, t in tables.items()) + "\n}\n"


def _object(table: Mapping[str, Any]) -> str:
    parts = [f'"versions": {json.dumps(table["versions"])}']
    for name in ("modules", "classes", "functions"):
        parts.append(f'"{name}": {{\n' + ",\n".join(_rows(table[name])) + "\n}")
    return "{\n" + ",\n".join(parts) + "\n}"


def _rows(owners: Mapping[str, Any]) -> Iterator[str]:
    for owner, entries in owners.items():
        yield f"{json.dumps(owner)}: {json.dumps(entries, separators=(',', ':'))}"


def main() -> None:
    """Extend the file."""
    file, *releases = map(Path, sys.argv[1:])
    tables = json.loads(file.read_text("utf-8")) if file.exists() else {}
    file.write_text(written(extended(tables, releases)), "utf-8")


if __name__ == "__main__":
    main()
