"""How modules are joined: which earlier outputs an input consists of, and by which factors.

Nothing is assumed of the architecture: the terms and their factors are those that reproduce the
reference in FP32.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ...reading.tensors import np
from ...reading.tensors.captures import Run
from .modules import Sides
from .spec import Reading

EXACT = 2e-5
MAX_TERMS = 12
_LAYER = re.compile(r"(.*\b(?:layers|h|blocks))\.(\d+)\Z", re.ASCII)
EMBEDDING = re.compile(r"embed(?!_out)")
Place = tuple[str, str, int]


class Joint(NamedTuple):
    """A tensor and the terms that it is the sum of in the reference, with their factors."""

    name: str
    output: Place
    terms: tuple[Place, ...]
    factors: tuple[float, ...]
    others: tuple[Place, ...]

    def sides(self, run: Run) -> Sides | None:
        """The terms and the sum in one run."""
        parts = [run.get(*place) for place in self.terms]
        output = run.get(*self.output)
        if output is None or any(part is None or part.shape != output.shape for part in parts):
            return None
        return Sides({f"{at}": part for at, part in enumerate(parts)}, output)

    @property
    def reading(self) -> Reading:
        """The joint as a formula."""
        return Reading("sum", {f"of_{at}": value for at, value in enumerate(self.factors)}, {})


def joints(run: Run, order: Sequence[str]) -> Iterator[Joint]:
    """All joints of the reference, in the order of the model."""
    layers = [name for name in order if _LAYER.match(name)]
    for module in order:
        parent = next((each for each in layers if module.startswith(f"{each}.")), None)
        for side in ("in", "out"):
            if not run.has(module, side) or (side == "out" and module not in layers):
                continue
            given = list(_candidates(run, module, side, parent, order, layers))
            found = _solve(run, (module, side, 0), given[:MAX_TERMS])
            if found is not None:
                yield found


def _candidates(
    run: Run, module: str, side: str, parent: str | None, order: Sequence[str],
    layers: Sequence[str],
) -> Iterator[Place]:  # fmt: skip
    if side == "out":
        yield from _inside(run, module, order, None)
    elif parent is not None and module.count(".") == parent.count(".") + 1:
        yield from _inside(run, parent, order, module)
    elif module in layers:
        at = layers.index(module)
        before = [*layers[max(0, at - 2) : at][::-1],
                  *(each for each in order if EMBEDDING.search(each))]  # fmt: skip
        yield from ((each, "out", 0) for each in before)
    elif parent is None and not EMBEDDING.search(module) and "rotary" not in module:
        yield from ((each, "out", 0) for each in (*layers[-1:], *order)
                    if each != module and ("norm" in each or each in layers[-1:])
                    and each.count(".") <= 1 + (each in layers))  # fmt: skip


def _inside(run: Run, layer: str, order: Sequence[str], until: str | None) -> Iterator[Place]:
    """The input of a layer and the outputs of its modules, up to one of them."""
    yield layer, "in", 0
    for each in order:
        direct = each.startswith(f"{layer}.") and each.count(".") == layer.count(".") + 1
        if direct and each != until:
            yield each, "out", 0


def _solve(run: Run, output: Place, given: Sequence[Place]) -> Joint | None:
    whole = run.get(*output)
    fits = [place for place in given if run.has(*place) and run.get(*place) is not None
            and run.get(*place).shape == whole.shape]  # fmt: skip
    for count in (1, 2, 3):
        for terms in itertools.combinations(fits, count):
            factors = factors_of(run, output, terms)
            if factors is not None:
                others = tuple(place for place in fits if place not in terms)
                name = output[0] if output[1] == "out" else f"{output[0]} (input)"
                return Joint(name, output, terms, factors, others)
    return None


def factors_of(
    run: Run, output: Place, terms: Sequence[Place], limit: float = EXACT
) -> tuple[float, ...] | None:
    """Factors by which terms make up an output; None if they do not, within ``limit``."""
    whole = run.get(*output).astype(np.float64).ravel()
    parts = np.stack([run.get(*place).astype(np.float64).ravel() for place in terms], axis=1)
    norm = float(np.linalg.norm(whole))
    if not norm or not np.isfinite(whole).all() or not np.isfinite(parts).all():
        return None
    found = np.linalg.lstsq(parts, whole, rcond=None)[0]
    if float(np.linalg.norm(parts @ found - whole)) > limit * norm:
        return None
    return tuple(float(value) for value in found)


def explained(joint: Joint, run: Run) -> tuple[tuple[float, ...], Any] | None:
    """The factors of the target that fit best, and the remainder."""
    sides = joint.sides(run)
    if sides is None:
        return None
    whole = sides.output.astype(np.float64).ravel()
    parts = np.stack([part.astype(np.float64).ravel() for part in sides.given.values()], axis=1)
    if not np.isfinite(whole).all() or not np.isfinite(parts).all():
        return None
    found = np.linalg.lstsq(parts, whole, rcond=None)[0]
    return tuple(float(value) for value in found), float(np.linalg.norm(parts @ found - whole))
