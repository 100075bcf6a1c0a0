"""Mappings whose values are made when they are first asked for: few are, in one short run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

T = TypeVar("T")


class LazyMapping(Mapping[str, T]):
    """The values that ``make`` makes of plain data."""

    def __init__(self, plain: Mapping[str, Any], make: Callable[[str, Any], T]) -> None:
        self._plain = plain
        self._make = make
        self._made: dict[str, T] = {}

    def __getitem__(self, name: str) -> T:
        try:
            return self._made[name]
        except KeyError:
            made = self._made[name] = self._make(name, self._plain[name])
            return made

    def __contains__(self, name: object) -> bool:
        return name in self._made or name in self._plain

    def __iter__(self) -> Iterator[str]:
        return iter(self._plain)

    def __len__(self) -> int:
        return len(self._plain)
