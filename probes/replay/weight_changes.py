"""Possible changes to weights on their way into a port, by the names that hypotheses use.

A change takes the weights of a module by their common names, the settings, and words; it returns
the weights that differ, or raises ``ValueError`` or ``KeyError`` if it does not apply.
"""

from __future__ import annotations

from typing import Any

from ...reading.tensors import np
from .formula.few_bits import weight_in
from .weight_orders import ORDERS, Around, Change, Weights


def changed(weights: Weights, steps: str, around: Around) -> dict[str, Any]:
    """``weights`` after the changes in ``steps``, such as ``transpose q; transpose k``."""
    found = dict(weights)
    for step in steps.split(";"):
        name, *words = step.split()
        found |= CHANGES[name](found, around, *words)
        found = {part: values for part, values in found.items() if values is not None}
    return found


def _transpose(weights: Weights, around: Around, part: str) -> dict[str, Any]:
    key = part if part in weights else f"{part}.weight"
    matrix = weights[key]
    turned = matrix.swapaxes(-1, -2)
    if turned.shape != matrix.shape:  # the same numbers, read row by row in the other shape
        turned = np.ascontiguousarray(turned).reshape(matrix.shape)
    return {key: turned}


def _reread(weights: Weights, around: Around, part: str) -> dict[str, Any]:
    """The numbers of a matrix in their order, read in the other shape, then transposed."""
    matrix = weights[part]
    shape = (*matrix.shape[:-2], matrix.shape[-1], matrix.shape[-2])
    return {part: np.ascontiguousarray(matrix).reshape(shape).swapaxes(-1, -2)}


def _drop(weights: Weights, around: Around, part: str) -> dict[str, Any]:
    if part not in weights:
        raise KeyError(part)
    return {part: None}


def _zero(weights: Weights, around: Around, part: str) -> dict[str, Any]:
    return {part: np.zeros_like(weights[part])}


def _ones(weights: Weights, around: Around, part: str) -> dict[str, Any]:
    return {part: np.ones_like(weights[part])}


