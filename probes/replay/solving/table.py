"""Reads the table of relations: the values of a module, their possible relations, and the cause of
each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from ....facts.strict_yaml import load


class Row(NamedTuple):
    """One row: families, nodes (joined by a plus if they change together), relations, parts of the
    value that it may be limited to, and the cause."""

    families: tuple[str, ...]
    nodes: tuple[str, ...]
    relations: tuple[str, ...]
    source: str
    where: str
    cause: str
    partial: str
    conditions: Mapping[str, bool]
    order: int

    def fits(self, spec: Mapping[str, Any]) -> bool:
        """Whether the row applies to a module with these settings."""
        return all(bool(spec.get(key)) == wanted for key, wanted in self.conditions.items())


@cache
def rows() -> tuple[Row, ...]:
    """Those of the file, in its order. Raises ``ModelMedicError`` if it is not valid YAML."""
    path = Path(__file__).parents[1] / "relations.yaml"
    entries = load(path.read_text(encoding="utf-8"), str(path)).data["relations"]
    return tuple(
        Row(tuple(one["of"]), tuple(one["node"]), tuple(one["is"]), one.get("from", ""),
            one.get("where", ""), one["cause"], one.get("partial", one["cause"]),
            one.get("if", {}), order)
        for order, one in enumerate(entries)
    )  # fmt: skip


def rows_of(family: str) -> Iterator[Row]:
    """The rows about a family of modules."""
    return (row for row in rows() if family in row.families)
