"""Changes that an overlay makes to entries below; each needs a reason and a last day."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Literal, NamedTuple

from .source import entries as e
from .source.knowledge_source import Item

Applied = Literal["valid", "none", "tested"]
"""The changes of overlays to apply: those that have not ended; none; or, for tests of the entries,
all but silences."""

Path = tuple[str | int, ...]


class Effect(NamedTuple):
    """An entry of an overlay rules out, explains, refines or replaces one below; ``path`` says
    where in the entry."""

    how: str
    id: str
    path: Path


def effects(item: Item, below: Mapping[str, Any]) -> Iterator[Effect]:
    """The changes of an entry to entries below, without those that the replaced entry made
    already."""
    entry = item.entry
    old = below.get(entry.replaces)
    before = {found[:2] for found in _said(old.entry) if found.how != "replaces"} if old else set()
    for effect in _said(entry):
        if effect.id in below and effect[:2] not in before:
            yield effect


def _said(entry: Any) -> Iterator[Effect]:
    if entry.replaces is not None:
        yield Effect("replaces", entry.replaces, ("replaces",))
    for how in ("explains", "rules_out"):
        for index, name in enumerate(getattr(entry, how, ())):
            yield Effect(how, name, (how, index))
    if isinstance(entry, e.ErrorEntry):
        for index, name in enumerate(entry.match.refines):
            yield Effect("refines", name, ("match", "refines", index))
    for path, part in _parts(entry):
        for index, name in enumerate(part.rules_out):
            yield Effect("rules_out", name, (*path, "rules_out", index))


def _parts(entry: Any) -> Iterator[tuple[Path, Any]]:
    """The branches or bands of an entry."""
    if isinstance(entry, e.Tree):
        for name, node in entry.nodes.items():
            for answer, branch in node.branches.items():
                yield ("nodes", name, "branches", answer), branch
    elif isinstance(entry, e.Classification):
        yield from ((("bands", index), band) for index, band in enumerate(entry.bands))
        if entry.undefined is not None:
            yield ("undefined",), entry.undefined


def without(item: Item, refused: set[tuple[str, str]]) -> Item | None:
    """The entry without the effects (how, id) that do not apply; None if nothing is left."""
    entry = item.entry
    if ("replaces", entry.replaces) in refused:
        return None
    kept: dict[str, Any] = {}
    for how in ("explains", "rules_out"):
        if hasattr(entry, how):
            kept[how] = [n for n in getattr(entry, how) if (how, n) not in refused]
    if isinstance(entry, e.ErrorEntry):
        refines = [n for n in entry.match.refines if ("refines", n) not in refused]
        kept["match"] = entry.match.model_copy(update={"refines": refines})
    if isinstance(entry, e.Rule) and not kept["rules_out"] and not entry.conclude:
        return None

    def lesser(part: Any) -> Any:
        left = [n for n in part.rules_out if ("rules_out", n) not in refused]
        return part.model_copy(update={"rules_out": left})

    kept |= _lesser_parts(entry, lesser)
    return replace(item, entry=entry.model_copy(update=kept))


def _lesser_parts(entry: Any, lesser: Callable[[Any], Any]) -> dict[str, Any]:
    if isinstance(entry, e.Tree):
        nodes = {
            name: node.model_copy(
                update={"branches": {a: lesser(b) for a, b in node.branches.items()}}
            )
            for name, node in entry.nodes.items()
        }
        return {"nodes": nodes}
    if isinstance(entry, e.Classification):
        undefined = lesser(entry.undefined) if entry.undefined else None
        return {"bands": [lesser(band) for band in entry.bands], "undefined": undefined}
    return {}
