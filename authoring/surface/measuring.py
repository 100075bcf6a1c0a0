"""All messages of a package and how many of them are answered."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ...facts import Problem
from ...facts.progress import UNWATCHED, Progress
from ...reading.packages.index import SourceIndex
from ...reading.packages.sites import Site
from .answers import Answer, Answers, plain_template
from .ranking import is_test, likelihood

_LOUD = frozenset({"WARNING", "ERROR", "CRITICAL"})


class Entry(NamedTuple):
    """One message of a package: an exception class ("" for log lines) and a template, with the
    sites that give it and the answer at each. A message counts as answered if it is at each."""

    exception: str
    template: str
    sites: tuple[Site, ...]
    answers: tuple[Answer, ...]

    @property
    def rows(self) -> tuple[str, ...]:
        """The rows that answer it somewhere."""
        return tuple(dict.fromkeys(row for each in self.answers for row in each.rows))

    @property
    def by_rows(self) -> bool:
        """Whether rows answer it."""
        return all(each.rows for each in self.answers)

    @property
    def remedied(self) -> bool:
        """Whether rows give its cause and something to do about it."""
        return all(each.remedied for each in self.answers)

    @property
    def by_any(self) -> bool:
        """Whether rows or its source answer it."""
        return all(each.rows or each.source for each in self.answers)

    @property
    def answer(self) -> str:
        """``row``, ``source`` or ``silent``."""
        return "row" if self.by_rows else "source" if self.by_any else "silent"

    @property
    def likelihood(self) -> int:
        """The likelihood of the likeliest site."""
        return max(likelihood(site) for site in self.sites)

    @property
    def likeliest(self) -> Site:
        """The site at which a user most likely meets it."""
        return max(self.sites, key=likelihood)


class Figures(NamedTuple):
    """The number of messages, and of those answered in each way."""

    sites: int
    messages: int
    rows: int
    remedied: int
    answered: int


class Surface(NamedTuple):
    """The messages that a package can write. ``quiet`` counts sites that report no failure
    (information, print), ``tests`` those in test modules; neither are among the ``entries``."""

    package: str
    version: str
    entries: tuple[Entry, ...]
    quiet: int
    tests: int
    problems: tuple[Problem, ...] = ()

    @property
    def figures(self) -> Figures:
        """The counts."""
        places = {(site.file, site.line) for entry in self.entries for site in entry.sites}
        return Figures(
            len(places), len(self.entries), sum(entry.by_rows for entry in self.entries),
            sum(entry.remedied for entry in self.entries),
            sum(entry.by_any for entry in self.entries),
        )  # fmt: skip

    def unanswered(self) -> list[Entry]:
        """The messages that no row answers, likeliest first."""
        silent = (entry for entry in self.entries if not entry.by_rows)
        return sorted(silent, key=lambda e: (-e.likelihood, e.likeliest.file, e.likeliest.line))


def percent(part: int, whole: int) -> float:
    """A share with one digit, never rounded up."""
    return part * 1000 // whole / 10 if whole else 100.0


def measure(
    index: SourceIndex, package: str, answers: Answers, progress: Progress = UNWATCHED
) -> Surface:
    """Try every message of a package of the index."""
    loud, quiet, tests = _sorted(index.sites(package))
    grouped: dict[tuple[str, str], list[tuple[Site, Answer]]] = {}
    with progress.part(f"messages of {package}", len(loud), "messages") as step:
        for site in loud:
            key = (site.exception_name, plain_template(site))
            grouped.setdefault(key, []).append((site, answers.answer(site)))
            step()
    entries = tuple(
        Entry(exception, template, tuple(s for s, _ in found), tuple(a for _, a in found))
        for (exception, template), found in sorted(grouped.items())
    )
    problems = tuple(p for p in index.problems if _package_of(p, index) in ("", package))
    return Surface(package, index.packages.get(package, ""), entries, quiet, tests, problems)


def _package_of(problem: Problem, index: SourceIndex) -> str:
    """Find the package whose files contain a problem; "" if unknown."""
    file = index.relative(problem.where.path) if problem.where else ""
    return index.folder.owner_of_file(file) if file else ""


def loud_sites(sites: Iterable[Site]) -> list[Site]:
    """Return the sites that report a failure and are not in a test."""
    return _sorted(sites)[0]


def _sorted(sites: Iterable[Site]) -> tuple[list[Site], int, int]:
    """The sites that count; how many are quiet, and how many are in tests."""
    loud: list[Site] = []
    quiet = tests = 0
    for site in sites:
        if is_test(site.file):
            tests += 1
        elif _is_loud(site):
            loud.append(site)
        else:
            quiet += 1
    return loud, quiet, tests


def _is_loud(site: Site) -> bool:
    return site.level in _LOUD if site.kind == "log" else site.kind != "print"
