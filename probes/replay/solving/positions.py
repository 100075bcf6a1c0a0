"""Relations between positions: left over from another token, added to it, or read in blocks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ....reading.tensors import np
from .values import Found, Value

SIZES = (2, 4, 8, 16)
_INNER = ("reversed", "dealt out", "gathered", "neighbours exchanged", "halves exchanged")
STEPS = (1, 2, 4, 8, 16, 32, 64)


def _by_token(value: Value) -> tuple[Any, int, Any] | None:
    """The value with an axis of positions, which one it is, and the shape to go back to."""
    at = value.axes.find("p")
    if at >= 0:
        return value.array, at, value.array.shape
    shape = value.spec.get("tokens")
    if value.axes[:1] != "n" or shape is None or np.prod(shape) != len(value.array):
        return None
    return value.array.reshape(*shape, *value.array.shape[1:]), len(shape) - 1, value.array.shape


def _taken(value: Value, orders: Iterator[tuple[str, Any]]) -> Found:
    found = _by_token(value)
    if found is None:
        return
    array, at, shape = found
    for words, order in orders:
        yield words, np.take(array, order, axis=at).reshape(shape)


def _count(value: Value) -> tuple[int, int]:
    found = _by_token(value)
    if found is None:
        return 0, 0
    count = found[0].shape[found[1]]
    return count, min(int(value.spec.get("decode_from") or count), count)


def stale(value: Value) -> Found:
    """Use an earlier value for decoded tokens: a buffer that is not updated."""
    count, start = _count(value)
    if not 0 < start < count:
        return
    own = np.arange(count)
    orders = {"that of the last token of the prompt while decoding": start - 1,
              "that of the first token while decoding": 0,
              "that of the first decoded token": start}  # fmt: skip
    kept = [(words, np.where(own >= start, source, own)) for words, source in orders.items()]
    kept.append(("that of the token before while decoding", np.where(own >= start, own - 1, own)))
    yield from _taken(value, iter(kept))


def of_ranks(value: Value) -> Found:
    """Reorder the parts of a prompt whose positions are split over ranks."""
    count, start = _count(value)
    own = np.arange(count)
    orders = []
    for ranks in (2, 4, 8):
        if start >= 2 * ranks and start % ranks == 0:
            cut = own[:start].reshape(ranks, -1)
            kinds = {"reversed": cut[::-1], "moved on": np.roll(cut, 1, axis=0),
                     "moved back": np.roll(cut, -1, axis=0), "dealt out": cut.T,
                     "gathered": own[:start].reshape(-1, ranks).T}  # fmt: skip
            orders += [(f"parts of {ranks} ranks of the prompt {words}",
                        np.concatenate((places.ravel(), own[start:])))
                       for words, places in kinds.items()]  # fmt: skip
    yield from _taken(value, iter(orders))


def lost_of_ranks(value: Value) -> Found:
    """Drop the part of one rank of a prompt whose positions are split over ranks."""
    count, start = _count(value)
    found = _by_token(value)
    if found is None:
        return
    array, at, shape = found
    own = np.arange(count)
    for ranks in (2, 4, 8):
        if start < 2 * ranks or start % ranks:
            continue
        for rank in range(ranks):
            lost = (own < start) & (own * ranks // start == rank)
            axes = [1] * array.ndim
            axes[at] = count
            yield (f"positions of rank {rank} of {ranks} missing in the prompt",
                   (array * ~lost.reshape(axes)).reshape(shape))  # fmt: skip


def summed(value: Value) -> Found:
    """Add a value of other positions."""
    found = _by_token(value)
    if found is None:
        return
    array, at, shape = found
    count, start = _count(value)
    first = {"the first position": 0, "the last position of the prompt": start - 1}
    for words, source in first.items():
        other = np.take(array, [source], axis=at)
        yield f"plus that of {words}", (array + other).reshape(shape)
    before = np.take(array, (np.arange(count) - 1).clip(0), axis=at)
    yield "plus that of the position before", (array + before).reshape(shape)
    yield "the mean with the position before", ((array + before) / 2).reshape(shape)
    sums = np.cumsum(array, axis=at)
    yield "the sum of all so far", sums.reshape(shape)
    size = [1] * array.ndim
    size[at] = count
    yield "the mean of all so far", (sums / np.arange(1, count + 1).reshape(size)).reshape(shape)


def in_blocks(value: Value) -> Found:
    """Read by blocks: other blocks in place of the right ones, or with another stride."""
    count, _ = _count(value)
    own = np.arange(count)
    orders: list[tuple[str, Any]] = []
    for size in SIZES:
        whole = count // size
        if whole < 2:
            continue
        block, inside = own // size, own % size
        for by in (1, -1):
            where = "next" if by > 0 else "last"
            for words, other in (("", (block + by).clip(0, whole - 1)),
                                 (", around", (block + by) % whole)):  # fmt: skip
                order = np.where(own < whole * size, other * size + inside, own)
                orders.append((f"blocks of {size} read from the {where} one{words}", order))
        for stride in (size // 2, size + 1, size - 1):
            order = (block * stride + inside).clip(0, count - 1)
            orders.append((f"blocks of {size} read at a stride of {stride}", order))
        orders += [(f"all blocks of {size} read from the first", inside),
                   (f"blocks of {size} backwards", np.where(
                       own < whole * size, block * size + size - 1 - inside, own))]  # fmt: skip
    for stride in (2, 3):
        orders.append((f"read at a stride of {stride}, around", own * stride % count))
        orders.append((f"each read {stride} times", own // stride))
    yield from _taken(value, iter([each for each in orders if len(each[1]) == count]))


def on_grid(value: Value) -> Found:
    """Round to steps of one size, as in a table."""
    for step in STEPS:
        yield f"in steps of 1/{step}", np.rint(value.array * step) / np.float32(step)
        yield f"in steps of 1/{step}, cut off", np.floor(value.array * step) / np.float32(step)


def inner_orders(value: Value) -> Found:
    """Channels in another order within a part of them: those that are turned, or each half."""
    width = value.array.shape[-1]
    if not value.axes.endswith("c"):
        return
    turned = int(value.spec.get("rotary_dim") or 0)
    parts = {"each half": [(0, width // 2), (width // 2, width)],
             "the first half": [(0, width // 2)],
             "the second half": [(width // 2, width)]}  # fmt: skip
    if 2 < turned < width:
        parts["what is turned"] = [(0, turned)]
        parts["what is not turned"] = [(turned, width)]
    for words, ranges in parts.items():
        for name in _INNER:
            order = np.arange(width)
            for low, high in ranges:
                order[low:high] = low + _inner(name, high - low)
            if (order != np.arange(width)).any():
                yield f"{words} {name}", value.array[..., order]


def _inner(name: str, count: int) -> Any:
    own = np.arange(count)
    if name == "reversed":
        return own[::-1]
    if count % 2:
        return own
    orders = {"dealt out": own.reshape(2, -1).T, "gathered": own.reshape(-1, 2).T,
              "neighbours exchanged": own.reshape(-1, 2)[:, ::-1],
              "halves exchanged": own.reshape(2, -1)[::-1]}  # fmt: skip
    return orders[name].ravel()
