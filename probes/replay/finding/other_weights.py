"""Whether a projection or a norm has the weights of another one that is like it, anywhere in the
model: all of one shape are compared on a few rows, and the best one is proposed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....reading.tensors import np
from ..formula.formulas import FORMULAS
from ..spec import Reading
from .given import Finder, Found, Given

ROWS = 16
NEAR = 0.05
"""Distance, relative to the size of the output, up to which weights are proposed."""


def _finder(fits: Callable[[str, str], bool]) -> Finder:
    """Make a finder; ``fits`` is called with the words of a place: the layer, and the name in
    it."""

    def find(one: Given) -> Found:
        x = one.given["x"][:, one.rows]
        target = one.output[:, one.rows].reshape(-1, one.output.shape[-1])
        some = np.unique(np.linspace(0, len(target) - 1, ROWS).astype(int))
        given = {"x": x.reshape(-1, x.shape[-1])[some]}
        whole = float(np.linalg.norm(target[some]))
        best, chosen, words = NEAR, None, ""
        for place, weights in one.given["alike"](fits):
            reading = one.reading._replace(weights=weights)
            off = _off(reading, given, target[some]) / whole if whole else 1.0
            if off < best:
                best, chosen, words = off, reading, place
        if chosen is not None:
            yield chosen, words

    return find


def _off(reading: Reading, given: dict[str, Any], target: Any) -> float:
    made = FORMULAS[reading.family](reading.spec, reading.weights, given)
    return float(np.linalg.norm(made - target))


OTHER_WEIGHTS: dict[str, Finder] = {
    "weights-of-layers": _finder(lambda own, other: own == other),
    "weights-of-modules": _finder(lambda own, other: own != other),
    "weights-of-other-modules": _finder(
        lambda own, other: own != other and own.rpartition(".")[0] != other.rpartition(".")[0]
    ),
}
