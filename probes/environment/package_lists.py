"""One line of a package list: pip freeze, requirements, pip list, conda list and export."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from ...reading.text.values import read_toml

_NAME = r"([A-Za-z0-9_](?:[A-Za-z0-9._-]{0,150}[A-Za-z0-9])?)"
_VERSION = r"([A-Za-z0-9][A-Za-z0-9.+!_-]{0,100})"
# tinker==0.38.0, tinker[x] === 0.38.0, conda export: numpy=1.26.4=py311h0
_PINNED = re.compile(
    rf"{_NAME}\s*+(?:\[[^\]]{{0,200}}\])?\s*+={{1,3}}\s*+{_VERSION}(\.\*)?(?==|\s|,|;|\Z)"
)
_NAMED = re.compile(rf"{_NAME}\s*+(?:\[[^\]]{{0,200}}\])?\s*+(?=[<>!~=;,@(\s]|\Z)")
_DIRECT = re.compile(rf"{_NAME}\s*+(?:\[[^\]]{{0,200}}\])?\s*+@\s*+(\S+)")
# pip list and conda list: columns
_COLUMNS = re.compile(rf"{_NAME}\s++(\d[A-Za-z0-9.+!_-]{{0,100}})(?:\s+\S.*)?\Z")
_WHEEL = re.compile(rf"{_NAME}-(\d[A-Za-z0-9.+!_]{{0,100}})-[\w.-]+\.whl\Z")
_CONDA_FILE = re.compile(rf"{_NAME}-(\d[A-Za-z0-9.+!_]{{0,100}})-[\w.]+\.(?:conda|tar\.bz2)\Z")
_WORDS = re.compile(r"[A-Za-z0-9]\s+[A-Za-z]")
_SINGLE = re.compile(r"[^=]*=[^=]")
_EGG = re.compile(rf"[#&]egg={_NAME}")
# The line that `pip freeze` writes above the `-e` line of a local project.
_EDITABLE_NOTE = re.compile(rf"# Editable .*\({_NAME}==(\S{{1,100}})\)\s*\Z")
_CONDA_NAMES = {"pytorch": "torch"}
_YAML_HEADS = ("name:", "channels:", "dependencies:", "prefix:", "variables:")


class Entry(NamedTuple):
    """A package; ``version`` is "" if the line pins none, ``bad`` is a line that is not an
    entry."""

    name: str
    version: str = ""
    line: int = 0
    bad: str = ""


def normal_name(name: str) -> str:
    """The normalised form of a distribution name: lower case, hyphens."""
    return re.sub(r"[-_.]+", "-", name).lower()


def read_line(line: str, previous: str = "") -> Entry | None:
    """The package that a line names; None for comments, options, heads and blank lines.

    ``previous`` is the line above. Extras, markers and hashes are ignored.
    """
    text = line.strip().removeprefix("- ").strip().strip("'\"")
    if not text or text.startswith("#") or text.rstrip(":") != text:
        return None
    if text.startswith(_YAML_HEADS) or text.startswith("- ") or text.startswith("@EXPLICIT"):
        return None
    if text.startswith("-"):
        return _option(text, previous)
    text = text.partition(" #")[0].partition(" --hash")[0].strip()
    if "://" in text or " @ " in text:
        return _url(text)
    return _plain(text, is_conda=line.strip().startswith("- "))


def _plain(text: str, is_conda: bool) -> Entry | None:
    pinned = _PINNED.match(text)
    if pinned:
        name = pinned[1]
        # A single `=` followed by a build string is conda's.
        if is_conda or _SINGLE.match(text):
            name = _CONDA_NAMES.get(name.lower(), name)
        return Entry(name, "" if pinned[3] else pinned[2])
    column = _COLUMNS.match(text)
    if column:
        return Entry(_CONDA_NAMES.get(column[1].lower(), column[1]), column[2])
    if text.split()[:2] == ["Package", "Version"]:
        return None
    named = _NAMED.match(text)
    if named and not _WORDS.search(text.partition(";")[0]):
        return Entry(named[1])
    return Entry("", bad=text)


def _option(text: str, previous: str) -> Entry | None:
    """`-e` names a package in its URL, or in the note above it; other options name none."""
    if text.startswith(("-r", "--requirement", "-c", "--constraint")):
        return Entry("", bad=f"{text} (another file, which is not read)")
    if not text.startswith(("-e", "--editable")):
        return None
    egg = _EGG.search(text)
    note = _EDITABLE_NOTE.match(previous.strip())
    if note:
        return Entry(note[1], note[2])
    return Entry(egg[1]) if egg else None


def _url(text: str) -> Entry | None:
    """`name @ URL`, or a bare URL; the file name of a wheel holds the version."""
    direct = _DIRECT.match(text)
    url = direct[2] if direct else text
    file = url.partition("#")[0].partition("?")[0].rpartition("/")[2].replace("%2B", "+")
    wheel = _WHEEL.match(file) or _CONDA_FILE.match(file)
    egg = _EGG.search(text)
    if direct:
        return Entry(direct[1], wheel[2] if wheel else "")
    if wheel:
        return Entry(_CONDA_NAMES.get(wheel[1].lower(), wheel[1]), wheel[2])
    return Entry(egg[1]) if egg else None


_PLACE = re.compile(r"\(at line (\d+)")
_PAIR = re.compile(r'(name|version) *= *"([^"\n]{1,200})"')
_CONDA_NAMES = {"pytorch": "torch"}


def toml_packages(text: str) -> tuple[list[Entry], str, int]:
    """The packages of a TOML lock file, and its fault ("" if none) with the line.

    A broken file is read line by line, so that its good part survives.
    """
    try:
        data = read_toml(text)
    except (ValueError, RecursionError) as error:  # also a number with thousands of digits
        place = _PLACE.search(str(error))
        return list(_lines(text)), f"not valid TOML: {error}"[:200], int(place[1]) if place else 0
    for key in ("package", "packages"):
        if isinstance(data.get(key), list):
            return list(_rows(data[key])), "", 0
    return [], "this TOML file locks no packages (a project file names ranges, not versions)", 0


def json_packages(data: Any) -> tuple[list[Entry] | None, bool]:
    """The packages of a JSON list (None if it is not one); and whether it lists everything that is
    installed."""
    if isinstance(data, list):  # pip list --format json, conda list --json
        return (list(_rows(data)), True) if data else (None, False)
    if not isinstance(data, dict):
        return None, False
    if isinstance(data.get("installed"), list):  # pip inspect
        inner = [row.get("metadata") for row in data["installed"] if isinstance(row, dict)]
        return list(_rows(inner)), True
    if isinstance(data.get("default"), dict):  # Pipfile.lock
        return list(_pipenv(data)), False
    return None, False


def _rows(rows: list[Any]) -> Iterator[Entry]:
    for row in rows:
        if isinstance(row, dict) and isinstance(row.get("name"), str):
            version = row.get("version")
            name = row["name"]
            if "channel" in row:
                name = _CONDA_NAMES.get(name, name)
            yield Entry(name, version if isinstance(version, str) else "")


def _pipenv(data: dict[str, Any]) -> Iterator[Entry]:
    for section in ("default", "develop"):
        packages = data.get(section)
        for name, row in packages.items() if isinstance(packages, dict) else ():
            version = row.get("version") if isinstance(row, dict) else None
            pinned = isinstance(version, str) and version.startswith("==")
            yield Entry(name, str(version)[2:] if pinned else "")


def _lines(text: str) -> Iterator[Entry]:
    name, at = "", 0
    inside = False
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if stripped.startswith("["):
            inside = stripped in ("[[package]]", "[[packages]]")
            name = ""
        pair = _PAIR.match(stripped) if inside else None
        if pair and pair[1] == "name":
            name, at = pair[2], number
        elif pair and name:
            yield Entry(name, pair[2], at)
            name = ""
