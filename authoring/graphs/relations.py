"""Entries and their references as a graph, in the direction in which conclusions flow."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from ...engine.compiler.source.knowledge_source import Item
from ...interfaces.reports.charts.layered import Arrow, Box, Graph
from ..references import Reference, References

_BACKWARDS = ("needs",)  # what an entry needs comes before it


def relation_graph(
    title: str,
    names: Collection[str],
    items: Mapping[str, Item],
    references: References,
    link: str = "{}",
) -> Graph:
    """The entries named, and the references among them."""
    known = [items[name] for name in names if name in items]
    boxes = [Box(i.id, i.form, i.entry.title, link.format(i.id)) for i in known]
    inside = {item.id for item in known}
    arrows = [
        _arrow(reference)
        for name in sorted(inside)
        for reference in references.of.get(name, ())
        if reference.target in inside and reference.target != name
    ]
    return Graph(title, tuple(boxes), tuple(dict.fromkeys(arrows)))


def _arrow(reference: Reference) -> Arrow:
    source, relation, target, strength = reference
    kind = "against" if relation == "rules out" else "plain"
    if strength in ("weak", "rare") or relation in ("refines", "alongside"):
        kind = "weak"
    if relation in _BACKWARDS:
        return Arrow(target, source, "needed by", kind)
    return Arrow(source, target, strength or relation, kind)
