"""``diagnose kb surface``: what can packages say, and what answers it?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ... import output
from ...context import Context, cache_folder
from ...waiting import watched
from ..options import FOLDER, LAYERS, command, formats, path_option
from .group import built_knowledge, kb, tell_interrupted
from .surface_report import Wanted, lines_of, plain_of

if TYPE_CHECKING:
    from ....authoring.surface import Conflict, Record, Spoken, Surface
    from ....reading.packages.folder import SiteFolder
    from ....reading.packages.index import SourceIndex
    from ...waiting import Watch


@command(kb)
@click.argument("packages", nargs=-1, metavar="[PACKAGE]...")
@path_option("--site", "Read the packages in this folder: site-packages, or sources.", "DIR",
             multiple=True, type=FOLDER)  # fmt: skip
@path_option("--python", "Read the packages of this interpreter (it is not run); default: our own.",
             type=click.Path(exists=True, path_type=Path))  # fmt: skip
@click.option("--silent", is_flag=True, help="List the messages without a row, likeliest first.")
@click.option("--all", "each", is_flag=True, help="List every message with its answer.")
@click.option("--limit", type=click.IntRange(1), default=30, show_default=True, metavar="N",
              help="List at most N silent messages of a package.")  # fmt: skip
@click.option("--conflicts", "lint", is_flag=True,
              help="List the rows that answer messages of another meaning.")  # fmt: skip
@click.option("--at-least", type=float, metavar="PERCENT",
              help="Exit with 3 if rows answer less of a package.")  # fmt: skip
@path_option("--recorded", "Exit with 3 if a share is lower than in this file.")
@path_option("--record", "Write the figures into this file; those of other versions in it stay.")
@LAYERS
@formats("text", "json", "markdown")
def surface(
    context: Context,
    packages: Sequence[str],
    site: Sequence[Path],
    python: Path | None,
    silent: bool,
    each: bool,
    limit: int,
    lint: bool,
    at_least: float | None,
    recorded: Path | None,
    record: Path | None,
) -> int:
    """Count the messages that packages can raise or log, and those that error rows answer. Without
    PACKAGE, count those of all packages with anchors. Files are read, nothing is run. Exit code 3
    means that rows answer less than required, or that --conflicts found any."""
    from ....authoring.surface import falls, record_of

    before = _recorded(recorded)
    rows = _rows(context) if lint or not packages else {}
    folders = _folders(site, python)
    with watched() as watch:
        found = list(_measured(context, folders, packages, rows, lint, watch))
    if watch.stopped:
        tell_interrupted("packages that are not listed were not measured")
    surfaces = [each for each, _ in found]
    now = [record_of(each) for each in surfaces]
    wanted = Wanted(silent, each, limit, at_least, tuple(falls(before, now)))
    conflicts = [conflict for _, some in found for conflict in some]
    _emit(context, surfaces, conflicts, wanted, [*before, *_recorded(record, new=True), *now])
    if record and not watch.stopped:
        _write(record, now)
    if watch.stopped:
        return output.INTERRUPTED
    return output.BAD_KNOWLEDGE if conflicts or wanted.missed_by(surfaces) else output.OK


def _rows(context: Context) -> Mapping[str, Spoken]:
    from ....authoring.surface import spoken

    built = built_knowledge(context.overlays)
    return spoken(built.source, built.vocabulary)


def _folders(sites: Sequence[Path], python: Path | None) -> list[SiteFolder]:
    from ....reading.packages.environments import site_folders
    from ....reading.packages.folder import SiteFolder

    own = site_folders(python) if python or not sites else []
    given = [SiteFolder(path) for path in dict.fromkeys(path.resolve() for path in sites)]
    return [*given, *(each for each in own if each.root not in {one.root for one in given})]


def _measured(
    context: Context, folders: Sequence[SiteFolder], packages: Sequence[str],
    rows: Mapping[str, Spoken], lint: bool, watch: Watch,
) -> Iterator[tuple[Surface, list[Conflict]]]:  # fmt: skip
    """The packages as they are found in each folder, with the conflicts if they are wanted."""
    from ....authoring.surface import Answers, conflicts, foreign, measure
    from ....reading.packages.index import open_index

    for folder, names in _places(folders, packages, rows):
        index: SourceIndex = open_index(folder.path, names, cache=cache_folder() or "",
                                        progress=watch)  # fmt: skip
        answers = Answers(context.doctor, index)
        for package in index.packages:
            found = watch.attempt(measure, index, package, answers, watch)
            if found is None:
                return
            problems: list[Conflict] = []
            if lint:
                problems = [*conflicts(found, rows), *foreign(found, rows, answers)]
            yield found, problems


def _places(
    folders: Sequence[SiteFolder], packages: Sequence[str], rows: Mapping[str, Spoken]
) -> list[tuple[SiteFolder, list[str]]]:
    """The packages to read, by folder; by default those that rows are anchored to. Raises
    :class:`ModelMedicError` (MM487) for a package that is in no folder."""
    from ....facts import ModelMedicError, Problem

    anchored = sorted({package for row in rows.values() for package in row.anchors})
    found = [(folder, [n for n in packages or anchored if folder.has(n)]) for folder in folders]
    here = {name for _, names in found for name in names}
    for name in packages:
        if name not in here:
            folders[0].package(name)
    if not here:
        message = "no package to which error rows are anchored is installed here"
        hint = "name packages, or another environment with --python or --site"
        raise ModelMedicError(Problem("MM487", message, None, hint))
    return [(folder, names) for folder, names in found if names]


def _emit(
    context: Context, surfaces: Sequence[Surface], conflicts: Sequence[Conflict], wanted: Wanted,
    records: Sequence[Record],
) -> None:  # fmt: skip
    if context.format == "markdown":
        from ....authoring.surface import page, updated

        output.emit_source(page(updated(records, ())))
    else:
        lines = lines_of(surfaces, conflicts, wanted)
        context.emit(plain_of(surfaces, conflicts, wanted), lines)


def _recorded(path: Path | None, *, new: bool = False) -> list[Record]:
    """The records of a file; of a ``new`` one none."""
    from ....authoring.surface import read_records

    return read_records(path) if path and not (new and not path.exists()) else []


def _write(path: Path, now: Sequence[Record]) -> None:
    from ....authoring.surface import records_text, updated

    output.save(records_text(updated(_recorded(path, new=True), now)), path)
