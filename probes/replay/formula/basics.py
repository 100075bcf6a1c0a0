"""The small formulas: projection, norm, activation, lookup, sum of branches, rotary table."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from ....reading.tensors import np
from .few_bits import in_format
from .nodes import at
from .positions import places
from .remembered import Remembered
from .rope import Spec, angles

Weights = Mapping[str, Any]


def linear(weights: Weights, part: str, x: Any, memory: Remembered | None = None) -> Any:
    """x W' + b with the weight and the bias of ``part``."""
    weight = weights[f"{part}.weight"]
    found = x @ weight.T if memory is None else memory.get((x, weight), "", lambda: x @ weight.T)
    bias = weights.get(f"{part}.bias")
    return found if bias is None else found + bias


def reduced(
    spec: Spec, weights: Weights, part: str, x: Any, memory: Remembered | None = None
) -> Any:
    """Like :func:`linear`, for a projection whose ranks each give a part of the sum; a port may
    round the parts before they are added (``sum_ranks``, ``sum_format``)."""
    ranks = int(spec.get("sum_ranks") or 1)
    if ranks < 2:
        return linear(weights, part, x, memory)
    weight = weights[f"{part}.weight"]
    found = np.float32(0)
    pairs = zip(np.split(x, ranks, axis=-1), np.split(weight, ranks, axis=1), strict=True)
    for some, columns in pairs:
        made = np.ascontiguousarray(some @ columns.T, np.float32)
        found = found + in_format(in_format(made, "BF16"), str(spec["sum_format"]))
    bias = weights.get(f"{part}.bias")
    return found if bias is None else found + bias


def normalise(spec: Spec, weights: Weights, part: str, x: Any) -> Any:
    """RMSNorm or LayerNorm over the last axis; over that of the heads too (``norm_also``), or over
    parts of the last one (``norm_width``), if a port takes heads together or apart."""
    x = at(spec, f"{part}.x", x.astype(np.float32))
    if spec.get("norm_kind") == "none":
        return x
    weight = None if spec.get("norm_unweighted") else weights.get(f"{part}.weight")
    if weight is not None:
        weight = weight.reshape(-1, x.shape[-1]) if weight.ndim > 1 else weight
        weight = weight + np.float32(spec.get("norm_offset", 0))
        # One row for each head if a norm has several (channels of a head are the last axis).
        weight = weight[:, None] if weight.ndim > 1 else weight
    if weight is not None and spec.get("norm_weight_as") == "before":
        found = _over(spec, x * weight)
    else:
        found = at(spec, f"{part}.over", _over(spec, x))
        found = _weighted(found, weight, spec.get("norm_weight_as"))
        if spec.get("norm_twice"):
            found = _weighted(_over(spec, found), weight, None)
    bias = weights.get(f"{part}.bias")
    if bias is not None and spec.get("norm_bias_as") == "before-weight" and weight is not None:
        bias = bias * weight
    return found if bias is None else found + bias


def _weighted(x: Any, weight: Any, how: Any) -> Any:
    if weight is None:
        return x
    return x * _WEIGHTS.get(str(how), lambda weight: weight)(weight)


_WEIGHTS: dict[str, Callable[[Any], Any]] = {
    "squared": lambda weight: weight * weight,
    "inverse": lambda weight: 1 / weight,
    "root": lambda weight: np.sqrt(np.abs(weight)),
    "exponentiated": np.exp,
}


def _over(spec: Spec, x: Any) -> Any:
    """Normalise over the channels, or over those that a port normalises over instead."""
    width = spec.get("norm_width")
    if ranks := spec.get("norm_ranks"):  # each takes the figure of its own channels
        width = x.shape[-1] // int(ranks)
    if width:
        return _plain(spec, x.reshape(*x.shape[:-1], -1, int(width)), -1).reshape(x.shape)
    if axes := spec.get("norm_axes"):
        return _by_calls(spec, x, axes)
    also = spec.get("norm_also")
    return _plain(spec, x, -1 if also is None else (int(also), -1))


def _by_calls(spec: Spec, x: Any, axes: str) -> Any:
    """Normalised over other axes (``b`` rows of the batch, ``p`` positions, ``c`` channels): of the
    prompt, and of each decoded token, which are computed one after another."""
    over = tuple("bpc".index(letter) for letter in axes)
    count = x.shape[1]
    start = min(int(spec.get("decode_from") or count), count)
    calls = [slice(0, start), *(slice(at, at + 1) for at in range(start, count))]
    return np.concatenate([_plain(spec, x[:, call], over) for call in calls], axis=1)


def _plain(spec: Spec, x: Any, axes: Any) -> Any:
    """Normalised, without weight and bias."""
    centred = x - x.mean(axis=axes, keepdims=True)
    kind = spec.get("norm_kind")
    if kind == "mean-only":
        return centred
    power = _POWERS[spec.get("norm_mean") or "mean"](centred if kind == "layer" else x, axes)
    if spec.get("norm_top"):  # which of both is divided, if it is not that of the figure
        x = centred if spec["norm_top"] == "centred" else x
    elif kind == "layer":
        x = centred
    return x / _divisor(spec, power)


def _divisor(spec: Spec, power: Any) -> Any:
    eps = np.float32(spec.get("norm_eps", 0.0))
    if spec.get("eps_place") == "outside":
        return np.sqrt(power) + eps
    if spec.get("eps_place") == "least":
        return np.sqrt(np.maximum(power, eps))
    if spec.get("norm_root") is False:  # divided by the mean of squares itself
        return power + eps
    return np.sqrt(power + eps)


def _sum(x: Any, axes: Any) -> Any:
    return x.sum(axis=axes, keepdims=True)


