"""Inventory coverage: which statements of an inventory some entry encodes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...engine.compiler.source.issues import Issue
from ...engine.compiler.source.knowledge_source import KnowledgeSource
from ...facts import Location, ModelMedicError, Problem
from ...facts.strict_yaml import load
from ..references import concluding


@dataclass(frozen=True, slots=True)
class Coverage:
    """``wanted`` items must be cited; ``missing`` are not. ``unknown`` citations name no item of
    any inventory given. ``unconcluded`` are catalogue ids that no entry concludes; ``absent`` are
    ids that an inventory names and the catalogue does not have."""

    wanted: int
    missing: tuple[str, ...]
    unknown: tuple[str, ...]
    unconcluded: tuple[str, ...]
    absent: tuple[str, ...]

    @property
    def complete(self) -> bool:
        """Whether nothing is missing."""
        return not (self.missing or self.unconcluded or self.absent)


def inventory_coverage(source: KnowledgeSource, inventories: list[Path]) -> Coverage:
    """Coverage of lists of items (``id``, ``kind``, ``diagnosis``); items of kind ``background``
    need no citation. Every diagnosis of the domains that the inventories name must be concluded,
    but for known issues: one may be there to be looked up only.
    An inventory may also be a catalogue: items whose id is a diagnosis id."""
    items = [item for path in inventories for item in _items(path)]
    wanted = {str(i["id"]) for i in items if i.get("kind") != "background"}
    known = {str(i["id"]) for i in items}
    cited = {c for item in source.items for c in _cited(item.entry.model_dump())}
    cited |= {
        c
        for item in source.items
        for p in getattr(item.file, "parameters", {}).values()
        for c in p.covers
    }
    prefixes = {name.split("-")[0] for name in known}
    concluded = set(concluding(source))
    named = {str(i["diagnosis"]) for i in items if i.get("diagnosis")}
    named |= {name for name in known if "." in name}  # a list of diagnoses is an inventory too
    wanted -= named
    domains = {name.split(".")[0] for name in named}
    catalogue = {
        item.id
        for item in source.of("diagnosis")
        if item.id.split(".")[0] in domains and item.entry.status != "deprecated"
    }
    looked_up = {i.id for i in source.of("diagnosis") if isinstance(i.entry, Issue)}
    return Coverage(
        len(wanted),
        tuple(sorted(wanted - cited)),
        tuple(sorted(c for c in cited - known if c.split("-")[0] in prefixes)),
        tuple(sorted(catalogue - concluded - looked_up)),
        tuple(sorted(named - catalogue)),
    )


def _items(path: Path) -> list[dict[str, Any]]:
    try:
        data = load(path.read_text(encoding="utf-8"), str(path)).data
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not text in UTF-8"
        raise ModelMedicError(
            Problem("MM200", f"cannot read: {reason}", Location(str(path)))
        ) from None
    if not isinstance(data, list) or not all(isinstance(i, dict) and "id" in i for i in data):
        raise ModelMedicError(
            Problem(
                "MM270", "an inventory is a list of items with an id", Location(str(path), 1, 1)
            )
        )
    return data


def _cited(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        yield from (str(c) for c in node.get("covers") or ())
        for value in node.values():
            yield from _cited(value)
    elif isinstance(node, list):
        for value in node:
            yield from _cited(value)
