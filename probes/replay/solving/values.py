"""A value of a module, as relations take it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple


class Value(NamedTuple):
    """An array, a letter for each of its axes (b row of the batch, p position, k key, h head, c
    channel, r row of a weight, e expert), the other values of the module, and its settings."""

    array: Any
    axes: str
    others: Mapping[str, Any]
    spec: Mapping[str, Any]
    weights: Mapping[str, Any] = {}


Found = Iterator[tuple[str, Any]]
Relation = Callable[[Value], Found]
