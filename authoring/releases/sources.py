"""Entries that cite a changed module of a package as their source."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ...engine.compiler.source.knowledge_source import KnowledgeSource
from ...reading.packages.folder import normal_name
from .changes import Change

_NAME = re.compile(r"[A-Za-z_]\w*(?:[./]\w+)*")
_QUIET = frozenset({"file-added", "names-added", "added"})


class Cited(NamedTuple):
    """An entry, the module that it cites, and how many changes that module has."""

    entry: str
    where: str
    module: str
    changes: int


def cited(source: KnowledgeSource, package: str, changes: Iterable[Change]) -> Iterator[Cited]:
    """The entries in force with a source in a changed module of the package."""
    changed = Counter(
        _module(each.where) for each in changes if each.where and each.kind not in _QUIET
    )
    suffixes: dict[str, str] = {}
    for module in sorted(changed):
        parts = module.split(".")
        for at in range(len(parts)):
            if (tail := ".".join(parts[at:])) and ("_" in tail or "." in tail):
                suffixes.setdefault(tail, module)
    for item in source.items:
        if item.entry.status != "deprecated":
            named = {
                name.replace("/", ".").removesuffix(".py")
                for each in item.entry.sources
                if package in normal_name(f"{each.ref} {each.section}")
                for name in _NAME.findall(f"{each.ref} {each.section}")
            }
            for module in sorted({suffixes[name] for name in named if name in suffixes}):
                yield Cited(item.id, str(item.where()), module, changed[module])


def _module(where: str) -> str:
    return where.partition(":")[0].removesuffix(".py").removesuffix("/__init__").replace("/", ".")
