"""The entries of our knowledge that a change touches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from ...engine.diagnosis.diagnoser import Diagnoser
from ...reading.packages.release import Release
from ...reading.packages.sites import Site
from ..surface import Answers
from .api import is_name
from .changes import ANSWERS_GONE, ANSWERS_OLD, Change
from .knowledge import Mention, Names, Touch

MOST = 8
BESIDE = 2
"""How many entries of a table an entry must name for it to know that table."""


class Rows:
    """The error rows that answer the messages of releases; a message that stays is tried once."""

    def __init__(self, doctor: Diagnoser) -> None:
        self._doctor = doctor
        self._known: dict[Site, tuple[str, ...]] = {}
        self._answers: dict[Path, Answers] = {}

    def of(self, release: Release, site: Site) -> tuple[str, ...]:
        """The rows that answer the message of a site."""
        key = replace(site, line=0, last_line=0, version="", guards=())
        if key not in self._known:
            answers = self._answers.get(release.folder.path)
            if answers is None:
                answers = self._answers[release.folder.path] = Answers(self._doctor, release.index)
            self._known[key] = answers.rows(site)
        return self._known[key]

    def all(self, release: Release, sites: Iterable[Site]) -> list[str]:
        """The rows that answer any of the sites."""
        return list(dict.fromkeys(row for site in sites for row in self.of(release, site)))


class Toucher:
    """Finds the entries that a change from one release to another touches."""

    def __init__(self, names: Names, rows: Rows, old: Release, new: Release) -> None:
        self._names, self._rows, self._old, self._new = names, rows, old, new

    def touched(self, change: Change) -> Change:
        """The change with the entries that it touches."""
        found = {touch.entry: touch for touch in reversed(list(self._found(change)))}
        touches = sorted(
            each if each.where else each._replace(where=self._names.place(each.entry))
            for each in found.values()
        )
        return change._replace(touches=tuple(touches), unknown=tuple(self.unknown(change)))

    def _found(self, change: Change) -> Iterator[Touch]:
        if change.area == "messages":
            yield from self._by_rows(change)
        elif change.kind == "code-changed":
            old = self._rows.all(self._old, change.before)
            for row in dict.fromkeys([*old, *self._rows.all(self._new, change.after)]):
                yield Touch(row, "", "answers a message of this code")
        elif change.area == "requires":
            package = change.name.partition(";")[0].strip()
            yield from _touches(self._names.of_versions(package), f"names versions of {package}")
        package, closely = self._new.package, change.area == "tables"
        for group in change.words:
            found = self._names.naming(group, package, closely=closely)[:MOST]
            yield from _touches(found, f"names {' and '.join(group)}")
        yield from self._by_table(change)

    def _by_rows(self, change: Change) -> Iterator[Touch]:
        old = self._rows.all(self._old, change.before)
        new = self._rows.all(self._new, change.after)
        for row in dict.fromkeys([*old, *new]):
            if not change.after:
                how = ANSWERS_GONE
            elif row not in new:
                how = ANSWERS_OLD
            elif row in old or not change.before:
                how = "answers it"
            else:
                how = "answers the new text only"
            yield Touch(row, "", how)

    def _by_table(self, change: Change) -> Iterator[Touch]:
        """New entries of a table if the knowledge names others of that table."""
        if not self.unknown(change):
            return
        beside = set(filter(is_name, change.beside))
        for mention, count in self._names.naming_most(beside, self._new.package, BESIDE, MOST):
            yield Touch(*mention, f"names {count} others of this table")

    def unknown(self, change: Change) -> Sequence[str]:
        """The new names of a change that our knowledge does not mention."""
        return [name for name in change.new_names if not self._names.has(name)]


def _touches(mentions: Iterable[Mention], how: str) -> Iterator[Touch]:
    for mention in mentions:
        yield Touch(*mention, how)
