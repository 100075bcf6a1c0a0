"""Finds rows of an embedding that were never filled, or are the mean of others."""

from __future__ import annotations

from typing import Any

from ....reading.tensors import np
from .embedding_rows import ALIKE, RANKS, vectors_of
from .given import Finder, Found, Given

LEAST_TOKENS = 3


def _wrong(one: Given) -> tuple[Any, Any, Any]:
    """The tokens of the run, their vectors, and a mask of those with a wrong vector."""
    tokens, vectors = vectors_of(one)
    left = vectors - one.reading.weights["own.weight"][tokens]
    off = (left * left).sum(axis=1) > ALIKE * (vectors * vectors).sum(axis=1)
    return tokens, vectors, off


def _with(one: Given, tokens: Any, vectors: Any) -> Any:
    changed = one.reading.weights["own.weight"].copy()
    changed[tokens] = vectors
    return one.reading._replace(weights={"own.weight": changed})


def _mean(one: Given) -> Found:
    """Find one vector shared by all wrong tokens that is the mean of the first rows."""
    tokens, vectors, off = _wrong(one)
    if off.sum() < LEAST_TOKENS:
        return
    same = vectors[off].mean(axis=0)
    weight = one.reading.weights["own.weight"].astype(np.float64)
    means = np.cumsum(weight, axis=0) / np.arange(1, len(weight) + 1)[:, None]
    left = ((means - same) ** 2).sum(axis=1)
    best = int(left.argmin())
    whole = float((same * same).sum())
    spread = float(((vectors[off] - same) ** 2).sum(axis=1).max())
    if best and left[best] < ALIKE * whole and spread < ALIKE * whole:
        made = np.broadcast_to(means[best], vectors[off].shape).astype(np.float32)
        yield _with(one, tokens[off], made), f"the mean of the first {best + 1}"


def _unfilled(one: Given) -> Found:
    """Find zeros for the last tokens of the vocabulary that do not begin at the border of a
    rank."""
    tokens, vectors, off = _wrong(one)
    lost = ~(vectors != 0).any(axis=1)
    count = len(one.reading.weights["own.weight"])
    if lost.sum() < LEAST_TOKENS or (lost != off).any() or lost.all():
        return
    if int(tokens[lost].min()) < int(tokens[~lost].max()):
        return
    between = range(int(tokens[~lost].max()) + 1, int(tokens[lost].min()) + 1)
    if not any(first % -(-count // ranks) == 0 for first in between for ranks in RANKS):
        yield _with(one, tokens[lost], 0), f"from {tokens[lost].min()} on"


def _head_unfilled(one: Given) -> Found:
    """Find zeros for the last tokens of the vocabulary in the output head."""
    weights = one.reading.weights
    output = one.output.reshape(-1, one.output.shape[-1])
    if (bias := weights.get("own.bias")) is not None:
        output = output - bias
    lost = ~(output != 0).any(axis=0)
    first, count = int(lost.argmax()), len(lost)
    at_border = any(first % -(-count // ranks) == 0 for ranks in RANKS)
    if not lost.any() or lost.all() or not lost[first:].all() or at_border:
        return
    changed = weights["own.weight"].copy()
    changed[first:] = 0
    made = {**weights, "own.weight": changed}
    yield one.reading._replace(weights=made), f"from {first} on"


EMBEDDING_FRESH: dict[str, Finder] = {
    "embedding-mean": _mean, "embedding-unfilled": _unfilled,
    "head-unfilled": _head_unfilled,
}  # fmt: skip
