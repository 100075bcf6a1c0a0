"""The small formulas: projection, norm, activation, lookup, sum of branches, rotary table."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from ...shared import np
from ...tensors.relations import ACTIVATIONS
from .remembered import Remembered
from .rope import Spec, angles

Weights = Mapping[str, Any]


def linear(weights: Weights, part: str, x: Any, memory: Remembered | None = None) -> Any:
    """x W' + b with the weight and the bias of ``part``."""
    weight = weights[f"{part}.weight"]
    found = x @ weight.T if memory is None else memory.get((x, weight), "", lambda: x @ weight.T)
    bias = weights.get(f"{part}.bias")
    return found if bias is None else found + bias


def normalise(spec: Spec, weights: Weights, part: str, x: Any) -> Any:
    """RMSNorm or LayerNorm over the last axis; over that of the heads too (``norm_also``), or over
    parts of the last one (``norm_width``), where a port takes heads together or apart."""
    x = x.astype(np.float32)
    if spec.get("norm_kind") == "none":
        return x
    if width := spec.get("norm_width"):
        found = _plain(spec, x.reshape(*x.shape[:-1], -1, int(width)), -1).reshape(x.shape)
    else:
        also = spec.get("norm_also")
        found = _plain(spec, x, -1 if also is None else (int(also), -1))
    weight = weights.get(f"{part}.weight")
    if weight is not None and not spec.get("norm_unweighted"):
        weight = weight.reshape(-1, x.shape[-1]) if weight.ndim > 1 else weight
        weight = weight + np.float32(spec.get("norm_offset", 0))
        # One row for each head where a norm has several (channels of a head are the last axis).
        found = found * (weight[:, None] if weight.ndim > 1 else weight)
    bias = weights.get(f"{part}.bias")
    return found if bias is None else found + bias


def _plain(spec: Spec, x: Any, axes: Any) -> Any:
    """Normalised, without weight and bias."""
    if spec.get("norm_kind") == "layer":
        x = x - x.mean(axis=axes, keepdims=True)
    mean = (x * x).mean(axis=axes, keepdims=True)
    kinds = {"sum": lambda: (x * x).sum(axis=axes, keepdims=True),
             "largest": lambda: np.abs(x).max(axis=axes, keepdims=True) ** 2}  # fmt: skip
    power = kinds.get(spec.get("norm_mean", "mean"), lambda: mean)()
    if spec.get("norm_kind") == "mean-only":
        return x - x.mean(axis=axes, keepdims=True)
    eps = np.float32(spec.get("norm_eps", 0.0))
    if spec.get("eps_place") == "outside":
        return x / (np.sqrt(power) + eps)
    if spec.get("norm_root") is False:  # divided by the mean of squares itself
        return x / (power + eps)
    return x / np.sqrt(power + eps)


def capped(spec: Spec, x: Any, key: str, factor: Any = 1) -> Any:
    """``x`` times a factor and softly limited, with what may be wrong about it: ``key_kind``."""
    if not spec.get(key):
        return x * factor
    return _CAPS[spec.get(f"{key}_kind") or "tanh"](x, np.float32(spec[key]), factor)


_CAPS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "tanh": lambda x, cap, factor: np.tanh(x * factor / cap) * cap,
    "unscaled": lambda x, cap, factor: np.tanh(x * factor / cap),  # not multiplied by it again
    "undivided": lambda x, cap, factor: np.tanh(x * factor) * cap,
    "clamp": lambda x, cap, factor: (x * factor).clip(-cap, cap),
    "before": lambda x, cap, factor: np.tanh(x / cap) * cap * factor,
    "inverse": lambda x, cap, factor: np.tanh(x * factor * cap) / cap,
    "softsign": lambda x, cap, factor: x * factor / (1 + np.abs(x * factor) / cap),
}


def activate(name: str, x: Any) -> Any:
    """An activation by its name."""
    if name == "gelu":
        return 0.5 * x * (1 + erf(x / math.sqrt(2)))
    return ACTIVATIONS[name](x)


def erf(x: Any) -> Any:
    """The error function, right to float32 (series of Abramowitz and Stegun 7.1.26 are not)."""
    return _ERF(x).astype(np.float32)


def _ERF(x: Any) -> Any:
    global _TABLE  # noqa: PLW0603
    if _TABLE is None:
        grid = np.linspace(-6, 6, 24_001)
        _TABLE = grid, np.array([math.erf(value) for value in grid])
    grid, values = _TABLE
    return np.interp(x, grid, values)


_TABLE: Any = None


def mix(spec: Spec, terms: Mapping[str, Any]) -> Any:
    """The sum of branches, each by its factor."""
    return sum(np.float32(spec[f"of_{name}"]) * values for name, values in terms.items())


def rotary(spec: Spec, positions: int) -> tuple[Any, Any]:
    """The table of cosines and sines that a model hands to its layers."""
    places = np.arange(positions) + spec.get("position_offset", 0)
    if (start := spec.get("decode_from")) is not None:
        places[start:] += spec.get("decode_offset", 0)
        if spec.get("decode_frozen"):
            places[start:] = start
    found = angles(spec, places.astype(np.float64))
    if spec.get("rope_layout") == "interleaved":
        return tuple(np.repeat(part, 2, axis=-1) for part in found)
    if spec.get("rope_table") == "half":
        return found
    return tuple(np.concatenate((part, part), axis=-1) for part in found)
