"""Places for programs: files that exist, from the root of the repository, and a line.

A fact names its place freely: a file with a line, a part of a file (``stage2.json#results[5]``), a
folder, or a file that is missing. Editors and code scanning open files, so a place is shown as the
file that contains it, or the nearest one of the report, together with its name.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import NamedTuple
from urllib.parse import quote

from ...engine.diagnosis.report import Diagnosis, Report
from ...facts import Fact, Problem
from .safe_text import one_line

_PLACE = re.compile(r"^(.+?)(?::(\d{1,9}))?(?::(\d{1,9}))?$", re.DOTALL)
_CHANGE = re.compile(r"(\d{1,9}):(\d{1,9})-(\d{1,9}):(\d{1,9}) (.*)\Z", re.DOTALL)
MAX_NEAREST = 3
"""Places for which the nearest file is looked for, where none of all is a file."""
MAX_FACTS = 2_000
"""Facts among whose files the nearest is looked for."""


class Place(NamedTuple):
    """A file with a line (0 means not known), and the part of it, or the other place, that is
    meant. Columns count from 1, ``end_column`` is the one after it; 0 means unknown."""

    path: str
    line: int = 0
    part: str = ""
    column: int = 0
    end_line: int = 0
    end_column: int = 0


class Change(NamedTuple):
    """A range of a file and the text that it should hold. ``code`` is the line ``at`` as it was
    when the change was proposed, without indent."""

    place: Place
    text: str
    at: int = 0
    code: str = ""


class Files:
    """The files of one report, as they are on this machine now."""

    def __init__(self, report: Report | None = None) -> None:
        self._facts = {name: fact for name, fact, _ in report.facts} if report else {}
        self._root = repository()
        self._known: list[Place] | None = None
        self._file = cache(self._found)
        self._nearest = cache(self._near)

    def of_problem(self, problem: Problem) -> list[Place]:
        """The place of a problem in a file, if it has one."""
        where = problem.where
        if where is None or where.path.startswith("<"):
            return []
        there = self._file(where.path)
        return [there._replace(line=where.line)] if there else []

    def of_diagnosis(self, diagnosis: Diagnosis) -> list[Place]:
        """The places of the evidence of a diagnosis, each once, those with a line first."""
        return self.of_facts(e.fact for e in diagnosis.evidence)

    def of_facts(self, names: Iterable[str]) -> list[Place]:
        """The places of facts, given by their ids, in the same order."""
        facts = (self._facts[name] for name in names if name in self._facts)
        return self._resolved([place for fact in facts for place in _of(fact)])

    def changes(self, diagnosis: Diagnosis) -> list[Change]:
        """The changes that the evidence of a diagnosis suggests, in the order of the text."""
        named = (e.fact for e in diagnosis.evidence)
        facts = (self._facts[name] for name in dict.fromkeys(named) if name in self._facts)
        found = (self._change(fact) for fact in facts)
        return sorted({change for change in found if change is not None})

    def _change(self, fact: Fact) -> Change | None:
        match = _CHANGE.match(str(fact.get("suggestion") or ""))
        place = next(_of(fact), None) if match else None
        there = self._file(place.path) if place else None
        if match is None or there is None:
            return None
        line, column, end_line, end_column = (int(match[n]) for n in range(1, 5))
        code = str(fact.get("snippet") or "").partition("\n")[0]
        place = Place(there.path, line, "", column, end_line, end_column)
        return Change(place, match[5], int(fact.get("line") or 0), code)

    def _resolved(self, places: Sequence[Place]) -> list[Place]:
        """The files that exist; if there are none, the nearest ones."""
        found = [
            place._replace(path=there.path, part=there.part)
            for place in places
            if (there := self._file(place.path)) is not None
        ]
        if not found:
            near = (self._nearest(place.path) for place in places[:MAX_NEAREST])
            found = [there for there in near if there is not None]
        once: dict[tuple[str, int, int], Place] = {}
        for there in found:
            once.setdefault((there.path, there.line, there.column), there)
        return sorted(once.values(), key=lambda place: place.line == 0)

    def _found(self, path: str) -> Place | None:
        """The file that contains a place; None if there is none."""
        if _is(os.path.isfile, path):
            return Place(self._shown(path))
        file, _, part = path.rpartition("#")
        return Place(self._shown(file), 0, part) if file and _is(os.path.isfile, file) else None

    def _near(self, path: str) -> Place | None:
        """A file of a place that is a folder; else that of the report that has the most folders in
        common with it."""
        shown = self._shown(path)
        folder = next(
            (p for p in (path, path.rpartition("#")[0]) if p and _is(os.path.isdir, p)), ""
        )
        inside = _file_in(folder) if folder else ""
        if inside:
            return Place(self._shown(inside), 0, one_line(shown))
        if self._known is None:
            facts = list(self._facts.values())[:MAX_FACTS]
            every = (self._file(place.path) for fact in facts for place in _of(fact))
            self._known = list(dict.fromkeys(Place(p.path) for p in every if p is not None))
        best = max(self._known, key=lambda place: _common(place.path, shown), default=None)
        return best and best._replace(part=one_line(shown))

    def _shown(self, path: str) -> str:
        """A path from the root of the repository; unchanged if it is elsewhere."""
        if "\0" in path:
            return path
        whole = os.path.abspath(os.path.expanduser(path))
        for each in (whole, os.path.realpath(whole)):
            if each.startswith(self._root.rstrip(os.sep) + os.sep):
                return os.path.relpath(each, self._root)
        return path if path.startswith("~") else whole


def repository() -> str:
    """The root of the repository that holds the working folder; without one, that folder."""
    here = folder = os.path.realpath(os.getcwd())
    while not os.path.exists(os.path.join(folder, ".git")):
        above = os.path.dirname(folder)
        if above == folder:
            return here
        folder = above
    return folder


def is_inside(path: str) -> bool:
    """Whether a path of a :class:`Place` is in the repository."""
    return not (os.path.isabs(path) or path.startswith("~"))


def _is(test: Callable[[str], bool], path: str) -> bool:
    try:
        return test(os.path.expanduser(path))
    except ValueError:  # no name of a file: a zero byte, or half a character
        return False


def _file_in(folder: str) -> str:
    """The first file of a folder by its name; empty if it has none or may not be read."""
    try:
        paths = (f"{folder}/{name}" for name in sorted(os.listdir(os.path.expanduser(folder))))
    except OSError:
        return ""
    return next((path for path in paths if _is(os.path.isfile, path)), "")


def _common(one: str, other: str) -> int:
    """How many folders two paths have in common at their beginning."""
    pairs = zip(one.split("/")[:-1], other.split("/"), strict=False)
    return next((n for n, (a, b) in enumerate(pairs) if a != b), one.count("/"))


def _of(fact: Fact) -> Iterator[Place]:
    for provenance in fact.provenance:
        match = _PLACE.match(provenance.location)
        if match and not match[1].startswith("<"):
            line = int(match[2] or 0)
            column, end_line, end_column = (
                int(fact.get(name) or 0) if line and line == fact.get("line") else 0
                for name in ("column", "end_line", "end_column")
            )
            yield Place(match[1], line, "", column, end_line, end_column)


def uri(path: str) -> str:
    """A path as a URI reference. Nothing in it can be a scheme, a host, a query or a fragment."""
    quoted = quote(one_line(path).replace("\\", "/"), safe="/~")
    return "file:///" + quoted.lstrip("/") if quoted.startswith("/") else quoted
