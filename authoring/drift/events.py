"""Compares the version events of the knowledge with the versions that are installed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ...engine.compiler.source import conditions as c
from ...engine.compiler.source.knowledge_source import Item, KnowledgeSource
from ...engine.inference.operators import compile_check
from ...facts import Location
from ...reading.packages.release import Release
from ..references import all_parts


class Reach(NamedTuple):
    """A version event of an entry and its meaning for the installed version.

    ``affected`` is whether that version lies inside; ``open`` that nothing ends the range, so that
    a person should check whether the newest version still belongs to it.
    """

    entry: str
    where: Location
    package: str
    version: str
    said: str
    affected: bool
    open: bool


def versioned(source: KnowledgeSource) -> Iterator[str]:
    """The packages that version events are about."""
    for item in source.items:
        for _, node in all_parts(item):
            if isinstance(node, c.Pattern) and node.fact == "package":
                test, name = node.where.get("version"), node.where.get("name")
                if isinstance(test, c.Test) and test.affected and isinstance(name, str):
                    yield name


def version_reach(source: KnowledgeSource, packages: Mapping[str, Release]) -> Iterator[Reach]:
    """Every version event about an installed package, in conditions of entries in force."""
    for item in source.items:
        if item.entry.status != "deprecated":
            for path, node in all_parts(item):
                if isinstance(node, c.Pattern) and node.fact == "package":
                    yield from _of(item, path, node, packages)


def _of(item: Item, path: Any, node: c.Pattern, packages: Mapping[str, Release]) -> Iterator[Reach]:
    name, test = node.where.get("name"), node.where.get("version")
    package = packages.get(str(name)) if isinstance(name, str) else None
    if package is None or not package.version:
        return
    if not isinstance(test, c.Test) or test.affected is None:
        return
    for event in test.affected:
        inside = compile_check("affected", [event.model_dump()])(package.version)
        yield Reach(
            item.id,
            item.where(*path, "where", "version"),
            package.package,
            package.version,
            " ".join(f"{k} {v}" for k, v in event.model_dump().items() if v not in (None, "0")),
            inside is True,
            event.fixed is None and event.last_affected is None,
        )
