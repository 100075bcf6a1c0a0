"""Relations of queries and keys that were turned by their positions: turned not at all, by other
positions, or in another way."""

from __future__ import annotations

from typing import Any

from ....reading.tensors import np
from ..formula.positions import places
from ..formula.rope import angles, rotate
from .values import Found, Value


def _turned(value: Value, x: Any, cos: Any, sin: Any) -> Any:
    return rotate(x, cos, sin, value.spec)


def _straight(value: Value) -> tuple[Any, Any, Any] | None:
    """Undo the rotation of a value; return it with the table."""
    if not value.spec.get("rope") or value.array.ndim != 4:
        return None
    cos, sin = angles(value.spec, places(value.spec, value.array.shape[2]))
    factor = cos * cos + sin * sin
    return _turned(value, value.array, cos / factor, -sin / factor), cos, sin


def turned_back(value: Value) -> Found:
    """The value without its rotation."""
    found = _straight(value)
    if found is not None:
        yield "not turned", found[0]


def moved_places(value: Value) -> Found:
    """Rotate by other positions."""
    found = _straight(value)
    if found is None:
        return
    straight, cos, sin = found
    for words, part in (("turned twice", value.array), ("turned three times", None)):
        twice = _turned(value, value.array, cos, sin) if part is None else part
        yield words, _turned(value, twice, cos, sin)
    own = np.arange(cos.shape[-2])
    start = value.spec.get("decode_from") or len(own)
    orders = {"turned as one earlier": (own - 1).clip(0), "turned from 0 on in decoding":
              np.where(own >= start, own - start, own),
              "turned as one later": (own + 1).clip(0, own[-1]),
              "turned as at the start of decoding": own.clip(0, start),
              "turned backwards": own[::-1]}  # fmt: skip
    for by in (*range(2, 9), 16):
        orders[f"turned as {by} later"] = own + by
        orders[f"turned as {by} earlier"] = own - by
    for parts in (2, 4, 8, 16):
        orders[f"turned in rounds of {parts}"] = own % parts
        orders[f"turned as the first of each {parts}"] = own // parts * parts
    for words, order in orders.items():
        by = places(value.spec, len(own)) + (order - own)
        yield words, _turned(value, straight, *angles(value.spec, by))


def twisted(value: Value) -> Found:
    """Rotate by the right angles in another way."""
    found = _straight(value)
    if found is None:
        return
    straight, cos, sin = found
    other = "half" if value.spec.get("rope_layout") == "interleaved" else "interleaved"
    spec = {**value.spec, "rope_layout": other}
    yield "turned in the other layout", rotate(straight, cos, sin, spec)
    yield "turned the other way", _turned(value, straight, cos, -sin)
    yield "cosines and sines exchanged", _turned(value, straight, sin, cos)
    yield "frequencies reversed", _turned(value, straight, cos[..., ::-1], sin[..., ::-1])
    rows, heads, places, width = value.array.shape
    if 2 * cos.shape[-1] == width and value.spec.get("rope_layout") != "interleaved":
        whole = straight.swapaxes(1, 2).reshape(rows, 1, places, heads * width)
        both = [np.concatenate((part, part), axis=-1) for part in (cos, sin)]
        wide = [np.tile(part, (*[1] * (part.ndim - 1), heads)) for part in both]
        half = heads * width // 2
        first, second = whole[..., :half], whole[..., half:]
        low = first * wide[0][..., :half] - second * wide[1][..., :half]
        high = second * wide[0][..., half:] + first * wide[1][..., half:]
        joined = np.concatenate((low, high), axis=-1).reshape(rows, places, heads, width)
        yield "turned with halves of all heads together", joined.swapaxes(1, 2)
    yield "without sines", _turned(value, straight, cos, sin * 0)
    yield "without cosines", _turned(value, straight, cos * 0, sin)
