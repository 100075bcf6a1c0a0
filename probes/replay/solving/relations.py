"""A small closed family of relations between a correct value and the value of a port.

Each relation turns a :class:`Value` into possible replacements, with words for them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

from ....reading.tensors import np
from ..formula.basics import activate
from . import functions, positions, rotations
from .values import Found, Relation, Value

MOST_PAGES = 5
MOST_PLACES = 16
"""Heads or parts that are tried one by one."""
_ACTS = ("silu", "gelu", "gelu_tanh", "relu", "sigmoid", "tanh", "relu2", "softplus", "abs",
         "quick_gelu", "leaky_relu", "elu", "hard_swish")  # fmt: skip


def _axis(value: Value, letter: str) -> int | None:
    at = value.axes.find(letter)
    return None if at < 0 or value.array.shape[at] < 2 else at


def _along(letter: str, change: Callable[[Any, int], Found]) -> Relation:
    def find(value: Value) -> Found:
        at = _axis(value, letter)
        if at is not None:
            yield from change(value.array, at)

    return find


def _taken(letter: str, orders: Callable[[int], Iterator[tuple[str, Any]]]) -> Relation:
    """The entries of an axis in another order."""

    def change(array: Any, at: int) -> Found:
        own = np.arange(array.shape[at])
        for words, order in orders(array.shape[at]):
            if len(order) == len(own) and (order != own).any():
                yield words, np.take(array, order, axis=at)

    return _along(letter, change)


def _moves(count: int) -> Iterator[tuple[str, Any]]:
    for by in (1, -1, 2, -2):
        yield f"{abs(by)} {'later' if by > 0 else 'earlier'}, around", np.roll(np.arange(count), by)


def _moves_to_ends(count: int) -> Iterator[tuple[str, Any]]:
    yield from _moves(count)
    for by in (1, -1):
        where = "later" if by > 0 else "earlier"
        yield f"1 {where}", (np.arange(count) - by).clip(0, count - 1)


def _orders(count: int) -> Iterator[tuple[str, Any]]:
    own = np.arange(count)
    yield "reversed", own[::-1]
    for parts in (2, 4, 8):
        if count % parts == 0 and count > parts:
            cut = own.reshape(parts, -1)
            yield f"{parts} parts dealt out", cut.T.ravel()
            yield f"{parts} parts gathered", own.reshape(-1, parts).T.ravel()
            yield f"each of {parts} parts reversed", cut[:, ::-1].ravel()
    if count % 2 == 0:
        yield "neighbours exchanged", own.reshape(-1, 2)[:, ::-1].ravel()


def _shards(count: int) -> Iterator[tuple[str, Any]]:
    own = np.arange(count)
    for parts in (2, 4, 8):
        if count % parts == 0 and count > parts:
            cut = own.reshape(parts, -1)
            yield f"{parts} parts reversed", cut[::-1].ravel()
            yield f"{parts} parts moved on", np.roll(cut, 1, axis=0).ravel()
            yield f"{parts} parts moved back", np.roll(cut, -1, axis=0).ravel()
            if parts > 2:
                pairs = [part ^ 1 for part in range(parts)]
                yield f"{parts} parts exchanged in pairs", cut[pairs].ravel()
                yield f"middle ones of {parts} parts exchanged", cut[_inner(parts)].ravel()


def _inner(parts: int) -> list[int]:
    found = list(range(parts))
    found[1], found[2] = 2, 1
    return found


def _pages(count: int) -> Iterator[tuple[str, Any]]:
    """Pages of a cache: one is read in place of another, or two are exchanged."""
    own = np.arange(count)
    for size in (4, 8, 16, 32):
        whole = min(count // size, MOST_PAGES)
        for at, other in itertools.permutations(range(whole), 2):
            order = own.copy()
            order[at * size : (at + 1) * size] = own[other * size : (other + 1) * size]
            yield f"page {other} of {size} in the place of page {at}", order
            if at < other:
                order = order.copy()
                order[other * size : (other + 1) * size] = own[at * size : (at + 1) * size]
                yield f"pages {at} and {other} of {size} exchanged", order


def _one(count: int) -> Iterator[tuple[str, Any]]:
    own = np.arange(count)
    for at in {*range(min(count, MOST_PLACES)), count - 1}:
        yield f"all as number {at}", np.full(count, at)
    for parts in (2, 4, 8):
        if count % parts == 0 and count > parts:
            size = count // parts
            yield f"the first of {parts} parts for all", own % size
            yield f"the last of {parts} parts for all", own % size + count - size
            yield f"the first of each {size} for all of them", own // size * size


def _folds(count: int) -> Iterator[tuple[str, Any]]:
    """Parts that hold the numbers of another one."""
    own = np.arange(count)
    for parts in (2, 4, 8):
        if count % parts == 0 and count > parts:
            size = count // parts
            yield f"the first of {parts} parts for all", own % size
            yield f"the last of {parts} parts for all", own % size + count - size
            yield f"each of {parts} parts twice", own // (2 * size) * 2 * size + own % size


def _turned_by_blocks(letter: str) -> Relation:
    """Another axis read as this one: numbers in their order, in another shape."""

    def find(value: Value) -> Found:
        array = value.array
        if value.axes[:4] == "bhpc" and letter == "h":
            rows, heads, places, width = array.shape
            flat = array.swapaxes(1, 2).reshape(rows, places, heads * width)
            yield "heads read channel by channel", flat.reshape(
                rows, places, width, heads).transpose(0, 3, 1, 2)  # fmt: skip
            yield "heads and positions read in the other order", flat.reshape(array.shape)
            end = int(value.spec.get("decode_from") or 0)
            if 0 < end < places:  # of a single position there is nothing to move
                found = array.copy()
                found[:, :, :end] = flat[:, :end].reshape(array[:, :, :end].shape)
                yield "heads and positions of the prompt read in the other order", found

    return find


def _dropped(value: Value) -> Found:
    yield "missing", np.zeros_like(value.array)


def _ones(value: Value) -> Found:
    yield "one", np.ones_like(value.array)


def _as_made(value: Value) -> Found:
    """The weight of a norm before it is loaded; the values that it multiplies stay the same."""
    usual = 1 - float(value.spec.get("norm_offset") or 0)
    yield "as it was made", np.full_like(value.array, usual)


def _factors(*factors: float) -> Relation:
    def find(value: Value) -> Found:
        width = float(value.spec.get("head_dim") or value.array.shape[-1])
        for factor in (*factors, width**0.5, width**-0.5):
            yield f"times {factor:.4g}", value.array * np.float32(factor)

    return find


def _divided(value: Value) -> Found:
    for count in (2, 3, 4, 8, 16, 32):
        yield f"divided by {count}", value.array / np.float32(count)


def _repeated(value: Value) -> Found:
    for times in (2, 3, 4, 8, 16):
        yield f"{times} times", value.array * np.float32(times)


def _heads_of_channels(orders: Callable[[int], Iterator[tuple[str, Any]]]) -> Relation:
    """The heads that channels consist of in another order."""

    def find(value: Value) -> Found:
        x, count = value.array, int(value.spec.get("heads") or 0)
        if count > 1 and x.shape[-1] % count == 0:
            cut = x.reshape(*x.shape[:-1], count, -1)
            for words, order in orders(count):
                if (order != np.arange(count)).any():
                    yield f"heads {words}", np.take(cut, order, axis=-2).reshape(x.shape)

    return find


def _functions(*names: str) -> Relation:
    def find(value: Value) -> Found:
        for name in names:
            yield f"through {name}", activate(name, value.array).astype(np.float32)

    return find


def _other_layer(value: Value) -> Found:
    """The same weight of another layer."""
    for name, other in value.others.items():
        if name.startswith("layer") and other.shape == value.array.shape:
            yield f"that of the layer {name.removeprefix('layer')}", other


def _other(value: Value) -> Found:
    """Another value of the module in its place."""
    for name, other in value.others.items():
        if name.startswith("layer"):
            continue
        if other is not value.array and other.shape == value.array.shape:
            yield f"{name} in its place", other


def _added(value: Value) -> Found:
    for name, other in value.others.items():
        if other is not value.array and other.shape == value.array.shape:
            yield f"{name} added", value.array + other


def _transposed(value: Value) -> Found:
    x = value.array
    if x.ndim >= 2:
        turned = np.ascontiguousarray(x.swapaxes(-1, -2))
        yield "transposed", turned.reshape(x.shape)
        if x.shape[-1] != x.shape[-2]:
            yield "read in the other shape", np.ascontiguousarray(x).reshape(
                turned.shape).swapaxes(-1, -2).copy()  # fmt: skip


def _again(value: Value) -> Found:
    """Apply the change between two stages twice."""
    before = value.others.get("before")
    if before is not None and before.shape == value.array.shape:
        yield "added twice", 2 * value.array - before


def _plus_one(value: Value) -> Found:
    yield "plus one", value.array + 1
    yield "minus one", value.array - 1


def _flat_transposed(value: Value) -> Found:
    """Transpose a whole weight by its flat form, and restore its heads."""
    x, shape = value.array, value.array.shape
    last = value.axes.endswith("hc")
    flat = x.reshape(shape[0], -1) if last else x.reshape(-1, shape[-1])
    whole = Value(flat, "rc", {}, value.spec)
    for words, turned in _transposed(whole):
        yield words, turned.reshape(shape)


def _re_activated(value: Value) -> Found:
    """Apply another activation to the input of this one."""
    before = value.others.get("gate", value.others.get("x"))
    if before is not None and before.shape == value.array.shape:
        yield from _functions(*_ACTS)(value._replace(array=before))


def _clamped(value: Value) -> Found:
    most = float(np.abs(value.array).max())
    for limit in (0.5, 1, 2, 3, 4, 5, 6, 7, 8, 10, 15, 20, 30, 50):
        if limit < most:
            yield f"limited to {limit}", value.array.clip(-limit, limit)
            yield f"limited to {limit} above", value.array.clip(None, limit)


RELATIONS: dict[str, Relation] = {
    "dropped": _dropped, "ones": _ones, "negated": lambda v: iter([("negated", -v.array)]),
    "factor": _factors(2, 0.5, 4, 0.25), "rounded": functions.rounded, "normed": functions.normed,
    "softmax": functions.softmaxes, "other": _other, "added": _added, "transposed": _transposed,
    "clamped": _clamped, "view-h": _turned_by_blocks("h"), "again": _again,
    "repeated": _repeated, "divided": _divided, "heads-moved": _heads_of_channels(_moves),
    "heads-ordered": _heads_of_channels(_orders), "function": _functions(*_ACTS),
    "re-act": _re_activated, "as-made": _as_made, "other-layer": _other_layer,
    "own-norm": functions.by_own_norm, "own-cap": functions.capped_again, "added-one": _plus_one,
    "flat-transposed": _flat_transposed, "sum-one": functions.shares_of_one,
    "softmaxed": functions.softmaxed, "softmax-rows": functions.over_rows,
    "pages-p": _taken("p", _pages), "stale": positions.stale, "plus-p": positions.summed,
    "ranks-p": positions.of_ranks, "rank-p-lost": positions.lost_of_ranks,
    "blocks-p": positions.in_blocks, "grid": positions.on_grid, "inner-c": positions.inner_orders,
    "log-softmax": functions.log_softmax, "back": rotations.turned_back,
    "places": rotations.moved_places,
    "retwist": rotations.twisted,
    **{f"moved-{letter}": _taken(letter, _moves_to_ends if letter in "pk" else _moves)
       for letter in "bpkhcre"},
    **{f"ordered-{letter}": _taken(letter, _orders) for letter in "bpkhcre"},
    **{f"shards-{letter}": _taken(letter, _shards) for letter in "pkhcre"},
    **{f"fold-{letter}": _taken(letter, _folds) for letter in "hcre"},
    **{f"one-{letter}": _taken(letter, _one) for letter in "bpkhcre"},
    **{f"mean-{letter}": _along(letter, lambda x, at: iter([
        ("the mean of all", np.broadcast_to(x.mean(axis=at, keepdims=True), x.shape).copy())]))
       for letter in "bphck"},
}  # fmt: skip
"""The relations, by the names that the table has."""
