"""Reads where unexplained errors come from, for the commands that report them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from ...facts.problems import INTERRUPTED, out_of_time
from ..context import cache_folder
from ..deadline import NEVER, Deadline
from .options import Body, Decorator, path_option

if TYPE_CHECKING:
    from ...engine.compiler.knowledge_base import KnowledgeBase
    from ...engine.diagnosis.diagnoser import Diagnoser
    from ...engine.diagnosis.report import Report, Unexplained
    from ...facts import Fact, Problem
    from ...probes import Progress
    from ..waiting import Watch
    from ..waiting.gauge import Part

MAX_NEIGHBOURS = 3
MANY_FILES = 500
"""A package with more files takes seconds; the note appears without a terminal, too."""


class Environment(NamedTuple):
    """The packages to read: those of an interpreter or a folder, else those of this process."""

    python: Path | None = None
    site: Path | None = None

    def checked(self) -> Environment:
        """Return itself. Raises :class:`ModelMedicError` if a named folder does not exist."""
        if self != Environment():
            from ...reading.packages.environments import site_folder
            from ...reading.packages.folder import SiteFolder

            SiteFolder(site_folder(self.python, self.site))
        return self


def source_options(*, default: bool = True) -> Decorator:
    """``--source/--no-source`` and which environment is read."""
    about = "Read the source of installed packages for errors without an explanation."
    flag = click.option("--source/--no-source", default=default, show_default=True, help=about)
    return lambda body: flag(environment_options(body))


def environment_options(body: Body) -> Body:
    """``--python`` and ``--site``: whose packages are read."""
    python = "The interpreter or environment whose packages are read; it is not run."
    site = "The folder whose packages, or own code, are read."
    return path_option("--python", python, "PATH")(path_option("--site", site, "DIR")(body))


def with_source(
    doctor: Diagnoser, facts: Sequence[Fact], problems: Sequence[Problem], report: Report,
    where: Environment, deadline: Deadline = NEVER,
) -> Report:  # fmt: skip
    """The report with what source says of the errors that nothing explains and no row knows.
    Problems of reading packages are not problems of the user's input, so they are left out, but
    for what Ctrl-C left unread."""
    named = {error.fact for error in report.unexplained if not error.row}
    errors = [fact for name, fact, _ in report.facts
              if name in named and fact.kind == "error_message"]  # fmt: skip
    if not errors or (
        where == Environment() and not any(map(_names_code, errors)) and not _indexed()
    ):
        return report
    if deadline.has_passed():
        unread = out_of_time("what source says of the errors was not looked up")
        return report._replace(errors=(*report.errors, unread))
    from ...probes.source.probe import Search, read_origins

    with announced(deadline) as progress:
        cache = cache_folder() or ""
        search = Search(where.python, where.site, cache=cache, progress=progress)
        found = read_origins(errors, doctor.base.vocabulary, search)
    late = deadline.has_passed()
    cut = [
        out_of_time(problem.message.removeprefix("interrupted: "), problem.where)
        if late
        else problem
        for problem in found.problems
        if problem.code == INTERRUPTED
    ]
    if not found.facts and not cut:
        return report
    known = [*facts, *found.facts]
    read = doctor.diagnose(known, [*problems, *cut], time_is_up=deadline.has_passed)
    told = tuple(_with_neighbours(error, doctor.base) for error in read.unexplained)
    return read._replace(unexplained=told)


def _names_code(error: Fact) -> bool:
    """Whether an error names a file, a module, a logger or an owner to look into."""
    return any(error.get(name) for name in ("file", "module", "logger", "owner"))


def _indexed() -> bool:
    """Whether any package is indexed; told without loading what reads an index."""
    folder = cache_folder()
    return folder is not None and os.path.isdir(os.path.join(folder, "source"))


def _with_neighbours(error: Unexplained, base: KnowledgeBase) -> Unexplained:
    """The error with the rows that know other messages of the module that it comes from: those
    with the most words in common first."""
    if error.source is None or not error.source.get("module"):
        return error
    module, words = error.source["module"], set(error.text.lower().split())
    rows = [(-len(words & set(f"{entry['title']} {entry['meaning']}".lower().split())), name)
            for name, entry in base.catalogue["entries"].items()
            if module in entry.get("modules", ())]  # fmt: skip
    near = [{"id": name, "title": base.catalogue["entries"][name]["title"]}
            for _, name in sorted(rows)[:MAX_NEIGHBOURS]]  # fmt: skip
    return error._replace(source={**error.source, "near": near}) if near else error


@contextmanager
def announced(deadline: Deadline = NEVER) -> Iterator[Progress]:
    """Progress of reading packages on a terminal; elsewhere a line for a big package."""
    from ..waiting import watched

    with watched(deadline) as watch:
        yield _Announced(watch)


class _Announced(NamedTuple):
    """Tells a reader without a terminal of what takes long."""

    watch: Watch

    def part(self, what: str, total: int = 0, unit: str = "", *, ends_early: bool = False) -> Part:
        if total > MANY_FILES and not sys.stderr.isatty():
            click.echo(f"reading the {what}, {total:,} files, once ...", err=True)
        return self.watch.part(what, total, unit, ends_early=ends_early)