def _mean(x: Any, axes: Any) -> Any:
    return x.mean(axis=axes, keepdims=True)


def _unbiased(x: Any, axes: Any) -> Any:
    count = x.shape[-1] if axes == -1 else math.prod(x.shape[axis] for axis in axes)
    return _sum(x * x, axes) / max(1, count - 1)


_POWERS: dict[str, Callable[[Any, Any], Any]] = {
    "mean": lambda x, axes: _mean(x * x, axes),
    "sum": lambda x, axes: _sum(x * x, axes),
    "unbiased": _unbiased,
    "largest": lambda x, axes: np.abs(x).max(axis=axes, keepdims=True) ** 2,
    "amounts": lambda x, axes: _mean(np.abs(x), axes) ** 2,
    "amounts-sum": lambda x, axes: _sum(np.abs(x), axes) ** 2,
    "amounts-root": lambda x, axes: _mean(np.abs(x), axes),
    "roots": lambda x, axes: _mean(np.sqrt(np.abs(x)), axes) ** 4,
    "median": lambda x, axes: np.median(np.abs(x), axis=axes, keepdims=True) ** 2,
    "variance": lambda x, axes: x.var(axis=axes, keepdims=True),
    "deviation": lambda x, axes: x.var(axis=axes, keepdims=True, ddof=1),
    "range": lambda x, axes: (x.max(axis=axes, keepdims=True)
                              - x.min(axis=axes, keepdims=True)) ** 2,
    "fourth-powers": lambda x, axes: np.sqrt(_mean(x**4, axes)),
}  # fmt: skip
"""The divisor of a norm before its root is taken, by name: a mean square or a substitute for it."""


def capped(spec: Spec, x: Any, key: str, factor: Any = 1) -> Any:
    """``x`` times a factor and softly limited, with a possible fault of the cap: ``key_kind``."""
    if not spec.get(key):
        return x * factor
    return _CAPS[spec.get(f"{key}_kind") or "tanh"](x, np.float32(spec[key]), factor)


_CAPS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "tanh": lambda x, cap, factor: np.tanh(x * factor / cap) * cap,
    "unscaled": lambda x, cap, factor: np.tanh(x * factor / cap),  # not multiplied by it again
    "undivided": lambda x, cap, factor: np.tanh(x * factor) * cap,
    "twice": lambda x, cap, factor: np.tanh(np.tanh(x * factor / cap)) * cap,
    "clamp": lambda x, cap, factor: (x * factor).clip(-cap, cap),
    "before": lambda x, cap, factor: np.tanh(x / cap) * cap * factor,
    "inverse": lambda x, cap, factor: np.tanh(x * factor * cap) / cap,
    "softsign": lambda x, cap, factor: x * factor / (1 + np.abs(x * factor) / cap),
}


def _sigmoid(x: Any) -> Any:
    return 0.5 * (1 + np.tanh(0.5 * x))


def _normal(x: Any) -> Any:
    """The normal distribution function (Abramowitz and Stegun 7.1.26, right to 1.5e-7)."""
    z = np.abs(x) / math.sqrt(2)
    k = 1 / (1 + 0.3275911 * z)
    terms = (0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429)
    series = k * (terms[0] + k * (terms[1] + k * (terms[2] + k * (terms[3] + k * terms[4]))))
    tail = 0.5 * series * np.exp(-z * z)
    return np.where(x < 0, tail, 1 - tail)


def _gelu_tanh(x: Any) -> Any:
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


ACTIVATIONS: dict[str, Callable[[Any], Any]] = {
    "silu": lambda x: x * _sigmoid(x), "gelu": lambda x: x * _normal(x), "gelu_tanh": _gelu_tanh,
    "quick_gelu": lambda x: x * _sigmoid(1.702 * x), "relu": lambda x: x.clip(0),
    "relu2": lambda x: x.clip(0) ** 2, "sigmoid": _sigmoid, "identity": lambda x: x,
}  # fmt: skip


def activate(name: Any, x: Any) -> Any:
    """An activation by its name; or a function that was read off."""
    if callable(name):
        return name(x)
    if name == "gelu":
        return 0.5 * x * (1 + erf(x / math.sqrt(2)))
    return (_MORE.get(name) or ACTIVATIONS[name])(x)


def _softplus(x: Any) -> Any:
    return np.logaddexp(np.float32(0), x)


_MORE: dict[str, Callable[[Any], Any]] = {
    "tanh": np.tanh,
    "softplus": _softplus,
    "mish": lambda x: x * np.tanh(_softplus(x)),
    "elu": lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))),
    "leaky_relu": lambda x: np.where(x > 0, x, np.float32(0.01) * x),
    "hard_swish": lambda x: x * (x + 3).clip(0, 6) / 6,
    "hard_sigmoid": lambda x: (x + 3).clip(0, 6) / 6,
    "silu2": lambda x: np.square(ACTIVATIONS["silu"](x)),
    "gelu2": lambda x: np.square(ACTIVATIONS["gelu"](x)),
    "relu6": lambda x: x.clip(0, 6),
    "softsign": lambda x: x / (1 + np.abs(x)),
    "selu": lambda x: (
        np.float32(1.0507010)
        * np.where(x > 0, x, np.float32(1.6732632) * np.expm1(np.minimum(x, 0)))
    ),
    "abs": np.abs,
    "exp": np.exp,
}
"""Activations of ports, in addition to those of references."""


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
    found = angles(spec, places(spec, positions))
    if spec.get("rope_layout") == "interleaved":
        return tuple(np.repeat(part, 2, axis=-1) for part in found)
    if spec.get("rope_table") == "half":
        return found
    return tuple(np.concatenate((part, part), axis=-1) for part in found)
