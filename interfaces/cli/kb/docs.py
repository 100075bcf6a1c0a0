"""``diagnose kb docs``: a page for each diagnosis and entry, generated from the data."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from ....facts import Location, ModelMedicError, Problem
from ... import output
from ...context import Context
from ...reports.layout import Line
from ..options import LAYERS, command, formats, output_option
from .group import built_knowledge, busy, kb

_LIST = ".modelmedic-docs"
_NAME = re.compile(r"[a-z0-9][a-z0-9.-]*\.(html|md|css)")


@command(kb)
@output_option("A new folder, or one that this command made.", "DIR", required=True)
@formats("html", "markdown")
@LAYERS
def docs(context: Context) -> int:
    """Write documentation of all diagnoses and entries: pages, index and search."""
    target = context.target
    assert target is not None  # the option is required
    with busy("pages of the knowledge"):
        written = dict(site(context.overlays, context.format))
    try:
        _replace(target, written)
    except OSError as error:
        reason = error.strerror or str(error)
        hint = "name a folder that you may write to"
        problem = Problem("MM320", f"cannot write: {reason}", Location(str(target)), hint)
        raise ModelMedicError(problem) from None
    output.emit_text([Line(f"wrote {len(written)} files to {target}", keep=True)])
    return output.OK


def site(overlays: Sequence[str], format_: str) -> Iterator[tuple[str, str]]:
    """(name, text) of every file. They only contain knowledge, so there is nothing to redact."""
    from ....authoring.docs import html, markdown
    from ....authoring.docs.book import Book
    from ....engine.compiler.knowledge_base import VERSION

    book = Book(built_knowledge(overlays))
    pages = list(book.pages())
    about = f"Made by ModelMedic {VERSION} from {len(book.items)} entries; do not edit."
    files = html.files if format_ == "html" else markdown.files
    yield from files(pages, about)


def _replace(target: Path, files: dict[str, str]) -> None:
    """Write the files and delete stale ones of an earlier run."""
    known = target / _LIST
    before = known.read_text(encoding="utf-8").splitlines() if known.is_file() else []
    if target.is_dir() and not known.is_file() and any(target.iterdir()):
        hint = "name a new folder, or one that this command made"
        message = "the folder is not empty and was not made by this command"
        problem = Problem("MM342", message, Location(str(target)), hint)
        raise ModelMedicError(problem)
    target.mkdir(parents=True, exist_ok=True)
    for name in before:
        if _NAME.fullmatch(name) and name not in files:
            (target / name).unlink(missing_ok=True)
    for name, text in files.items():
        (target / name).write_text(text, encoding="utf-8", newline="\n")
    known.write_text("".join(f"{name}\n" for name in sorted(files)), encoding="utf-8")
