"""Weights that still are as a layer is made: random numbers of one size, which have nothing to do
with those of the reference.

What a projection gives of inputs x is x W'. With x = U S V', U' x W' / S = V' W' has numbers that
are as independent, and of the same size, as those of W. Their size tells that they were made by the
model's class, if the weights of the reference have another one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...shared import np
from ..formula.attention import mixed_heads
from ..formula.feedforward import inner
from .given import Finder, Found, Given

LEAST_NUMBERS, MOST_NUMBERS = 1_024, 1 << 28
SMALL = 0.25
"""Singular values of the inputs, relative to their mean, that only have rounding to tell."""
FROM_REFERENCE = 0.1
"""How far the size of the weights of the reference is from that of fresh ones at the least."""
NEAR = 0.004
"""How far a size may be off beside what chance does to so many numbers."""
SURE = 4.0
"""How many standard deviations chance may do."""
EVEN = 1.6
"""How much more the sizes of rows or columns may differ than by chance."""


def _sizes(width: int, one: Given) -> Iterator[tuple[str, float]]:
    """What sizes fresh weights have: as the configuration says, and as a layer of torch has it."""
    usual = float(one.reading.spec.get("fresh") or 0.02)
    yield f"normal numbers of size {usual:g}", usual
    yield "the even numbers of a new layer", (3 * width) ** -0.5


def fresh_kind(z: Any, own: Any, sizes: Iterator[tuple[str, float]]) -> str | None:
    """In words, how numbers were made; None where that is not sure. ``own`` are those that the
    reference has there."""
    count = z.size
    if count < LEAST_NUMBERS or min(z.shape) < 2:
        return None
    size, right = (float(np.sqrt((each * each).mean())) for each in (z, own))
    chance = 1 / np.sqrt(2 * count)
    kind = next((words for words, usual in sizes
                 if abs(size / usual - 1) < NEAR + SURE * chance
                 and abs(right / usual - 1) > FROM_REFERENCE + 2 * SURE * chance), None)  # fmt: skip
    if kind is None or abs(float(z.mean())) > SURE * size / np.sqrt(count):
        return None
    if abs(float((z * own).mean())) > SURE * size * right / np.sqrt(count):
        return None
    return kind if _even(z, 0) and _even(z, 1) else None


def _even(z: Any, axis: int) -> bool:
    """Whether numbers are as large everywhere."""
    squares = (z * z).mean(axis=axis)
    spread = float(squares.var() / squares.mean() ** 2)
    expected = 2 / z.shape[axis]
    return spread < expected * (EVEN + SURE * np.sqrt(2 / len(squares)))


def _projection(x: Any, weight: Any, bias: Any, output: Any, one: Given) -> tuple[Any, str] | None:
    """The fresh weight that gives this output, as far as the inputs tell it."""
    x, output = x.reshape(-1, x.shape[-1]), output.reshape(-1, output.shape[-1])
    if weight.size > MOST_NUMBERS or len(x) < 2:
        return None
    left, sizes, right = np.linalg.svd(x.astype(np.float64), full_matrices=False)
    kept = sizes > SMALL * np.sqrt((sizes * sizes).mean())
    left, sizes, right = left[:, kept], sizes[kept], right[kept]
    for given in (output, output - bias) if bias is not None else (output,):
        z = left.T @ given / sizes[:, None]
        kind = fresh_kind(z, right @ weight.T, _sizes(weight.shape[1], one))
        if kind is not None:
            whole = left.T @ output / sizes[:, None]
            return (whole.T @ right).astype(np.float32), kind
    return None


def _linear(one: Given) -> Found:
    yield from _told(one, "own", one.given["x"])


def _mlp(one: Given) -> Found:
    yield from _told(one, "down", inner(one.reading.spec, one.reading.weights, one.given["x"]))


def _attention(one: Given) -> Found:
    mixed = mixed_heads(one.reading.spec, one.reading.weights, one.given)
    yield from _told(one, "o", mixed.swapaxes(1, 2).reshape(*mixed.shape[::2], -1))


def _told(one: Given, part: str, x: Any) -> Found:
    weights = one.reading.weights
    weight, bias = weights[f"{part}.weight"], weights.get(f"{part}.bias")
    found = _projection(x, weight, bias, one.output, one)
    if found is not None:
        changed = {key: each for key, each in weights.items() if key != f"{part}.bias"}
        changed[f"{part}.weight"] = found[0]
        yield one.reading._replace(weights=changed), found[1]


def _of_family(one: Given) -> Found:
    finders = {"linear": _linear, "mlp": _mlp, "attention": _attention}
    yield from finders[one.reading.family](one)


FRESH_FINDERS: dict[str, Finder] = {"fresh-weight": _of_family}
