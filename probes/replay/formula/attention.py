"""Attention, with all that models and ports of them do differently as settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ....reading.tensors import np
from .basics import capped, linear, normalise, reduced
from .few_bits import stored
from .masking import as_found, cached, masked
from .nodes import at
from .positions import places
from .remembered import Remembered
from .rope import ROPE_CHANGES, Spec, angles, rotate
from .slot_maps import moved_shares, slot_map
from .slots import as_newest, slots

Weights = Mapping[str, Any]


class Projected(NamedTuple):
    """Queries, keys and values by head, turned; and queries and keys before they were."""

    q: Any
    k: Any
    v: Any
    plain_q: Any
    plain_k: Any


def attention(spec: Spec, weights: Weights, given: Mapping[str, Any]) -> Any:
    """Output of attention over ``x`` (batches, positions, width), all positions at once; those from
    ``decode_from`` on were computed one by one, from a cache. ``table`` holds the cosines and sines
    of the run, if they are wrong themselves."""
    mixed = mixed_heads(spec, weights, given)
    batches, heads, positions, width = mixed.shape
    if (others := spec.get("other_heads")) is not None:  # only some heads differ
        mixed = np.where(others[0][None, :, None, None], mixed, others[1])
    if order := spec.get("head_order"):
        mixed = mixed[:, list(order)]
    joined = mixed.swapaxes(1, 2).reshape(batches, positions, heads * width)
    if spec.get("heads_unjoined"):  # of a single position there is nothing to move
        end = spec.get("decode_from") or positions
        joined[:, :end] = mixed[:, :, :end].reshape(batches, end, heads * width)
    return reduced(spec, weights, "o", joined)


def mixed_heads(spec: Spec, weights: Weights, given: Mapping[str, Any]) -> Any:
    """The output of the heads (batches, heads, positions, channels) before they are joined."""
    if spec.get("mask_found") is not None:
        logits, values = unmasked(spec, weights, given)
        return as_found(spec, weights, logits) @ values * np.float32(spec.get("value_scale", 1))
    found = _ordered(spec, _projected(spec, weights, given))
    if (before := spec.get("prompt")) is not None:  # the prompt was computed as it should be
        found = _pasted(_projected(before[0], before[1], given), found, int(spec["decode_from"]))
    groups = found.q.shape[1] // found.k.shape[1]
    k, v = _shared(spec, found.k, groups, "k"), _shared(spec, found.v, groups, "v")
    logits = found.q @ k.swapaxes(-1, -2)
    held = _held(spec, logits)
    if held is not None and "k" in spec.get("cached_parts", "kv"):
        logits = np.take_along_axis(logits, np.broadcast_to(held, logits.shape), axis=-1)
    old = _cache(spec, weights, given, found)
    positions = logits.shape[-1]
    if old is not None:
        there = cached(spec, positions)
        k_old = _shared(spec, old[1], groups, "k")
        logits = np.where(there, old[0] @ k_old.swapaxes(-1, -2), logits)
    scales = spec.get("cache_scales_of") or ""
    if "k" in scales:
        logits = logits * as_newest(k, int(spec["decode_from"]))
    factor = np.float32(spec["scale"])
    late = spec.get("cap_place") == "behind-mask"
    logits = logits * factor if late else capped(spec, logits, "softcap", factor)
    logits = _rounded(spec, "s", logits)
    shares = at(spec, "shares", masked(spec, weights, at(spec, "scores", logits)))
    shares = _rounded(spec, "w", shares)
    if held is not None and "v" in spec.get("cached_parts", "kv"):
        shares = moved_shares(shares, held)
    if "v" in scales:
        shares = shares * as_newest(v, int(spec["decode_from"]))
    if old is None:
        mixed = shares @ v
    else:
        mixed = (shares * ~there) @ v + (shares * there) @ _shared(spec, old[2], groups, "v")
    mixed = at(spec, "mixed", mixed * np.float32(spec.get("value_scale", 1)))
    return _rounded(spec, "m", mixed)


def _rounded(spec: Spec, letter: str, part: Any) -> Any:
    """Round a value that is kept in few bits: queries, keys and values as they are multiplied
    (``q``, ``k``, ``v``), scores (``s``), shares (``w``) and the output of the heads (``m``)."""
    if letter not in (spec.get("rounded_parts") or ""):
        return part
    return stored(part, spec.get("parts_format"), spec.get("decode_from"))


def _held(spec: Spec, logits: Any) -> Any:
    """The position whose key or value is in each slot of the cache, if it differs."""
    how = spec.get("cache_map")
    return slot_map(str(how), int(spec["decode_from"]), logits.shape[-1]) if how else None


def unmasked(spec: Spec, weights: Weights, given: Mapping[str, Any]) -> tuple[Any, Any]:
    """Scores (batches, heads, positions, keys) before the mask, and the values of the heads; with
    the keys of all rows of the batch if ``rows_joined`` is set."""
    found = _ordered(spec, _projected(spec, weights, given))
    groups = found.q.shape[1] // found.k.shape[1]
    k, v = _shared(spec, found.k, groups, "k"), _shared(spec, found.v, groups, "v")
    if spec.get("rows_joined"):
        k, v = _joined(k), _joined(v)
    return capped(spec, found.q @ k.swapaxes(-1, -2), "softcap", np.float32(spec["scale"])), v


def _joined(part: Any) -> Any:
    """The positions of all rows, one row after another, for each row."""
    rows = part.transpose(1, 0, 2, 3).reshape(part.shape[1], -1, part.shape[3])
    return np.broadcast_to(rows, (len(part), *rows.shape))


def _ordered(spec: Spec, found: Projected) -> Projected:
    order = spec.get("q_order")
    if not order:
        return found
    return found._replace(q=found.q[:, list(order)], plain_q=found.plain_q[:, list(order)])


def _projected(spec: Spec, weights: Weights, given: Mapping[str, Any]) -> Projected:
    memory, inputs = given.get("memory"), spec.get("part_inputs") or {}
    q, k, v = (_heads(spec, weights, inputs.get(part, given["x"]), part, memory)
               for part in ("q", "k", "v"))  # fmt: skip
    if spec.get("v_normed"):
        v = normalise({"norm_eps": spec.get("norm_eps", 1e-6)}, {}, "", v)
    late = _late(spec)
    early = "".join(side for side in "qk" if side not in late)
    bare = k
    q, k = _qk_norm(spec, weights, q, k, early)
    q, k = at(spec, "q.straight", q), at(spec, "k.straight", k)
    turned = _turned(spec, q, k, given.get("table"))
    if grows := spec.get("scale_grows"):  # as for texts longer than those of training
        turned = _grown(turned[0], float(grows)), turned[1]
    turned = at(spec, "q.turned", turned[0]), at(spec, "k.turned", turned[1])
    turned = _qk_norm(spec, weights, *turned, late)
    if spec.get("cached") == "unnormed":
        k = _turned(spec, q, bare, given.get("table"))[1]
    turned = _rounded(spec, "q", turned[0]), _rounded(spec, "k", turned[1])
    return Projected(*turned, _rounded(spec, "v", v), q, k)


def _grown(q: Any, length: float) -> Any:
    """Queries times the logarithm of their position, to the base of a length; at least once."""
    by = np.maximum(np.log(np.arange(q.shape[2]) + 1) / np.log(length), 1)
    return q * by.astype(np.float32)[:, None]


def _late(spec: Spec) -> str:
    """The sides that are normalised after their rotation."""
    place = str(spec.get("qk_norm_place", ""))
    return {"after-rope": "qk", "q-after-rope": "q", "k-after-rope": "k"}.get(place, "")


def _pasted(prompt: Projected, new: Projected, start: int) -> Projected:
    return Projected(*(np.concatenate((one[:, :, :start], two[:, :, start:]), axis=2)
                       for one, two in zip(prompt, new, strict=True)))  # fmt: skip


def _cache(
    spec: Spec, weights: Weights, given: Mapping[str, Any], own: Projected
) -> tuple[Any, Any, Any] | None:
    """Queries, keys and values as they meet in the cache, if these are not as they should be."""
    how = spec.get("cached")
    if not how:
        return None
    if isinstance(how, int):  # of another layer
        there, x = given["layer"](how, set(weights))
        other = _projected(spec, there, x)
        return own.q, other.k, other.v
    q, k, v = own.q, own.k, own.v
    if how == "edited":
        return q, at(spec, "k.cached", k), at(spec, "v.cached", v)
    if how == "scaled":
        return q, k * spec["cached_scales"][0], v * spec["cached_scales"][1]
    if how == "unbiased":
        return q, *_unbiased(spec, weights, given, own)
    if how in ("unturned", "unnormed"):
        return q, own.plain_k, v
    if how == "turned-late":  # all by the position of the query
        return own.plain_q, own.plain_k, v
    if how == "turned-twice":
        return q, _turned(spec, q, k, given.get("table"))[1], v
    if how == "exchanged":
        return q, v, k
    parts = spec.get("cached_parts", "kv")
    start, step = int(spec["decode_from"]), float(spec.get("cache_step", 0))
    return (q, slots(how, k, start, step) if "k" in parts else k,
            slots(how, v, start, step) if "v" in parts else v)  # fmt: skip


def _unbiased(
    spec: Spec, weights: Weights, given: Mapping[str, Any], own: Projected
) -> tuple[Any, Any]:
    """Keys and values before their bias is added."""
    parts = spec.get("cached_parts", "kv")
    lost = {f"{part}.bias" for part in parts}
    if not lost & set(weights):
        raise ValueError("there is no such bias")
    kept = {name: values for name, values in weights.items() if name not in lost}
    bare = _projected({**spec, "cached": None}, kept, given)
    return bare.k if "k" in parts else own.k, bare.v if "v" in parts else own.v


def _heads(spec: Spec, weights: Weights, x: Any, part: str, memory: Remembered | None) -> Any:
    found = at(spec, f"{part}.given", linear(weights, part, at(spec, f"{part}.x", x), memory))
    if clip := spec.get("clip"):
        found = found.clip(-clip, clip)
    if spec.get("qk_norm") == "all" and part in spec.get("qk_norm_only", "qk"):
        found = normalise(spec, weights, f"{part}_norm", found)
    count = int(spec["heads" if part == "q" else "kv_heads"])
    batches, positions, width = found.shape
    if spec.get("head_split") == "channels-first":
        return found.reshape(batches, positions, width // count, count).transpose(0, 3, 1, 2)
    heads = found.reshape(batches, positions, count, width // count).swapaxes(1, 2)
    return at(spec, f"{part}.projected", heads)


def _qk_norm(spec: Spec, weights: Weights, q: Any, k: Any, which: str) -> tuple[Any, Any]:
    if spec.get("qk_norm") != "head":
        return q, k
    sides = [side for side in spec.get("qk_norm_only", "qk") if side in which]
    return (normalise(spec, weights, "q_norm", q) if "q" in sides else q,
            normalise(spec, weights, "k_norm", k) if "k" in sides else k)  # fmt: skip


def _turned(spec: Spec, q: Any, k: Any, table: Any) -> tuple[Any, Any]:
    if not spec.get("rope"):
        return q, k
    if table is not None:
        given = _pairs(spec, table)
        return rotate(q, *given, spec), rotate(k, *given, spec)
    found = []
    for side, part in (("q", q), ("k", k)):
        turned = part
        if side in spec.get("rope_on", "qk"):
            how = spec if side in spec.get("rope_wrong_on", "qk") else _right(spec)
            turned = rotate(part, *angles(how, places(how, part.shape[2], side)), how)
        found.append(turned)
    return found[0], found[1]


def _right(spec: Spec) -> Spec:
    """The settings without the faults of the rotation of one side only."""
    return {key: value for key, value in spec.items() if key not in ROPE_CHANGES}


def _pairs(spec: Spec, table: Any) -> tuple[Any, Any]:
    """Cosine and sine of each pair of channels, from a table that has them once or twice."""
    cos, sin = np.split(table, 2, axis=-1)
    if cos.shape[-1] != spec["rotary_dim"] // 2:
        half = cos.shape[-1] // 2
        keep = slice(None, None, 2) if spec.get("rope_layout") == "interleaved" else slice(half)
        cos, sin = cos[..., keep], sin[..., keep]
    return cos[:, None], sin[:, None]


def _shared(spec: Spec, part: Any, groups: int, side: str) -> Any:
    """Keys or values of the groups, one for each query head."""
    how = spec.get(f"gqa_{side}") or spec.get("gqa", "repeat")
    if isinstance(how, tuple):  # the group of each query head
        return part[:, list(how)]
    if groups == 1:
        return part
    if how == "tile":
        return np.tile(part, (1, groups, 1, 1))
    if how == "first":
        return np.repeat(part[:, :1], groups * part.shape[1], axis=1)
    if how in ("padded-2", "padded-4"):  # to so many times as many heads, by zeros
        times = int(how[-1])
        if groups % times or part.shape[1] < 2:  # of a single one it is a rank that is lost
            raise ValueError("there are not so many heads")
        padded = np.concatenate((part, *[np.zeros_like(part)] * (times - 1)), axis=1)
        return np.repeat(padded, groups // times, axis=1)
    return np.repeat(part, groups, axis=1)
