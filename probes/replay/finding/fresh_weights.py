"""Finds weights that were never loaded: random numbers of one size, unrelated to those of the
reference.

The output of a projection for inputs x is x W'. With x = U S V', the numbers of U' x W' / S = V' W'
are as independent as those of W and have the same size. That size shows that the model's class
initialised the weights, if the weights of the reference have another size.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ....reading.tensors import np
from ..formula.attention import mixed_heads
from ..formula.feedforward import inner
from .given import Finder, Found, Given

LEAST_NUMBERS, MOST_NUMBERS = 1_024, 1 << 28
SMALL = 0.25
"""Singular values of the inputs below this, relative to their mean, have too much rounding to be of
use."""
NONE = 1e-4
FROM_REFERENCE = 0.1
"""Least difference between the size of the reference's weights and that of fresh ones."""
NEAR = 0.004
"""Deviation of a size that is allowed in addition to chance for so many numbers."""
SURE = 4.0
"""Number of standard deviations that chance may explain."""
EVEN = 1.6
"""Factor by which the sizes of rows or columns may differ more than by chance."""


def _sizes(width: int, one: Given) -> Iterator[tuple[str, float]]:
    """The possible sizes of fresh weights: from the configuration, and the default of a torch
    layer."""
    yield from normal_sizes(one)
    yield "the even numbers of a new layer", (3 * width) ** -0.5


def normal_sizes(one: Given) -> Iterator[tuple[str, float]]:
    """Sizes of normally distributed weights: from the configuration, and the usual one."""
    for usual in dict.fromkeys((float(one.reading.spec.get("fresh") or 0.02), 0.02)):
        yield f"normal numbers of size {usual:g}", usual


def fresh_kind(z: Any, own: Any, sizes: Iterator[tuple[str, float]]) -> str | None:
    """The way in which numbers were made, in words; None if uncertain. ``own`` are the numbers of
    the reference there."""
    count = z.size
    if count < LEAST_NUMBERS or min(z.shape) < 2:
        return None
    size, right = (float(np.sqrt((each * each).mean())) for each in (z, own))
    chance = 1 / np.sqrt(2 * count)
    kind = next((words for words, usual in sizes
                 if abs(size / usual - 1) < NEAR + SURE * chance
                 and abs(right / usual - 1) > FROM_REFERENCE + 2 * SURE * chance),
                None)  # fmt: skip
    if kind is None or abs(float(z.mean())) > SURE * size / np.sqrt(count):
        return None
    if abs(float((z * own).mean())) > SURE * size * right / np.sqrt(count):
        return None
    return kind if _even(z, 0) and _even(z, 1) else None


def _even(z: Any, axis: int) -> bool:
    """Whether numbers have the same size everywhere."""
    squares = (z * z).mean(axis=axis)
    spread = float(squares.var() / squares.mean() ** 2)
    expected = 2 / z.shape[axis]
    return bool(spread < expected * (EVEN + SURE * np.sqrt(2 / len(squares))))


def _projection(x: Any, weights: dict[str, Any], part: str, one: Given) -> Found:
    """Find the module with the fresh weight that explains its output, with and without the bias."""
    weight, bias = weights[f"{part}.weight"], weights.get(f"{part}.bias")
    x, output = x.reshape(-1, x.shape[-1]), one.output.reshape(-1, one.output.shape[-1])
    if weight.size > MOST_NUMBERS or len(x) < 2:
        return
    left, sizes, right = np.linalg.svd(x.astype(np.float64), full_matrices=False)
    usual = np.sqrt((sizes * sizes).mean())
    told, all_of = sizes > SMALL * usual, sizes > NONE * usual
    own = right[told] @ weight.T
    for given in (output - bias, output) if bias is not None else (output,):
        seen = left.T @ given
        kind = fresh_kind(seen[told] / sizes[told, None], own, _sizes(weight.shape[1], one))
        if kind is None:
            continue
        made = (seen[all_of] / sizes[all_of, None]).T @ right[all_of]
        found = {**weights, f"{part}.weight": made.astype(np.float32)}
        if given is output:
            found.pop(f"{part}.bias", None)
        yield one.reading._replace(weights=found), kind
        return


def _linear(one: Given) -> Found:
    yield from _projection(one.given["x"], dict(one.reading.weights), "own", one)


def _mlp(one: Given) -> Found:
    weights = dict(one.reading.weights)
    made = inner(one.reading.spec, weights, one.given["x"])
    yield from _projection(made, weights, "down", one)


def _attention(one: Given) -> Found:
    mixed = mixed_heads(one.reading.spec, one.reading.weights, one.given)
    joined = mixed.swapaxes(1, 2).reshape(*mixed.shape[::2], -1)
    yield from _projection(joined, dict(one.reading.weights), "o", one)


def _of_family(one: Given) -> Found:
    finders = {"linear": _linear, "mlp": _mlp, "attention": _attention}
    yield from finders[one.reading.family](one)


FRESH_FINDERS: dict[str, Finder] = {"fresh-weight": _of_family}