def _swap(weights: Weights, around: Around, first: str, second: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for kind in ("", ".weight", ".bias"):
        one, two = f"{first}{kind}", f"{second}{kind}"
        if one in weights or two in weights:
            if one in weights and two in weights and weights[one].shape != weights[two].shape:
                raise ValueError("they have other shapes")
            found |= {one: weights.get(two), two: weights.get(one)}
    if not found:
        raise KeyError(first)
    return found


def _copy(weights: Weights, around: Around, source: str, to: str) -> dict[str, Any]:
    if weights[source].shape != weights[to].shape:
        raise ValueError("they have other shapes")
    return {to: weights[source]}


def _load(weights: Weights, around: Around, source: str, to: str) -> dict[str, Any]:
    """A part that was loaded from another one of the module: its weight, and its bias if both have
    one; the first rows of a longer one."""
    found: dict[str, Any] = {}
    if source == to:
        raise ValueError("that is not an other part")
    for kind in ("", ".weight", ".bias", "_bias"):
        one, two = weights.get(f"{source}{kind}"), weights.get(f"{to}{kind}")
        if one is None or two is None:
            continue
        axis = 1 if to.startswith("experts") else 0
        cut = one.take(range(min(two.shape[axis], one.shape[axis])), axis=axis)
        if cut.shape != two.shape:
            raise ValueError("they have other shapes")
        found[f"{to}{kind}"] = cut
    if not found:
        raise KeyError(to)
    return found


def _other_layer(weights: Weights, around: Around, by: str, part: str = "") -> dict[str, Any]:
    other = around.others(int(by))
    found = {key: values for key, values in other.items() if not part or key.startswith(part)}
    if not found or any(weights[key].shape != values.shape for key, values in found.items()):
        raise ValueError("the other layer has other shapes")
    return found


def _from(weights: Weights, around: Around, name: str, part: str) -> dict[str, Any]:
    matrix = around.named(name)
    if (
        matrix is None
        or matrix.shape != weights[part].shape
        or np.array_equal(matrix, weights[part])
    ):
        raise ValueError("no matrix fits and differs")
    return {part: matrix}


def _with_bias(weights: Weights, around: Around, name: str) -> dict[str, Any]:
    """Weight and bias of another module that is like this one."""
    bias = around.named(f"{name}.bias")
    if bias is None or bias.shape != weights["own.bias"].shape:
        raise ValueError("no bias fits")
    return _from(weights, around, name, "own.weight") | {"own.bias": bias}


def _join(weights: Weights, around: Around, parts: str, how: str) -> dict[str, Any]:
    """Matrices that were fused one way and taken apart another way."""
    names, found = parts.split("+"), {}
    axis = 1 if names[0].startswith("experts") else 0
    kinds: tuple[str, ...] = ("", "_bias") if axis else (".weight", ".bias")
    if names[0].endswith(("bias", ".weight")):
        kinds = ("",)
    for kind in kinds:
        if f"{names[0]}{kind}" not in weights:
            continue
        pieces = [np.moveaxis(weights[f"{name}{kind}"], axis, 0) for name in names]
        whole = np.concatenate(pieces)
        if how == "alternating":
            cut = [whole[at :: len(names)] for at in range(len(names))]
        elif how == "alternated":
            mixed = np.stack(pieces, axis=1).reshape(whole.shape)
            cut = np.split(mixed, len(names))
        elif how == "grouped":
            cut = _by_group(whole, [len(piece) for piece in pieces], around)
        elif how.startswith("undo-"):
            word = how.removeprefix("undo-")
            count = (_of_size(pieces, int(word[3:])) if word.startswith("of-")
                     else _blocks(word, around))  # fmt: skip
            cut = _undone(whole, [len(piece) for piece in pieces], count)
        elif how == "heads":
            cut = _done(pieces, _blocks(how, around))
        elif how.startswith("of-"):  # blocks of so many rows of each part in turn
            cut = _done(pieces, _of_size(pieces, int(how[3:])))
        else:
            cut = _done(pieces, int(how))
        for name, piece, old in zip(names, cut, pieces, strict=True):
            if piece.shape != old.shape:
                raise ValueError("it cannot be taken apart so")
            found[f"{name}{kind}"] = np.moveaxis(piece, 0, axis)
    return found


def _of_size(pieces: list[Any], size: int) -> int:
    """The number of blocks of so many rows in each part."""
    if any(len(piece) % size or len(piece) == size for piece in pieces):
        raise ValueError("it cannot be taken apart so")
    return len(pieces[0]) // size


def _blocks(word: str, around: Around) -> int:
    return int(around.spec["kv_heads"]) if word == "heads" else int(word)


def _done(pieces: list[Any], count: int) -> list[Any]:
    """Read blocks of all parts in turn as one part after another."""
    sizes = [len(piece) for piece in pieces]
    parted = [piece.reshape(count, -1, *piece.shape[1:]) for piece in pieces]
    mixed = np.concatenate(parted, axis=1).reshape(sum(sizes), *pieces[0].shape[1:])
    return list(np.split(mixed, np.cumsum(sizes)[:-1]))


def _undone(whole: Any, sizes: list[int], count: int) -> list[Any]:
    """Read one part after another as blocks of all parts in turn."""
    if any(size % count for size in sizes):
        raise ValueError("it cannot be taken apart so")
    blocks = whole.reshape(count, -1, *whole.shape[1:])
    ends = np.cumsum([size // count for size in sizes])[:-1]
    cut = np.split(blocks, ends, axis=1)
    return [np.ascontiguousarray(piece).reshape(size, *whole.shape[1:])
            for piece, size in zip(cut, sizes, strict=True)]  # fmt: skip


def _by_group(whole: Any, sizes: list[int], around: Around) -> list[Any]:
    """Read rows of a whole that are stored part by part as if they were stored group by group."""
    groups, width = int(around.spec["kv_heads"]), int(around.spec["head_dim"])
    each = int(around.spec["heads"]) // groups
    parts = whole.reshape(groups, each + 2, width, *whole.shape[1:])
    cut = (parts[:, :each], parts[:, each : each + 1], parts[:, each + 1 :])
    return [piece.reshape(size, *whole.shape[1:]) for piece, size in zip(cut, sizes, strict=True)]


def _turn_joined(weights: Weights, around: Around, parts: str, how: str) -> dict[str, Any]:
    """Matrices that are fused and used without a transposition that the whole needs: ``turned``, or
    ``reread``, its numbers in their order in the other shape, then transposed."""
    names = parts.split("+")
    kind = "" if names[0].startswith("experts") else ".weight"
    whole = np.concatenate([weights[f"{name}{kind}"] for name in names], axis=-2)
    if how == "turned":
        made = np.ascontiguousarray(whole.swapaxes(-1, -2)).reshape(whole.shape)
    else:
        shape = (*whole.shape[:-2], whole.shape[-1], whole.shape[-2])
        made = np.ascontiguousarray(whole).reshape(shape).swapaxes(-1, -2)
    cut = np.split(made, len(names), axis=-2)
    return {f"{name}{kind}": np.ascontiguousarray(one)
            for name, one in zip(names, cut, strict=True)}  # fmt: skip


def _shard(weights: Weights, around: Around, part: str, count: str, rank: str) -> dict[str, Any]:
    """Keep only the part that one of several ranks has of the sum over input channels."""
    matrix, parts, own = weights[part], int(count), int(rank)
    width = matrix.shape[-1]
    if width % parts:
        raise ValueError("the width is not a multiple of the parts")
    found = np.zeros_like(matrix)
    step = width // parts
    found[..., own * step : (own + 1) * step] = matrix[..., own * step : (own + 1) * step]
    return {part: found}


def _lose(weights: Weights, around: Around, part: str, count: str, rank: str) -> dict[str, Any]:
    """A projection without the outputs that one of several ranks has."""
    parts, own, found = int(count), int(rank), {}
    for kind in ("weight", "bias"):
        values = weights.get(f"{part}.{kind}")
        if values is None:
            continue
        if len(values) % parts:
            raise ValueError("the length is not a multiple of the parts")
        step = len(values) // parts
        found[f"{part}.{kind}"] = values.copy()
        found[f"{part}.{kind}"][own * step : (own + 1) * step] = 0
    if not found:
        raise KeyError(part)
    return found


def _repeat_bias(weights: Weights, around: Around, part: str, count: str) -> dict[str, Any]:
    """A bias that every rank adds before the sum over ranks."""
    return {part: weights[part] * np.float32(count)}


def _round(weights: Weights, around: Around, part: str, name: str) -> dict[str, Any]:
    """Round all matrices whose names begin with ``part`` to fewer bits."""
    found = {key: weight_in(matrix, name) for key, matrix in weights.items()
             if key.startswith(part) and matrix.ndim > 1}  # fmt: skip
    if not found:
        raise KeyError(part)
    return found


CHANGES: dict[str, Change] = {
    **ORDERS,
    "transpose": _transpose, "reread": _reread, "drop": _drop, "zero": _zero, "ones": _ones,
    "swap": _swap, "copy": _copy, "load": _load, "other-layer": _other_layer, "from": _from,
    "with-bias": _with_bias, "join": _join, "shard": _shard, "repeat": _repeat_bias,
    "round": _round, "lose": _lose, "turn-joined": _turn_joined,
}  # fmt: skip
