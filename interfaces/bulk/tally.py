"""Counts over records that can be merged: within a chunk, over chunks, and over interruptions.

The tally of a whole job is bounded; what exceeds a limit is counted as :data:`OTHERS`. The tally of
a chunk is not, so that merging in the order of the records gives the same counts however they were
chunked.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ...engine.diagnosis.findings import Ranked
from ...engine.diagnosis.report import SEVERITIES

OTHERS = "(others)"
MAX_PACKAGES = 200
MAX_VERSIONS = 100
MAX_DAYS = 4_000


class Group:
    """Counts over a group of records."""

    __slots__ = ("diagnoses", "records", "with_problems")

    def __init__(
        self, records: int = 0, with_problems: int = 0, diagnoses: dict[str, int] | None = None
    ) -> None:
        self.records = records
        self.with_problems = with_problems
        self.diagnoses = diagnoses or {}

    def add(self, names: Iterable[str], has_problem: bool) -> None:
        self.records += 1
        self.with_problems += has_problem
        for name in names:
            self.diagnoses[name] = self.diagnoses.get(name, 0) + 1

    def merge(self, other: Group) -> None:
        self.records += other.records
        self.with_problems += other.with_problems
        for name, count in other.diagnoses.items():
            self.diagnoses[name] = self.diagnoses.get(name, 0) + count

    def plain(self) -> dict[str, Any]:
        """For the journal and the summary."""
        counts = {"records": self.records, "with_problems": self.with_problems}
        return counts | {"diagnoses": dict(sorted(self.diagnoses.items()))}


class Seen(NamedTuple):
    """The values of a record that are counted. ``day`` is empty if it has no time."""

    findings: Sequence[Ranked]
    packages: Sequence[tuple[str, str]] = ()
    day: str = ""


class Tally:
    """Counts over records; ``limited`` for a whole job."""

    def __init__(self, limited: bool = False) -> None:
        self._limited = limited
        self.refused = 0
        self.broken_inputs = 0
        self.all = Group()
        self.severities = dict.fromkeys(SEVERITIES, 0)
        self.packages: dict[tuple[str, str], Group] = {}
        self.days: dict[str, Group] = {}
        self._versions: dict[str, int] = {}  # how many of each package

    @property
    def processed(self) -> int:
        """Records diagnosed or refused."""
        return self.all.records + self.refused

    def add(self, seen: Seen) -> None:
        problems = [f for f in seen.findings if f.kind != "benign"]
        worst = [SEVERITIES.index(f.severity) for f in problems if not f.conflicting]
        if worst:
            self.severities[SEVERITIES[max(worst)]] += 1
        names = [f.id for f in seen.findings]
        has_problem = bool(problems)
        self.all.add(names, has_problem)
        if seen.day:
            self._day(seen.day).add(names, has_problem)
        for package in seen.packages:
            self._package(package).add(names, has_problem)

    def merge(self, other: Tally) -> None:
        """Add the counts of the following records."""
        self.refused += other.refused
        self.broken_inputs += other.broken_inputs
        self.all.merge(other.all)
        for severity, count in other.severities.items():
            self.severities[severity] += count
        for day, group in other.days.items():
            self._day(day).merge(group)
        for package, group in other.packages.items():
            self._package(package).merge(group)

    def _day(self, day: str) -> Group:
        if self._limited and day not in self.days and len(self.days) >= MAX_DAYS:
            day = OTHERS
        return self.days.setdefault(day, Group())

    def _package(self, package: tuple[str, str]) -> Group:
        found = self.packages.get(package)
        if found is None:
            if self._limited:
                package = self._with_room(*package)
            found = self.packages.setdefault(package, Group())
        return found

    def _with_room(self, name: str, version: str) -> tuple[str, str]:
        """The key under which a new version is counted."""
        versions = self._versions.get(name, 0)
        if not versions and len(self._versions) >= MAX_PACKAGES:
            return OTHERS, OTHERS
        if versions >= MAX_VERSIONS:
            return name, OTHERS
        self._versions[name] = versions + 1
        return name, version

    def by_package(self) -> dict[str, dict[str, Group]]:
        found: dict[str, dict[str, Group]] = {}
        for (name, version), group in self.packages.items():
            found.setdefault(name, {})[version] = group
        return found

    def plain(self) -> dict[str, Any]:
        """For the journal."""
        return {
            "refused": self.refused,
            "broken_inputs": self.broken_inputs,
            "all": self.all.plain(),
            "severities": self.severities,
            "packages": [[*package, group.plain()] for package, group in self.packages.items()],
            "days": {day: group.plain() for day, group in self.days.items()},
        }

    @staticmethod
    def from_plain(plain: Any) -> Tally:
        """From a journal; raises on malformed data."""
        tally = Tally(limited=True)
        tally.refused = int(plain["refused"])
        tally.broken_inputs = int(plain["broken_inputs"])
        tally.all = Group(**plain["all"])
        tally.severities = {name: int(plain["severities"][name]) for name in SEVERITIES}
        for name, version, group in plain["packages"]:
            tally.packages[name, version] = Group(**group)
            if OTHERS not in (name, version):
                tally._versions[name] = tally._versions.get(name, 0) + 1
        tally.days = {day: Group(**group) for day, group in plain["days"].items()}
        return tally
