"""Routing ties: positions that went to another expert because two had almost equal scores.

Rounding decides such ties, in the low-precision reference as in the port, and another expert is a
far larger change than rounding. These positions, and all that attend to them later, are not
evidence on the port and are left out.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ...reading.tensors import np
from ...reading.tensors.captures import Name
from ..experiment.components import family_of, normal_name
from .comparison import Shape
from .samples import Samples

TIE = 3.0
"""Largest difference of tied scores, in units of the largest rounding error of a score: both
scores move, each by somewhat more in the port."""
KEPT = 0.25
"""At least this share of the rows must stay; else nothing is left out."""


class Tie(NamedTuple):
    """Positions of one layer that a tie decided: True in an array of (batches, positions)."""

    router: Name
    layer: int
    rows: Any


class Ties:
    """The ties of all routers of the captured passes."""

    def __init__(self, samples: Samples) -> None:
        self._routers = [name for name in samples.names
                         if family_of(normal_name(name.module)) == "router"]  # fmt: skip
        self._places = _places(samples) if self._routers else None
        self._found = _find(samples, self._routers, self._places) if self._places else []
        self._touched: dict[Name, tuple[float, Any]] = {}

    def kept(self, name: Name, shape: Shape) -> Any:
        """The rows of a tensor that count: an array of booleans, or None for all."""
        if not self._found or not self._places:
            return None
        keep, share = _kept(name, shape, self._found, self._places)
        self._touched[name] = share, keep
        return keep

    def touch(self, name: Name) -> tuple[float, Any, bool]:
        """The share of positions of a compared tensor that ties touch, the rows that count, and
        whether the module contains a router."""
        around = any(router.inside(name) for router in self._routers)
        return *self._touched.get(name, (0.0, None)), around


def _places(samples: Samples) -> tuple[int, int] | None:
    """(batches, positions) of the hidden states."""
    shapes = [samples.shape(name)[:2] for name in samples.names
              if len(samples.shape(name)) == 3 and name.layer is not None]  # fmt: skip
    return max(sorted(set(shapes)), key=shapes.count) if shapes else None  # type: ignore[return-value]


def _find(samples: Samples, routers: list[Name], places: tuple[int, int]) -> list[Tie]:
    found = []
    for name in routers:
        if name.element or name.side == "in" or name.layer is None:
            continue
        rows = _decided_by_rounding(samples, name)
        if rows is not None and len(rows) == places[0] * places[1] and rows.any():
            found.append(Tie(name, name.layer, rows.reshape(places)))
    return found


def _decided_by_rounding(samples: Samples, name: Name) -> Any:
    sample = samples.get(name)
    chosen = samples.chosen(name)
    if sample is None or not 0 < chosen < sample.fp32.shape[1]:
        return None
    f = sample.fp32
    first = _best(f, chosen)
    moved = np.zeros(len(f), bool)
    for scores in (sample.bf16, sample.target):
        ranked = -np.sort(-scores, axis=1)
        # Any of several equal scores may be taken: another way of sorting takes another one.
        equal = ranked[:, chosen - 1] == ranked[:, chosen]
        moved |= equal | (_best(scores, chosen) != first).any(axis=1)
    ranked = -np.sort(-f, axis=1)
    margin = ranked[:, chosen - 1] - ranked[:, chosen]
    noise = np.abs(sample.bf16 - f).max()
    return moved & (margin <= TIE * noise)


def _best(scores: Any, chosen: int) -> Any:
    return np.sort(np.argsort(-scores, axis=1, kind="stable")[:, :chosen], axis=1)


def _kept(name: Name, shape: Shape, ties: list[Tie], places: tuple[int, int]) -> tuple[Any, float]:
    touched = np.zeros(places, bool)
    for tie in ties:
        if tie.router[1:3] != name[1:3] or tie.router.order() >= name.order():
            continue
        here = name.layer == tie.layer
        touched |= tie.rows if here else np.maximum.accumulate(tie.rows, axis=1)
    share = float(touched.mean())
    if not share:
        return None, 0.0
    batches, positions = places
    if shape.positions == positions and shape.batches % batches == 0:
        rows = np.repeat(touched, shape.batches // batches, axis=0)
    elif shape.batches * shape.positions == batches * positions:
        rows = touched
    elif shape.positions == 1 and shape.batches == batches:
        rows = touched[:, shape.first : shape.first + 1]
    else:
        return None, share
    keep = ~rows.ravel()
    return (keep if keep.mean() >= KEPT else None), share
