"""Lists of packages in files: pip freeze, requirements, pip and conda lists, lock files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ...facts.problems import Location, ModelMedicError, Problem, excerpt
from ...facts.regular_files import read_regular
from ...reading.text.files import decode
from .package_lists import Entry, json_packages, normal_name, read_line, toml_packages

MAX_BYTES = 20_000_000
MAX_SHOWN = 100
MAX_PROBLEMS = 20
_HINT = "give the output of `pip freeze`, `pip list --format json`, `conda list`, or a lock file"
_TOML_HEAD = re.compile(r"\s*(?:#[^\n]*\n\s*)*(?:\[\[?[\w.]+\]\]?\s*(?:\n|\Z)|[\w-]+ *= *\S)")


@dataclass(frozen=True, slots=True)
class Listing:
    """The packages of a file: name -> (version, line); the line is 0 if the form has none.

    ``complete`` is true if the file lists everything that is installed, so that a missing package
    is not installed. ``problems`` are those of single lines (MM431 to MM434).
    """

    packages: dict[str, tuple[str, int]] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()
    complete: bool = False


def read_listing(path: Path) -> Listing:
    """Read a file. Raises :class:`ModelMedicError` (MM430) if it cannot be read at all."""
    where = Location(str(path))
    try:
        raw = read_regular(path, MAX_BYTES)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise _error(f"cannot read the file: {reason}", where) from None
    if len(raw) > MAX_BYTES:
        raise _error(f"the file has more than {MAX_BYTES:,} bytes", where)
    if b"\0" in raw[:65_536] and not raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise _error("this is not text", where)
    return parse_listing(decode(raw), str(path))  # PowerShell writes UTF-16


def parse_listing(text: str, name: str) -> Listing:
    """The packages in a text of any of the forms; ``name`` is the file name, which decides the form
    and is named in problems. Never raises."""
    if text.lstrip()[:1] in ("{", "[") and not _TOML_HEAD.match(text):
        return _json_listing(text, name)
    if name.endswith((".lock", ".toml")) and _TOML_HEAD.match(text):
        entries, problem, line = toml_packages(text)
        found = _collect(entries, name, complete=False)
        if not problem:
            return found
        broken = Problem("MM432", problem, Location(name, line), "the readable part was used")
        others = tuple(each for each in found.problems if each.code != "MM433")
        return Listing(found.packages, (broken, *others))
    return _text_listing(text, name)


def _json_listing(text: str, name: str) -> Listing:
    where = Location(name)
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", 0)
        reason = getattr(error, "msg", "") or "too deep or too large"
        return Listing(problems=(Problem("MM432", f"not valid JSON: {reason}",
                                         Location(name, line), _HINT),))  # fmt: skip
    entries, complete = json_packages(data)
    if entries is None:
        return Listing(problems=(Problem("MM433", "this JSON lists no packages", where, _HINT),))
    return _collect(entries, name, complete)


def _text_listing(text: str, name: str) -> Listing:
    lines = text.splitlines()
    # Only the two programs that list the installed packages write these heads.
    complete = any(line.split()[:2] == ["Package", "Version"] or
                   line.startswith("# packages in environment at")
                   for line in lines[:20])  # fmt: skip
    return _collect(_text_entries(lines), name, complete)


def _text_entries(lines: list[str]) -> Iterator[Entry]:
    """The entries of all lines; a backslash at the end of a line continues it."""
    pending: list[str] = []
    previous = ""
    for number, line in enumerate(lines, 1):
        pending.append(line.rstrip("\\") if line.endswith("\\") else line)
        if line.endswith("\\") and number < len(lines) and len(pending) < 500:
            continue
        whole = " ".join(pending)
        entry = read_line(whole, previous)
        if entry:
            yield entry._replace(line=number - len(pending) + 1)
        previous, pending = whole, []


def _short(text: str) -> str:
    """A name or a version, cut if it is too long."""
    return text if len(text) <= MAX_SHOWN else excerpt(text)


def _collect(entries: Iterator[Entry] | list[Entry], name: str, complete: bool) -> Listing:
    """One version for each name; problems for bad lines and for contradictions."""
    versions: dict[str, dict[str, int]] = {}
    problems: list[Problem] = []
    bad = 0
    for entry in entries:
        if entry.bad:
            bad += 1
            if bad <= MAX_PROBLEMS:
                message = f"this line names no package: {excerpt(entry.bad)}"
                problems.append(Problem("MM431", message, Location(name, entry.line), ""))
        else:
            versions.setdefault(normal_name(entry.name), {}).setdefault(entry.version, entry.line)
    if bad > MAX_PROBLEMS:
        message = f"{bad - MAX_PROBLEMS:,} more lines name no package"
        problems.append(Problem("MM431", message, Location(name), _HINT))
    packages: dict[str, tuple[str, int]] = {}
    for package, found in versions.items():
        pinned = {version: line for version, line in found.items() if version}
        if len(pinned) > 1:
            listed = ", ".join(map(_short, sorted(pinned)[:5]))
            message = f"{_short(package)} stands with several versions ({listed}): none was taken"
            where = Location(name, min(pinned.values()))
            problems.append(Problem("MM434", message, where, "give the list of what is installed"))
            continue
        packages[package] = next(iter(pinned.items()), ("", min(found.values())))
    if not packages and all(each.code == "MM431" for each in problems):
        problems = [Problem("MM433", "the file lists no packages", Location(name), _HINT)]
    return Listing(packages, tuple(problems), complete)


def _error(message: str, where: Location) -> ModelMedicError:
    return ModelMedicError(Problem("MM430", message, where, _HINT))
