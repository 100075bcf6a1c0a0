"""Positions that rotary embeddings count by, in the prefill and in the steps of decoding."""

from __future__ import annotations

from typing import Any

from ....reading.tensors import np
from .rope import Spec


def places(spec: Spec, count: int, side: str = "") -> Any:
    """The position of each of ``count`` tokens, as float64; ``side`` is ``q`` or ``k`` if only
    one of both may be wrong."""
    if (given := spec.get("positions_given")) is not None:
        return given
    found = np.arange(count)
    start = spec.get("decode_from")
    end = count if start is None else int(start)
    if chunk := spec.get("prompt_chunk"):  # chunks of the prompt count again
        found[:end] %= int(chunk)
    if spec.get("prompt_reversed"):
        found[:end] = found[:end][::-1].copy()
    found[:end] += int(spec.get("prompt_offset", 0))
    if start is not None and spec.get("decode_on", side) == side:
        found[end:] = end + (found[end:] - end) * int(spec.get("decode_step", 1))
        if spec.get("decode_frozen"):
            found[end:] = end
        found[end:] += int(spec.get("decode_offset", 0))
    if at := spec.get("positions_pause"):  # one of them counts twice
        found -= found >= int(at)
    if at := spec.get("positions_skip"):
        found += found >= int(at)
    if (first := spec.get("positions_padded")) is not None:  # as if the first ones were padding
        found = np.maximum(found - int(first), int(spec.get("positions_least", 0)))
    if most := spec.get("positions_most"):  # a table that is too short
        found = np.minimum(found, int(most))
    if around := spec.get("positions_around"):
        found %= int(around)
    found += int(spec.get("position_offset", 0))
    if side == "k":
        found += int(spec.get("key_offset", 0))
    return found * float(spec.get("position_step", 1))
