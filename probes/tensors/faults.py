"""Finds where failures begin in a forward pass, and how they continue."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from ...reading.tensors import np
from ...reading.tensors.captures import Name
from ..experiment.limits import Limits
from .comparison import Result

STATES = (None, "nan", "infinite")
"""States in which R can be judged; without a denominator it cannot."""


LOW = 0.9
"""R below this is clearly lower than that of the reference; accepted ports have 0.94 and more."""


FINE = 0.7
"""Below this the R of single positions is normal."""


class Row(NamedTuple):
    """A compared tensor at its place in model order. ``ties`` is the share of its positions that
    routing ties touch, ``keep`` marks the rows that count if some were left out, and
    ``around_router`` says that the module contains a router."""

    number: int
    name: Name
    place: str
    result: Result
    ties: float = 0.0
    keep: Any = None
    around_router: bool = False

    @property
    def low(self) -> bool:
        """Whether the target is clearly closer to FP32 than the reference in BF16."""
        return self._ratio < LOW and not self.doubtful

    @property
    def doubtful(self) -> bool:
        """Whether routing ties that could not be left out decide the figures: they are known, or
        there is a router inside and R comes from a few positions while most are as they should
        be."""
        if self.ties > 0 and self.keep is None:
            return True
        return self.around_router and (self.fails or self._ratio < LOW) and self._mostly_fine()

    @property
    def _ratio(self) -> float:
        ratio = self.result.r_ratio
        return math.inf if ratio is None else ratio

    def _mostly_fine(self) -> bool:
        found = self.result.per_position
        if found is None or self.result.r_ratio is None:
            return False
        return FINE <= float(np.median(found["r_ratio"])) < Limits().tau_r

    @property
    def fails(self) -> bool:
        """Whether R reaches the limit, or is not a number."""
        return self.result.r_ratio is None or self.result.r_ratio >= Limits().tau_r


class Fault(NamedTuple):
    """A module at which a failure begins. ``shape`` is spike, step, mixed or unknown; ``first`` is
    true if nothing before it in its pass fails."""

    row: Row
    shape: str
    first: bool


def find_faults(rows: Sequence[Row]) -> list[Fault]:
    """The beginnings of failures, pass by pass: failing modules before which the previous one is
    under the limit, and which contain no failing part."""
    passes: dict[tuple[str, int], list[Row]] = {}
    for row in rows:
        if row.result.state in STATES and not row.doubtful:
            passes.setdefault((row.name.phase, row.name.step), []).append(row)
    return [fault for chain in passes.values() if len(chain) > 1 for fault in _begins(chain)]


def _begins(chain: Sequence[Row]) -> list[Fault]:
    found: list[Fault] = []
    for at, row in enumerate(chain):
        if not row.fails or (at and chain[at - 1].fails):
            continue
        if not any(other.fails and other.name.inside(row.name) for other in chain):
            found.append(Fault(row, _shape(row, chain, at), not found))
    return found


def _shape(row: Row, chain: Sequence[Row], at: int) -> str:
    """Spike: the next module is back under the limit. Step: all later ones stay above it, or all
    modules around this one do (the next of several parallel modules proves nothing)."""
    later = [other.fails for other in chain[at + 1 :]]
    around = [other.fails for other in chain if row.name.inside(other.name)]
    if around and all(around):
        return "step"
    if not later:
        return "unknown"
    if all(later):
        return "step"
    return "mixed" if later[0] else "spike"


def cascading(rows: Sequence[Row], faults: Sequence[Fault]) -> set[Name]:
    """Failing modules whose failure is accounted for: it follows another one without a gap, or is
    around one."""
    begins = {fault.row.name for fault in faults}
    passes = {(fault.row.name.phase, fault.row.name.step) for fault in faults}
    return {
        row.name
        for row in rows
        if row.result.state in STATES and row.fails and row.name not in begins
        and (row.name.phase, row.name.step) in passes
    }  # fmt: skip


def first_low(rows: Sequence[Row]) -> set[Name]:
    """The first module of each pass that is clearly closer to FP32 than its reference."""
    found: dict[tuple[str, int], Name] = {}
    for row in rows:
        if row.low:
            found.setdefault((row.name.phase, row.name.step), row.name)
    return set(found.values())
