"""Reads off the embedding row that each token was given, by comparing its vector with all rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....reading.tensors import np
from .given import Finder, Found, Given
from .row_orders import in_blocks

MOST_COMPARED = 1 << 34
LEAST_TOKENS, MOST_CHANNELS = 12, 16_384
ALIKE = 1e-3
"""Squared distance of two rows, relative to their size, up to which they are the same."""
SUMMED = 1e-2
"""The same limit for the remainder of a sum that was rounded."""
RANKS = (2, 4, 8, 16, 32)
MOST_LOST = 2
"""The largest part of a vocabulary that may never have been filled: one of so many."""


def _finder(fits: Callable[[Any, Any, int], bool]) -> Finder:
    def find(one: Given) -> Found:
        found = _origins(one)
        if found is None:
            return
        tokens, rows = found
        weight = one.reading.weights["own.weight"]
        if not fits(tokens, rows, len(weight)):
            return
        changed = weight.copy()
        changed[tokens] = np.where(rows[:, None] < 0, 0, weight[rows])
        yield one.reading._replace(weights={"own.weight": changed}), _words(tokens, rows, weight)

    return find


def _origins(one: Given) -> tuple[Any, Any] | None:
    """The tokens of the run, and the row of each: -1 for zeros; None if a token has no row."""
    weight = one.reading.weights["own.weight"]
    ids, vectors = one.given["x"].astype(np.int64).ravel(), one.output.reshape(-1, weight.shape[1])
    tokens, first = np.unique(ids, return_index=True)
    if len(tokens) * weight.size > MOST_COMPARED or len(tokens) < 2:
        return None
    own = vectors[first] / np.float32(one.reading.spec.get("scale") or 1)
    near = (weight * weight).sum(axis=1)[None] - 2 * own @ weight.T
    rows = near.argmin(axis=1)
    whole = (own * own).sum(axis=1)
    off = near[np.arange(len(rows)), rows] + whole
    rows[whole == 0] = -1
    return (tokens, rows) if ((off < ALIKE * whole) | (whole == 0)).all() else None


def _moved(tokens: Any, rows: Any, count: int) -> bool:
    return bool((rows != tokens).any() and (rows >= 0).all())


def _lost(tokens: Any, rows: Any, count: int) -> bool:
    """Whether some ranks of the vocabulary are lost as a whole, and the others right."""
    lost = rows < 0
    if not lost.any() or lost.all() or (rows[~lost] != tokens[~lost]).any():
        return False
    parts = [tokens // -(-count // ranks) for ranks in RANKS]
    return any(not set(part[lost]) & set(part[~lost]) for part in parts)


def _lost_in_one_stretch(tokens: Any, rows: Any, count: int) -> bool:
    """Whether the lost ranks hold one stretch of at most half of the vocabulary: its rows may also
    never have been filled."""
    if not _lost(tokens, rows, count):
        return False
    first, last = int(tokens[rows < 0].min()), int(tokens[rows < 0].max())
    inside = (tokens > first) & (tokens < last) & (rows >= 0)
    return not inside.any() and (last - first + 1) * MOST_LOST <= count


def _words(tokens: Any, rows: Any, weight: Any) -> str:
    for ranks in RANKS:
        part = -(-len(weight) // ranks)
        if (rows == tokens % part).all():
            return f"each of {ranks} ranks reads the rows of the first"
    by = rows - tokens
    if (by == by[0]).all():
        return f"row {by[0]:+d}"
    some = [f"token {token} row {row if row >= 0 else 'none'}"
            for token, row in zip(tokens, rows, strict=True) if token != row]  # fmt: skip
    return ", ".join(some[:4]) + (", ..." if len(some) > 4 else "")


def vectors_of(one: Given) -> tuple[Any, Any]:
    """The tokens of the run, and the vector of each without the factor of the model."""
    weight = one.reading.weights["own.weight"]
    ids, vectors = one.given["x"].astype(np.int64).ravel(), one.output.reshape(-1, weight.shape[1])
    tokens, first = np.unique(ids, return_index=True)
    return tokens, vectors[first] / np.float32(one.reading.spec.get("scale") or 1)


def _added(one: Given) -> Found:
    """Find embedding rows that were added to the rows of the tokens, for example because ranks did
    not mask the tokens of other ranks."""
    weight = one.reading.weights["own.weight"]
    tokens, vectors = vectors_of(one)
    if len(tokens) * weight.size > MOST_COMPARED or len(tokens) < 2:
        return
    left = vectors - weight[tokens]
    whole = (left * left).sum(axis=1)
    some = whole > ALIKE * (vectors * vectors).sum(axis=1)
    near = (weight * weight).sum(axis=1)[None] - 2 * left @ weight.T
    rows = np.where(some, near.argmin(axis=1), -1)
    off = near[np.arange(len(rows)), rows] + whole
    if not some.any() or (off > SUMMED * whole)[some].any():
        return
    changed = weight.copy()
    changed[tokens] += np.where(rows[:, None] < 0, 0, weight[rows])
    words = ", ".join(map(str, np.unique(rows[some])[:6]))
    spec = one.reading.spec | {"summed": True}
    yield one.reading._replace(spec=spec, weights={"own.weight": changed}), words


def _of_module(one: Given) -> Found:
    """Find the rows of another weight of the model, in the order of the tokens."""
    tokens, vectors = vectors_of(one)
    whole = float((vectors * vectors).sum())
    for place, weights in one.given["alike"](lambda own, other: own != other):
        weight = weights["own.weight"]
        if float(((weight[tokens] - vectors) ** 2).sum()) < ALIKE * whole:
            yield one.reading._replace(weights={"own.weight": weight}), place
            return


def _columns(fits: Callable[[Any], bool]) -> Finder:
    """Find channels that come from other channels, the same in the vectors of all tokens."""

    def find(one: Given) -> Found:
        tokens, vectors = vectors_of(one)
        weight = one.reading.weights["own.weight"]
        right = weight[tokens]
        if len(tokens) < LEAST_TOKENS or right.shape[1] > MOST_CHANNELS:
            return
        near = (right * right).sum(axis=0)[:, None] - 2 * right.T @ vectors
        origin = near.argmin(axis=0)
        whole = (vectors * vectors).sum(axis=0)
        off = near[origin, np.arange(len(origin))] + whole
        origin = np.where(whole == 0, -1, origin)
        if ((off > ALIKE * whole) & (whole > 0)).any() or not fits(origin):
            return
        changed = np.where(origin < 0, 0, weight[:, origin])
        some = ", ".join(map(str, origin[:6]))
        yield one.reading._replace(weights={"own.weight": changed}), f"channels {some}, ..."

    return find


def _shards(origin: Any) -> bool:
    moved = (origin != np.arange(len(origin))).any() and (origin >= 0).all()
    return bool(moved) and any(in_blocks(origin, len(origin) // ranks) for ranks in RANKS
                               if len(origin) % ranks == 0)  # fmt: skip


def _mixed(origin: Any) -> bool:
    moved = (origin != np.arange(len(origin))).any() and (origin >= 0).all()
    return bool(moved) and not _shards(origin)


def _channels_lost(origin: Any) -> bool:
    """Whether the channels of some ranks are lost, and the others right."""
    lost = origin < 0
    if not lost.any() or lost.all() or (origin != np.arange(len(origin)))[~lost].any():
        return False
    return any(len(lost) % ranks == 0 and not (lost.reshape(ranks, -1).any(axis=1)
                                               & ~lost.reshape(ranks, -1).all(axis=1)).any()
               for ranks in RANKS)  # fmt: skip


EMBEDDING_FINDERS: dict[str, Finder] = {
    "embedding-rows": _finder(_moved), "embedding-ranks": _finder(_lost),
    "embedding-stretch": _finder(_lost_in_one_stretch),
    "embedding-rows-added": _added,
    "embedding-of-module": _of_module, "embedding-shards": _columns(_shards),
    "embedding-channels": _columns(_mixed), "embedding-channels-lost": _columns(_channels_lost),
}  # fmt: skip
