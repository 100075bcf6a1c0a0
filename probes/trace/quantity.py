"""The records of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

Moments = tuple[float, float, float, float, float, float]


class Frame(NamedTuple):
    """A line that called an operation."""

    file: str
    line: int
    function: str

    @property
    def shown(self) -> str:
        """``FILE:LINE`` without the folder."""
        return f"{self.file.replace(chr(92), '/').rpartition('/')[2]}:{self.line}"


class Quantity(NamedTuple):
    """One tensor: the result of an operation, or (``op`` is ``given``) one that the run was given.

    ``inputs`` are numbers of quantities of the same run; ``frames`` the calling lines, innermost
    first, by number; ``name`` the parameter or buffer that is given; ``value`` the number that a
    constant tensor holds; ``phase`` is 0 for the prompt, N for the N-th decoded position;
    ``masked`` the share of its numbers that are as large as those of a mask, ``patterns``
    digests of where they are; ``order`` a figure for the order of all.
    """

    op: str
    inputs: tuple[int, ...]
    constants: Mapping[str, Any]
    frames: tuple[int, ...]
    module: str
    shape: tuple[int, ...]
    dtype: str
    moments: Moments | None
    value: float | None
    phase: int
    name: str = ""
    masked: float = 0.0
    order: float = 0.0
    patterns: tuple[int, ...] = ()

    @property
    def given(self) -> bool:
        """Whether no operation made it."""
        return self.op == "given"


class Trace(NamedTuple):
    """All quantities of a run in the order of computing. ``shared`` are the parts of quantities of
    the other run, each with the number of that, or -1; ``outputs`` the logits of each phase,
    ``last`` their last position; ``uncalled`` the modules with weights that never ran; ``settings``
    the numbers that modules hold as attributes; ``entry`` the file of the port; ``complete`` is
    false if the run was too long; ``low`` the number formats of the same quantities in a run in low
    precision, empty if they are unknown; ``built`` the number of those of building the model."""

    quantities: Sequence[Quantity]
    frames: Sequence[Frame]
    outputs: Sequence[int]
    last: Mapping[int, int]
    shared: Mapping[int, int]
    uncalled: Sequence[str]
    settings: Mapping[str, float]
    entry: str
    complete: bool
    low: Sequence[str] = ()
    built: int = 0
