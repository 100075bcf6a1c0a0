"""Joined releases: the interface of several, with the releases that each part holds for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .listing import Flat


def joined(flats: Sequence[Flat]) -> dict[str, Any]:
    """Table -> owner -> name -> what is said, for all releases: a text that holds for each release
    that has the owner, or a list of ``[text, first, last]``."""
    last = len(flats) - 1
    runs: dict[tuple[str, str, str], list[list[Any]]] = {}
    for at, flat in enumerate(flats):
        for key, said in flat.items():
            known = runs.setdefault(key, [])
            if known and known[-1][0] == said and known[-1][2] == at - 1:
                known[-1][2] = at
            else:
                known.append([said, at, at])
    tables: dict[str, Any] = {"modules": {}, "classes": {}, "functions": {}}
    for (table, owner, name), found in sorted(runs.items()):
        whole = runs[table, owner, ""]
        spans = [[a, b] for _, a, b in found]
        same = len({said for said, _, _ in found}) == 1
        alike = same and _covered(found) == _covered(whole) and name
        entire = same and spans == [[0, last]]
        tables[table].setdefault(owner, {})[name] = found[0][0] if alike or entire else found
    return tables


def parted(tables: Mapping[str, Any], count: int) -> list[Flat]:
    """The single releases that were joined into tables."""
    flats: list[Flat] = [{} for _ in range(count)]
    for table in ("modules", "classes", "functions"):
        for owner, entries in tables[table].items():
            whole = _runs(entries[""], [["", 0, count - 1]])
            for name, said in entries.items():
                for text, first, last in _runs(said, whole):
                    for at in range(first, last + 1):
                        flats[at][table, owner, name] = text
    return flats


def _runs(said: Any, whole: list[list[Any]]) -> list[list[Any]]:
    """The runs of what is said; a text alone holds for all releases with the owner."""
    return [[said, first, last] for _, first, last in whole] if isinstance(said, str) else said


def _covered(runs: list[list[Any]]) -> set[int]:
    return {at for _, first, end in runs for at in range(first, end + 1)}
