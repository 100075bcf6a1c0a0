"""Weights in another order: of heads, channels, shards, experts or rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ...reading.tensors import np

Weights = Mapping[str, Any]


class Around(NamedTuple):
    """The rest of the model that a change may need: settings, the same module in other layers by
    their distance, and single matrices by name (``embedding``)."""

    spec: Mapping[str, Any]
    others: Callable[[int], Weights]
    named: Callable[[str], Any]


Change = Callable[..., dict[str, Any]]


def _heads(weights: Weights, around: Around, part: str, how: str) -> dict[str, Any]:
    """Another order of the heads in a projection (of the columns in the output projection)."""
    spec = around.spec
    found: dict[str, Any] = {}
    width = int(spec["head_dim"])
    turned = part == "o" or (part == "own" and bool(spec.get("is_out")))
    for kind in ("weight", "bias"):
        values = weights.get(f"{part}.{kind}")
        if values is None or (turned and kind == "bias"):
            continue
        rows = values.T if turned else values
        blocks = rows.reshape(-1, width, *rows.shape[1:])
        moved = blocks[_order(how, len(blocks), int(spec["kv_heads"]))].reshape(rows.shape)
        found[f"{part}.{kind}"] = moved.T if turned else moved
    return found


def _spread(weights: Weights, around: Around, part: str, how: str) -> dict[str, Any]:
    """Store rows of a projection (columns of the output) channel by channel, heads inside."""
    turned = part == "o" or (part == "own" and bool(around.spec.get("is_out")))
    matrix = weights[f"{part}.weight"]
    places = np.arange(matrix.shape[1 if turned else 0])
    width = int(around.spec["head_dim"])
    shape = (-1, width) if how == "apart" else (width, -1)
    order = places.reshape(shape).T.ravel()
    if turned:
        return {f"{part}.weight": matrix[:, order]}
    bias = weights.get(f"{part}.bias")
    found = {f"{part}.weight": matrix[order]}
    return found if bias is None else found | {f"{part}.bias": bias[order]}


def _channels(weights: Weights, around: Around, part: str, how: str) -> dict[str, Any]:
    """Another order of the channels in each head: pairs side by side, or in two halves."""
    width = int(around.spec["head_dim"])
    found: dict[str, Any] = {}
    turned = int(around.spec.get("rotary_dim") or width)
    places = np.arange(width)
    halves = places[:turned].reshape(2, -1).T.ravel()
    places[:turned] = halves if how == "paired" else np.argsort(halves)
    for kind in ("weight", "bias"):
        values = weights.get(f"{part}.{kind}")
        if values is not None:
            blocks = values.reshape(-1, width, *values.shape[1:])
            found[f"{part}.{kind}"] = blocks[:, places].reshape(values.shape)
    return found


def _blocks(
    weights: Weights, around: Around, part: str, axis: str, count: str, how: str
) -> dict[str, Any]:
    """The shards of a matrix in another order, along its ``rows`` or ``columns``."""
    place = -1 if axis == "columns" else -2
    matrix = weights[part]
    blocks = np.split(matrix, int(count), axis=place)
    order = _order(how, len(blocks), 1)
    return {part: np.concatenate([blocks[at] for at in order], axis=place)}


def _experts(weights: Weights, around: Around, how: str, part: str = "experts") -> dict[str, Any]:
    """Another order of the experts (or of the router's rows)."""
    found = {}
    for key, values in weights.items():
        if key.startswith(part):
            found[key] = values[_order(how, len(values), 2)]
    if not found:
        raise KeyError(part)
    return found


def _rows(weights: Weights, around: Around, part: str, how: str) -> dict[str, Any]:
    """Another order of the rows of a fused projection."""
    spec, found = around.spec, {}
    count = len(weights[f"{part}.weight"])
    places = np.arange(count)
    if how == "alternating":
        order = places.reshape(-1, 2).T.ravel()
    elif how == "alternated":
        order = places.reshape(2, -1).T.ravel()
    elif how in ("grouped", "ungrouped"):
        groups, width = int(spec["kv_heads"]), int(spec["fused_dim"])
        each = int(spec["heads"]) // groups
        parts = places.reshape(groups, each + 2, width)
        cut = (parts[:, :each], parts[:, each : each + 1], parts[:, each + 1 :])
        order = np.concatenate([piece.ravel() for piece in cut])
        order = np.argsort(order) if how == "ungrouped" else order
    else:  # shards of both halves, one rank after another
        order = places.reshape(2, int(how), -1).swapaxes(0, 1).ravel()
    for kind in ("weight", "bias"):
        if f"{part}.{kind}" in weights:
            found[f"{part}.{kind}"] = weights[f"{part}.{kind}"][order]
    return found


def _shuffled(weights: Weights, around: Around, name: str, how: str) -> dict[str, Any]:
    """Rows of two matrices that were fused one way and taken apart another way."""
    own, other = weights["own.weight"], around.named(name)
    if other is None or other.shape != own.shape:
        raise ValueError("no matrix fits")
    start, order = (other, own) if "behind" in how else (own, other), how.partition("-")[0]
    if order == "even":
        return {"own.weight": np.concatenate(start)[::2]}
    if order == "odd":
        return {"own.weight": np.concatenate(start)[1::2]}
    half = len(own)
    mixed = np.stack(start, axis=1).reshape(2 * half, -1)
    return {"own.weight": mixed[:half] if order == "first" else mixed[half:]}


def _order(how: str, count: int, groups: int) -> Any:
    places = np.arange(count)
    if how == "reversed":
        return places[::-1]
    if how == "rotated":
        return np.roll(places, 1)
    if how == "back":
        return np.roll(places, -1)
    if how == "swapped":
        return places ^ 1 if count % 2 == 0 else places[::-1]
    if how == "grouped":  # heads that share keys are apart
        return places.reshape(groups, -1).T.ravel()
    if how == "ungrouped":
        return places.reshape(-1, groups).T.ravel()
    if how == "halves":
        return np.roll(places, count // 2)
    if how == "pairs":  # each has the part of a rank that counts half as fast
        return places // 2
    if how.startswith("fold-") and count % int(how[5:]) == 0:  # all ranks have that of the first
        return places % (count // int(how[5:]))
    raise ValueError(how)


ORDERS: dict[str, Change] = {
    "heads": _heads, "channels": _channels, "blocks": _blocks, "experts": _experts, "rows": _rows,
    "shuffled": _shuffled, "spread": _spread,
}  # fmt: skip
