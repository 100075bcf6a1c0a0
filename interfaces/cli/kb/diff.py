"""``diagnose kb diff``: what changed between two states of the knowledge."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from ... import output
from ...context import Context
from ...reports.layout import Line
from ..options import command, formats
from .group import busy, decoder, kb

if TYPE_CHECKING:
    from ....authoring.knowledge_diff import Change, Comparison

_SAYS = {
    "removed": "Removed",
    "renamed": "Renamed",
    "added": "Added",
    "tightened": "Fires in fewer cases",
    "loosened": "Fires in more cases",
    "shifted": "Fires in other cases",
    "changed": "Changed, and no case shows how",
    "reworded": "New wording",
}
_MOST_CASES = 3


@command(kb)
@click.argument("old")
@click.argument("new", required=False)
@click.option(
    "--folder", default="knowledge", show_default=True, help="The folder of knowledge in git."
)
@formats("text", "json", "markdown")
def diff(context: Context, old: str, new: str | None, folder: str) -> int:
    """Compare the knowledge of OLD and NEW (default: this installation). Each is a folder or a git
    revision. Cases of both sides show which entries fire more or less often. The answer ends with
    the part of the version to bump and lines for a changelog."""
    with busy("comparing the knowledge"):
        found = _compared(old, new, folder)
    if context.format == "markdown":
        output.emit_text(Line(line, keep=True) for line in changelog(found.changes))
    else:
        changes = [change._asdict() for change in found.changes]
        plain = {"schema": "modelmedic/diff/1", "changes": changes, "cases": found.cases}
        plain |= {"unreadable": found.unreadable, "bump": found.bump}
        context.emit(plain | {"changelog": list(changelog(found.changes))}, _lines(found))
    return output.OK


def _compared(old: str, new: str | None, folder: str) -> Comparison:
    from ....authoring.knowledge_diff import compare
    from ....authoring.revisions import built_at, shipped_built
    from ....engine.compiler.store.document_cache import DocumentCache
    from ...context import cache_folder

    read = DocumentCache(cache_folder())
    before = built_at(old, folder, read)
    after = built_at(new, folder, read) if new is not None else shipped_built(read)
    read.save()
    return compare(before, after, lambda text, vocabulary: decoder(vocabulary)(text))


def changelog(changes: Sequence[Change]) -> Iterator[str]:
    """A line of Markdown per change; changes of wording share one."""
    from ...reports.formats.markdown import code, escaped

    for change in changes:
        if change.kind == "reworded":
            continue
        renamed = f" to {code(change.new)}" if change.new else ""
        said = f"{_SAYS[change.kind]}: {change.form} {code(change.id)}{renamed}"
        yield f"- {said} ({escaped(change.title)})"
    worded = [change.id for change in changes if change.kind == "reworded"]
    if worded:
        yield f"- {_SAYS['reworded']}: {', '.join(map(code, worded))}"


def _lines(found: Comparison) -> Iterator[Line]:
    for kind, heading in _SAYS.items():
        changes = [change for change in found.changes if change.kind == kind]
        if not changes:
            continue
        yield Line(f"{heading} ({len(changes)}):", style="heading")
        for change in changes:
            new = f" -> {change.new}" if change.new else ""
            yield Line(f"{change.id}{new}  {change.title}  ({change.form})", 2, mark="- ")
            for case in change.cases[:_MOST_CASES]:
                yield Line(case, 6, "dim", mark="in: ")
            if len(change.cases) > _MOST_CASES:
                yield Line(f"and {len(change.cases) - _MOST_CASES} more cases", 6, "dim")
    if found.unreadable:
        yield Line(f"{found.unreadable} cases were left out: one side does not know their facts.")
    rise = {"none": "Nothing changed.", "patch": "Texts only: the patch version rises."}
    said = rise.get(found.bump, f"The {found.bump} version must rise.")
    yield Line(f"{found.cases} cases run on both. {said}", style="heading")
