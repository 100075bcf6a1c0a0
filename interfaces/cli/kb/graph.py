"""``diagnose kb graph``: trees, and which entry leads to which."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from ....facts import ModelMedicError, Problem
from ... import output
from ...context import Context, check_id
from ...reports.charts.layered import Graph
from ..candidates import entry_ids
from ..options import LAYERS, OUTPUT, command, formats
from .group import built_knowledge, kb

MOST_DRAWN = 150
"""More boxes than that make no drawing that a person can read."""


@command(kb)
@click.argument("entry", required=False, shell_complete=entry_ids)
@formats("mermaid", "dot", "svg")
@click.option("--steps", default=1, show_default=True, help="How far to go from the entry.")
@click.option("--references", is_flag=True, help="Draw the references to a tree, not its nodes.")
@OUTPUT
@LAYERS
def graph(context: Context, entry: str | None, steps: int, references: bool) -> int:
    """Draw a tree, the entries around ENTRY, or all entries and their references."""
    drawn = _graph(entry, steps, references, context.overlays)
    output.emit_source(_rendered(drawn, context.format), context.target)
    return output.OK


def _graph(entry: str | None, steps: int, references: bool, overlays: Sequence[str]) -> Graph:
    from ....authoring.graphs.relations import relation_graph
    from ....authoring.graphs.trees import tree_graph
    from ....authoring.references import References

    items = {item.id: item for item in built_knowledge(overlays).source.items}
    if entry is None:
        known = References(items.values())
        return relation_graph("All entries", sorted(items), items, known)
    check_id(entry, items, "entry")
    if items[entry].form == "tree" and not references:
        return tree_graph(items[entry].entry, {i.id: i.entry.title for i in items.values()})
    near = References(items.values())
    names, more = near.near(entry, steps, MOST_DRAWN)
    if more:
        sys.stderr.write(f"note: only the {MOST_DRAWN} nearest entries are shown\n")
    return relation_graph(f"Around {entry}", names, items, near)


def _rendered(drawn: Graph, format_: str) -> str:
    if format_ == "mermaid":
        from ....authoring.graphs.mermaid import mermaid

        return mermaid(drawn)
    if format_ == "dot":
        from ....authoring.graphs.dot import dot

        return dot(drawn)
    from ...reports.charts.graph import graph_svg

    if len(drawn.boxes) > 2 * MOST_DRAWN:
        message = f"{len(drawn.boxes)} boxes are too many for one drawing"
        hint = "name an entry, or take --format dot and a tool for large graphs"
        raise ModelMedicError(Problem("MM341", message, None, hint))
    return graph_svg(drawn, styled=True) + "\n"
