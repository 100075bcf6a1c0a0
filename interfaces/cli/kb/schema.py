"""``diagnose kb schema``: JSON Schemas of knowledge files, for editors."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from ... import output
from ...context import Context
from ...reports.layout import Line
from ..options import FOLDER, LAYERS, command, path_option
from .group import built_knowledge, kb

FORMS = (
    *("diagnoses", "rules", "errors", "trees", "classifications", "issues"),
    *("tested", "tests", "vocabulary", "overlay", "lexicon", "hypotheses", "relations"),
)


@command(kb)
@click.argument("form", type=click.Choice(FORMS), required=False)
@LAYERS
@path_option("--write", "Write the schemas of all forms into a folder.", "DIR")
@path_option(
    "--headers",
    "Name the schema in the first line of every file below DIR (with --write).",
    "DIR",
    multiple=True,
    type=FOLDER,
)
def schema(context: Context, form: str | None, write: Path | None, headers: Sequence[Path]) -> int:
    """Print the JSON Schema (draft-07) of one form of knowledge files, for editors.

    It contains the kinds, attributes, values and ids in use; add your own knowledge with --kb.
    """
    from ....authoring.editor_headers import add_headers
    from ....authoring.editor_schemas import schema_files
    from ....engine.compiler.source.schemas import file_schema, names_of

    if (form is None) == (write is None):
        raise click.UsageError("name a form, or a folder with --write")
    names = names_of(built_knowledge(context.overlays))
    if form is not None:
        output.emit_json(file_schema(form, names))
        return output.OK
    assert write is not None
    write.mkdir(parents=True, exist_ok=True)
    for name, text in schema_files({each: file_schema(each, names) for each in FORMS}):
        (write / name).write_text(text, encoding="utf-8")
    said = [Line(f"wrote {len(FORMS)} schemas to {write}", keep=True)]
    if headers:
        said.append(Line(f"{add_headers(headers, write)} files have a new first line"))
    output.emit_text(said)
    return output.OK
