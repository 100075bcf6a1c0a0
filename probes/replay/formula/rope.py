"""Rotary position embeddings: frequencies of all kinds of scaling, and their two layouts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ....reading.tensors import np
from ....reading.tensors.number_formats import through
from .few_bits import stored

Spec = Mapping[str, Any]
ROPE_CHANGES = frozenset({
    "rope_backwards", "rope_turn", "rope_table_as", "prompt_chunk", "prompt_reversed",
    "prompt_offset", "decode_step", "decode_frozen", "decode_offset", "positions_most",
    "positions_around", "position_offset", "position_step", "positions_pause", "positions_skip",
    "positions_padded",
})  # fmt: skip
"""Settings that only ports have, of the rotation of queries or of keys."""


def frequencies(spec: Spec) -> tuple[Any, float]:
    """Angle for one position, of each pair of channels; and the factor of cosines and sines."""
    width = int(spec["rotary_dim"])
    exponents = np.arange(0, width, 2, dtype=np.float64) / int(spec.get("rates_dim") or width)
    plain = float(spec["theta"]) ** -exponents
    scale = _SCALINGS.get(str(spec.get("rope_type") or "default"), _plain)
    found, factor = scale(plain, spec)
    if (again := spec.get("rates_twice")) is not None:  # scaled once more, or by as much once more
        found = _again(str(again), found, plain, spec)
    if spec.get("rope_ramp") == "mirrored":  # channels to be stretched are not, and the reverse
        found = plain * plain / spec["rope_factor"] / found
    if (given := spec.get("rates_given")) is not None:
        return np.asarray(given, np.float64), factor
    if spec.get("rates_format"):  # as a module that is cast whole rounds its buffer
        found = through(found.astype(np.float32), spec["rates_format"]).astype(np.float64)
    if spec.get("rates_as") == "reversed":
        found = found[::-1]
    given = spec.get("attention_factor")
    factor = factor if given is None else float(given)
    return found, factor ** float(spec.get("warmth_power", 1))


def _again(how: str, found: Any, plain: Any, spec: Spec) -> Any:
    """Frequencies that are scaled twice, or in reverse."""
    if how == "inverse":
        return plain * plain / found
    if how == "inverse-step":  # every scaled channel is multiplied by the full factor
        return np.where(found < plain, plain * float(spec["rope_factor"]), plain)
    if how == "again":
        return _SCALINGS.get(str(spec.get("rope_type")), _plain)(found, spec)[0]
    return found * found / plain


def _plain(plain: Any, spec: Spec) -> tuple[Any, float]:
    return plain, 1.0


def _linear(plain: Any, spec: Spec) -> tuple[Any, float]:
    return plain / spec["rope_factor"], 1.0


def _llama3(plain: Any, spec: Spec) -> tuple[Any, float]:
    """Stretch long waves, keep short ones, and mix those in between."""
    factor, low, high = spec["rope_factor"], spec["low_freq_factor"], spec["high_freq_factor"]
    turns = spec["original_length"] * plain / (2 * math.pi)
    share = 1 - _ramp(1 - np.clip((turns - low) / (high - low), 0, 1), spec)
    return (1 - share) * plain / factor + share * plain, 1.0


def _yarn(plain: Any, spec: Spec) -> tuple[Any, float]:
    """Like llama3, with a ramp over the channels and a higher attention temperature."""
    factor, width = float(spec["rope_factor"]), int(spec["rotary_dim"])
    length, theta = spec["original_length"], float(spec["theta"])

    def channel(turns: float) -> float:
        return width * math.log(length / (turns * 2 * math.pi)) / (2 * math.log(theta))

    low, high = channel(spec.get("beta_fast") or 32), channel(spec.get("beta_slow") or 1)
    if spec.get("truncate", True):
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, width - 1)
    ramp = _ramp(np.clip((np.arange(width // 2) - low) / ((high - low) or 1e-3), 0, 1), spec)
    return plain / factor * ramp + plain * (1 - ramp), _warmth(factor, spec)


def _ramp(stretched: Any, spec: Spec) -> Any:
    """The share of stretching for each pair of channels, with possible faults of a port."""
    kinds = {"inverted": 1 - stretched, "none": 0 * stretched, "all": 0 * stretched + 1,
             "step": np.rint(stretched)}  # fmt: skip
    name, _, count = str(spec.get("rope_ramp")).partition(" ")
    places = np.arange(len(stretched))
    if name == "first":  # as many pairs of channels are stretched, and no others
        return (places < int(count)).astype(np.float64)
    if name == "last":
        return (places >= len(places) - int(count)).astype(np.float64)
    return kinds.get(name, stretched)


def _warmth(factor: float, spec: Spec) -> float:
    def of(scale: float) -> float:
        return 1.0 if factor <= 1 else 0.1 * scale * math.log(factor) + 1

    one, all_dims = spec.get("mscale"), spec.get("mscale_all_dim")
    return of(one) / of(all_dims) if one and all_dims else of(1)


def _longrope(plain: Any, spec: Spec) -> tuple[Any, float]:
    factors = np.asarray(spec["short_factor"], dtype=np.float64)
    length, factor = spec["original_length"], float(spec["rope_factor"])
    warmth = 1.0 if factor <= 1 else math.sqrt(1 + math.log(factor) / math.log(length))
    return plain / factors, warmth


_SCALINGS = {"linear": _linear, "llama3": _llama3, "yarn": _yarn, "longrope": _longrope}


def angles(spec: Spec, positions: Any) -> tuple[Any, Any]:
    """Cosine and sine of (positions, pairs)."""
    rates, factor = frequencies(spec)
    turned = positions[..., None] * rates
    if spec.get("angles_format"):  # the product is rounded, as of positions in low precision
        turned = through(turned.astype(np.float32), spec["angles_format"]).astype(np.float64)
    cos = np.cos(turned) * (factor * float(spec.get("cos_scale", 1)))
    sin = np.sin(turned) * (factor * float(spec.get("sin_scale", 1)))
    cos, sin = _taken(str(spec.get("table_as")), cos.astype(np.float32), sin.astype(np.float32))
    return stored(cos, spec.get("table_format")), stored(sin, spec.get("table_format"))


def _taken(how: str, cos: Any, sin: Any) -> tuple[Any, Any]:
    """Exchange cosines and sines as a port may do."""
    kinds = {"exchanged": (sin, cos), "sine-negative": (cos, -sin), "cosines": (cos, cos),
             "sines": (sin, sin)}  # fmt: skip
    return kinds.get(how, (cos, sin))


def rotate(x: Any, cos: Any, sin: Any, spec: Spec) -> Any:
    """(..., positions, channels) turned; only the first ``rotary_dim`` channels, or the last."""
    width = 2 * cos.shape[-1]
    whole = x.shape[-1]
    start = whole - width if spec.get("rope_end") else 0
    part = x[..., start : start + width]
    if spec.get("rope_turn") == "padded":  # the other channel of each pair is one of padding
        return _beside_padding(x, start, cos, sin, spec)
    if spec.get("rope_layout") == "interleaved":
        first, second = part[..., ::2], part[..., 1::2]
    else:
        first, second = part[..., : width // 2], part[..., width // 2 :]
    low, high = _turn(spec, first, second, cos, sin)
    found = x.copy()
    if spec.get("rope_layout") == "interleaved":
        found[..., start : start + width : 2], found[..., start + 1 : start + width : 2] = low, high
    else:
        found[..., start : start + width] = np.concatenate((low, high), axis=-1)
    return found


def _beside_padding(x: Any, start: int, cos: Any, sin: Any, spec: Spec) -> Any:
    """Rotate channels with zeros as their partners, and return these."""
    if spec.get("rope_layout") == "interleaved":
        raise ValueError("pairs are beside one another")
    whole = [np.concatenate((part, part), axis=-1) for part in (cos, sin)]
    part = x[..., start : start + whole[0].shape[-1]]
    turned = x.copy()
    turned[..., start : start + part.shape[-1]] = part * whole[0]
    return np.concatenate((turned, part * whole[1]), axis=-1)


def _turn(spec: Spec, first: Any, second: Any, cos: Any, sin: Any) -> tuple[Any, Any]:
    """The two channels of each pair, turned."""
    if spec.get("rope_backwards"):
        sin = -sin
    how = spec.get("rope_turn")
    if isinstance(how, tuple):  # signs of the four products
        return (how[0] * first * cos - how[1] * second * sin,
                how[2] * second * cos + how[3] * first * sin)  # fmt: skip
    if how in _SIGNS:
        return _turn({**spec, "rope_turn": _SIGNS[how], "rope_backwards": False}, first, second,
                     cos, sin)  # fmt: skip
    if how == "unsigned":  # the halves change places without a sign
        return first * cos + second * sin, second * cos + first * sin
    if how == "cosines":
        return first * cos, second * cos
    if how == "sines":
        return -second * sin, first * sin
    other = cos, sin
    if spec.get("rope_table_as") == "each":  # each channel has a frequency of its own
        (cos, sin), other = _each(spec, cos, sin)
    if spec.get("rope_table_as") == "other":  # the table has the order of the other layout
        (cos, sin), other = _crossed(spec, cos, sin)
    return first * cos - second * sin, second * other[0] + first * other[1]


_SIGNS = {
    "first-cosine-lost": (0, 1, 1, 1), "first-sine-lost": (1, 0, 1, 1),
    "second-cosine-lost": (1, 1, 0, 1), "second-sine-lost": (1, 1, 1, 0),
    "first-cosine-negative": (-1, 1, 1, 1), "second-cosine-negative": (1, 1, -1, 1),
    "second-sine-negative": (1, 1, 1, -1),
}  # fmt: skip
"""Products of halves and table that are lost or have the wrong sign."""


def _each(spec: Spec, cos: Any, sin: Any) -> Any:
    """Like :func:`_crossed`, but frequencies go over all channels instead of pairs of them."""
    width = 2 * cos.shape[-1]
    rates = float(spec["theta"]) ** -(np.arange(width) / width)
    angle = np.arange(cos.shape[-2], dtype=np.float64)[:, None] * rates
    whole = [np.cos(angle).astype(np.float32), np.sin(angle).astype(np.float32)]
    if spec.get("rope_layout") == "interleaved":
        return [part[..., ::2] for part in whole], [part[..., 1::2] for part in whole]
    half = cos.shape[-1]
    return [part[..., :half] for part in whole], [part[..., half:] for part in whole]


def _crossed(spec: Spec, cos: Any, sin: Any) -> Any:
    """Cosines and sines of the first and of the second channel of each pair, from a table whose
    two entries of a pair lie as the other layout has them."""
    if spec.get("rope_layout") == "interleaved":
        whole = [np.concatenate((part, part), axis=-1) for part in (cos, sin)]
        return [part[..., ::2] for part in whole], [part[..., 1::2] for part in whole]
    whole, half = [np.repeat(part, 2, axis=-1) for part in (cos, sin)], cos.shape[-1]
    return [part[..., :half] for part in whole], [part[..., half:] for part in whole]
