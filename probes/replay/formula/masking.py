"""The positions that attention sees, the deviations of ports in masking, and the softmax over the
mask."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ....reading.tensors import np
from .basics import capped
from .rope import Spec

HIDDEN = -1e30


def masked(spec: Spec, weights: Mapping[str, Any], logits: Any) -> Any:
    """Shares of the positions: the softmax of ``logits`` (..., rows, columns)."""
    there = _there(spec, logits.shape[-1])
    seen = _seen(spec, logits.shape[-1]) & there
    if spec.get("sinks_at") == "first":  # they have the place of the first key
        seen = seen & (np.arange(logits.shape[-1]) > 0)
    use = spec.get("mask_use", "added")
    if use == "multiplied":  # by what should be added
        logits = logits * np.where(seen, 0, HIDDEN).astype(np.float32)
    elif use == "zeroed":
        logits = logits * seen
    elif use == "added":
        weak = spec.get("mask_value")
        logits = logits + np.where(seen, 0, -weak if weak else HIDDEN).astype(np.float32)
    if spec.get("cap_place") == "behind-mask":
        logits = capped(spec, logits, "softcap")
    if times := spec.get("counted"):
        logits = logits + np.log(_times(spec, str(times), logits.shape[-1])).astype(np.float32)
    shares = _softmax(spec, weights, np.where(there, logits, np.float32(HIDDEN)))
    if spec.get("softmax_over") == "heads":  # shares of missing keys are not zeros
        shares = shares * there
    return shares * seen if use == "after" else shares


def as_found(spec: Spec, weights: Mapping[str, Any], logits: Any) -> Any:
    """Shares if a finder has found how often each key is seen (batches, positions, keys)."""
    times = spec["mask_found"][:, None]
    weight = np.where(times > 0, np.log(np.maximum(times, 1e-6)), HIDDEN).astype(np.float32)
    return _softmax(spec, weights, logits + weight)


def seen_as_it_should(spec: Spec, positions: int) -> tuple[Any, Any]:
    """Masks of the keys that each row should see, and of those that exist (positions,
    positions)."""
    there = np.broadcast_to(_there(spec, positions), (positions, positions))
    return _seen(spec, positions) & there, there


def _there(spec: Spec, positions: int) -> Any:
    """Mask of the keys that exist: the prompt was computed before the later tokens, and each token
    before the next."""
    start = spec.get("decode_from")
    if start is None:
        return np.ones((positions, positions), bool)
    row, column = np.arange(positions)[:, None], np.arange(positions)[None]
    return np.where(row >= start, column <= row, column < start)


def _seen(spec: Spec, positions: int) -> Any:
    row, column = np.arange(positions)[:, None], np.arange(positions)[None]
    seen = _KINDS[spec.get("mask", "causal")](row, column)
    if window := spec.get("window"):
        seen = seen & (column > row - int(window))
    if spec.get("window_inverted"):
        seen = (column <= row - int(spec["window"])) | (column == 0)
    if block := spec.get("mask_block"):  # whole blocks are seen, or not
        seen = seen | (column // int(block) == row // int(block))
    if chunk := spec.get("chunk"):
        seen = seen & (column // int(chunk) == row // int(chunk))
    if prefix := spec.get("prefix"):
        seen = seen | ((column < int(prefix)) & (row < int(prefix)))
    start = spec.get("decode_from")
    if spec.get("mask_turned"):
        end = positions if start is None else start
        seen = seen.copy()
        seen[:end, :end] = seen[:end, :end].T
    if hidden := spec.get("hidden_first"):
        seen = seen & ((column >= int(hidden)) | (row < int(hidden)))
    if hidden := spec.get("hidden_from"):
        seen = seen & ((column < int(hidden)) | (column == row))
    if (hidden := spec.get("hidden_one")) is not None:
        seen = seen & ((column != int(hidden)) | (column == row))
    if hidden := spec.get("hidden_last"):  # of those that a row sees
        seen = seen & ((column <= row - int(hidden)) | (column == 0))
    if start is not None:
        seen = seen & _stored(spec, row, column, start)
    return np.broadcast_to(seen, (positions, positions))


_KINDS: dict[str, Callable[[Any, Any], Any]] = {
    "causal": lambda row, column: column <= row,
    "none": lambda row, column: column >= 0 * row,
    "strict": lambda row, column: (column < row) | (column == 0) & (row == 0),
    "strict-but-first": lambda row, column: (column < row) | (column == 0),
    "one-ahead": lambda row, column: column <= row + 1,
    "two-ahead": lambda row, column: column <= row + 2,
    "reversed": lambda row, column: column >= row,
    "inverted": lambda row, column: column > row,
    "own": lambda row, column: column == row,
}


def _stored(spec: Spec, row: Any, column: Any, start: int) -> Any:
    """Mask of the cache that a decoding step sees; everything, unless a setting limits it."""
    decoding = row >= start
    there = column >= 0 * row
    if length := spec.get("cache_length"):
        there = there & (~decoding | (column > row - int(length)))
    if most := spec.get("cache_first"):
        there = there & (~decoding | (column < int(most)) | (column == row))
    if (lost := spec.get("cache_one")) is not None:
        there = there & (~decoding | (column != int(lost)) | (column == row))
    if least := spec.get("cache_from"):
        there = there & (~decoding | (column >= int(least)) | (column == row))
    kept = _LOST.get(str(spec.get("cache")))
    return there if kept is None else there & (~decoding | kept(row, column, start))


_LOST: dict[str, Callable[[Any, Any, int], Any]] = {
    "drops-prompt": lambda row, column, start: column >= start,
    "drops-last": lambda row, column, start: column != row - 1,
    "drops-first": lambda row, column, start: column != 0,
    "drops-new": lambda row, column, start: (column < start) | (column == row),
    "drops-own": lambda row, column, start: column != row,
    "drops-own-and-new": lambda row, column, start: column < start,
    "drops-all": lambda row, column, start: column == row,
    # The new key takes the place of the last of the prompt.
    "overwrites-last": lambda row, column, start: column != start - 1,
    # New keys take the places of the first ones.
    "overwrites-first": lambda row, column, start: (column >= start) | (column > row - start),
    # Each new key takes the place of the one before it.
    "keeps-one": lambda row, column, start: (column < start - 1) | (column == row),
}


def _times(spec: Spec, which: str, positions: int) -> Any:
    """How often each key is in the softmax, if decoding has some of them twice."""
    start = int(spec["decode_from"])
    row, column = np.arange(positions)[:, None], np.arange(positions)[None]
    own, new = column == row, (column >= start) & (column <= row)
    kinds = {"own": own, "new": new, "new-past": new & ~own, "prompt": column < start,
             "past": ~own, "last": column == start - 1, "first": column == 0}  # fmt: skip
    return np.where((row >= start) & kinds[which], 2.0, 1.0)


def cached(spec: Spec, positions: int) -> Any:
    """Mask of the keys that come from the cache (rows, columns), limited by ``cached_of``."""
    start = int(spec["decode_from"])
    row, column = np.arange(positions)[:, None], np.arange(positions)[None]
    of = spec.get("cached_of", "past")
    if of == "prompt":
        return (row >= start) & (column < start)
    if of == "new":
        return (row >= start) & (column >= start) & (column < row)
    if of == "all":
        return (row >= start) & (column <= row)
    if of == "decoded":
        return (row >= start) & (column >= start) & (column <= row)
    if of == "own":
        return (row >= start) & (column == row)
    return (row >= start) & (column < row)


def _softmax(spec: Spec, weights: Mapping[str, Any], logits: Any) -> Any:
    sinks = weights.get("sinks") if spec.get("sinks") else None
    axis = 1 if spec.get("softmax_over") == "heads" else -1
    top = logits.max(axis=axis, keepdims=True)
    if sinks is not None:
        own = np.asarray(sinks, np.float32).reshape(1, -1, 1, 1)
        own = _AS[spec.get("sinks_as", "logits")](own, spec)
        top = np.maximum(top, own)
    powers = np.exp(logits - top)
    total = powers.sum(axis=axis, keepdims=True)
    if sinks is not None:
        total = total + np.exp(own - top)
    if more := spec.get("softmax_plus"):
        total = total + np.float32(more) * np.exp(-top)
    return powers / total


def _log(x: Any) -> Any:
    return np.log(np.maximum(x, np.float32(1e-30)))


_AS: dict[str, Callable[[Any, Spec], Any]] = {
    "logits": lambda sinks, spec: sinks,
    "exponentiated": lambda sinks, spec: np.exp(sinks),
    "logarithm": lambda sinks, spec: _log(sinks),
    "powers": lambda sinks, spec: _log(np.abs(sinks)),
    "negative": lambda sinks, spec: -sinks,
    "scaled": lambda sinks, spec: sinks * np.float32(spec["scale"]),
    "unscaled": lambda sinks, spec: sinks / np.float32(spec["scale"]),
    "repeated-2": lambda sinks, spec: sinks + np.log(np.float32(2)),  # each rank adds it
    "repeated-4": lambda sinks, spec: sinks + np.log(np.float32(4)),
    "repeated-8": lambda sinks, spec: sinks + np.log(np.float32(8)),
    "mean": lambda sinks, spec: np.broadcast_to(sinks.mean(), sinks.shape),
    "largest": lambda sinks, spec: np.broadcast_to(sinks.max(), sinks.shape),
}
