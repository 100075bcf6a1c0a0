"""Input and output types of finders."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from ..spec import Reading


class Given(NamedTuple):
    """A correct module, its input, its output, the positions that fail, and values that finders
    have solved for it."""

    reading: Reading
    given: Mapping[str, Any]
    output: Any
    rows: slice
    solved: dict[Any, Any]


Found = Iterator[tuple[Reading, str]]
Finder = Callable[[Given], Found]
