"""``diagnose source``: read the messages of installed packages, and find where one comes from."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from .. import output
from ..context import Context, read_stdin
from .options import OUTPUT, TEXT_OR_JSON, command
from .source_lookup import Environment, announced, environment_options


@click.group()
def source() -> None:
    """Find the code behind a message in installed packages. Nothing is imported."""


@command(source)
@click.argument("packages", nargs=-1, metavar="[PACKAGE]...")
@environment_options
@OUTPUT
@TEXT_OR_JSON
def index(context: Context, packages: Sequence[str], python: Path | None, site: Path | None) -> int:
    """Read the source of each PACKAGE and keep an index of its messages.

    Without PACKAGE: tinker, tinker-cookbook, transformers and torch, if they are installed.
    """
    from ...probes.source.probe import USUAL
    from ...reading.packages.environments import site_folder
    from ...reading.packages.folder import SiteFolder
    from ...reading.packages.index import open_index
    from ..reports.layout import problem_lines, write

    path = site_folder(python, site)
    folder = SiteFolder(path)
    names = packages or [name for name in USUAL if folder.has(name)]
    with announced() as progress:
        found = open_index(path, names, progress=progress)
    rows = [{"package": name, "version": version, "sites": found.count(name)}
            for name, version in found.packages.items()]  # fmt: skip
    context.emit(
        {"schema": "modelmedic/source-index/1", "site": str(path), "packages": rows},
        _index_lines(rows, path),
    )
    write(problem_lines(found.problems), sys.stderr)
    return output.gathered_code(found.problems, found=bool(rows))


def _index_lines(rows: Iterable[Mapping[str, Any]], path: Path) -> Iterator[Any]:
    from ..reports.layout import Line, counted

    rows = list(rows)
    for row in rows:
        name = f"{row['package']} {row['version']}".rstrip()
        yield Line(f"{name}: {counted(row['sites'], 'message')}")
    if not rows:
        yield Line(f"No package to read in {path}.")


@command(source)
@click.argument("text", nargs=-1)
@click.option(
    "--package", "packages", multiple=True, metavar="NAME",
    help="Packages to read; otherwise those that TEXT names or that are indexed.",
)  # fmt: skip
@environment_options
@OUTPUT
@TEXT_OR_JSON
def find(
    context: Context, text: Sequence[str], packages: Sequence[str], python: Path | None,
    site: Path | None,
) -> int:  # fmt: skip
    """Find the code that raises or logs a message. TEXT is the message, or - for standard input
    (tracebacks, logs)."""
    from ...engine.diagnosis.source_facts import SourceFacts
    from ...probes.messages.probe import read_messages
    from ...probes.source.probe import Search, read_origins
    from ..reports.layout import problem_lines, write

    Environment(python, site).checked()
    raw = read_stdin() if not text or list(text) == ["-"] else " ".join(text)
    vocabulary = context.base.vocabulary
    read = read_messages(raw, vocabulary)
    errors = [fact for fact in read.facts if fact.kind == "error_message"]
    with announced() as progress:
        found = read_origins(
            errors, vocabulary, Search(python, site, tuple(packages), progress=progress)
        )
    known = SourceFacts(found.facts)
    rows = [{"text": fact.get("text"), "source": known.of(fact)} for fact in errors]
    context.emit({"schema": "modelmedic/source/1", "messages": rows}, _found_lines(rows))
    problems = (*read.problems, *found.problems)
    write(problem_lines(problems), sys.stderr)
    return output.gathered_code(problems)


def _found_lines(rows: Iterable[Mapping[str, Any]]) -> Iterator[Any]:
    from ...facts.redaction.masking import cut
    from ..reports.layout import Line
    from ..reports.source_text import source_lines

    for row in rows:
        yield Line(cut(str(row["text"]), 300), mark="> ", style="dim")
        if row["source"] is None:
            yield Line("Not found in the source that was read.", 2)
        else:
            yield from source_lines(row["source"], 2)
