"""Finds the expert of the reference whose weights each expert of the target uses, part by part."""

from __future__ import annotations

from typing import Any

from ....reading.tensors import np
from ..formula.basics import activate
from ..formula.feedforward import expert_output, routed
from ..spec import Reading
from .given import Finder, Found, Given
from .parts import MOST_PARTS, experts_around, factors_of_parts

PARTS = (("down",), ("gate", "up"), ("gate",), ("up",), ("gate", "up", "down"))
CLEAR = 0.7
"""Factor of an expert from which on it counts as the origin."""


def _keys(one: Given, parts: tuple[str, ...], biases: bool) -> list[str]:
    found = [f"experts.{part}" for part in parts]
    if biases:
        found += [f"experts.{part}_bias" for part in parts]
    return [key for key in found if key in one.reading.weights]


def _with(reading: Reading, keys: list[str], order: Any) -> Reading:
    moved = {key: reading.weights[key][order] for key in keys}
    return reading._replace(weights=reading.weights | moved)


def _experts(one: Given) -> Found:
    """Find experts with the weights of others, in whole or in part."""
    count = len(one.reading.weights["experts.down"])
    if count * count > MOST_PARTS:
        return
    tried: set[tuple[str, ...]] = set()
    for parts in PARTS:
        for biases in (True, False):
            keys = _keys(one, parts, biases)
            if tuple(keys) in tried:
                continue
            tried.add(tuple(keys))
            order = _order(one, keys, count)
            if order is not None:
                words = f"{' and '.join(parts)} of the experts {', '.join(map(str, order))}"
                yield _with(one.reading, keys, order), words
    if "experts.down_bias" in one.reading.weights:
        for part in ("gate_bias", "up_bias", "down_bias"):
            order = _order(one, [f"experts.{part}"], count)
            if order is not None:
                words = f"{part} of the experts {', '.join(map(str, order))}"
                yield _with(one.reading, [f"experts.{part}"], order), words


def _order(one: Given, keys: list[str], count: int) -> Any | None:
    """The expert whose weights each expert uses in some parts; None if unclear."""
    rows, outside, parts, used = experts_around(one)
    spec, weights = one.reading.spec, one.reading.weights
    for expert, row, share in routed(spec, weights, rows):
        used.append(expert)
        for other in range(count):
            own = np.arange(count)
            own[expert] = other
            changed = _with(one.reading, keys, own).weights
            parts.append(np.zeros_like(outside))
            parts[-1][row] = share * expert_output(spec, changed, expert, rows, row, None)
    if not len(used) > 1:
        return None
    factors = factors_of_parts(parts, outside).reshape(len(used), count)
    chosen = factors.argmax(axis=1)
    if (chosen == np.array(used)).all() or factors.max(axis=1).min() < CLEAR:
        return None
    order = np.arange(count)
    order[used] = chosen
    return order


def _gated_inside(one: Given) -> Found:
    """Find a shared expert that applies its gate itself although the gate is also applied to its
    output."""
    gate = one.given["gate"]()
    if gate is None:
        return
    found = one.given["x"] @ gate[0].T
    factors = activate("sigmoid", found if gate[1] is None else found + gate[1])
    yield one.reading._replace(spec=one.reading.spec | {"token_factors": factors}), "its own gate"


EXPERT_FINDERS: dict[str, Finder] = {
    "experts-of-others": _experts, "gated-inside": _gated_inside,
}  # fmt: skip
