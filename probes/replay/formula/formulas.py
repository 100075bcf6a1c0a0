"""The formulas by family: the output of a module computed from its input."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ....reading.tensors import np
from .attention import attention
from .basics import activate, capped, mix, normalise, reduced, rotary
from .feedforward import mlp, moe
from .few_bits import in_format, stored
from .nodes import at

Given = Mapping[str, Any]
"""Inputs by name: ``x``, or the branches of a sum."""
Formula = Callable[[Mapping[str, Any], Mapping[str, Any], Given], Any]


def _kept(spec: Mapping[str, Any], found: Any) -> Any:
    """Convert the output of a module to the format in which it is kept."""
    return stored(found, spec.get("out_format"), spec.get("decode_from"))


def _linear(spec: Mapping[str, Any], weights: Mapping[str, Any], given: Given) -> Any:
    if factor := spec.get("weight_scale"):  # the product is kept in the format of the weights
        scaled = in_format(weights["own.weight"] * np.float32(factor), "BF16")
        weights = {**weights, "own.weight": scaled}
    found = reduced(spec, weights, "own", at(spec, "x", given["x"]))
    found = _kept(spec, found * np.float32(spec.get("out_scale", 1)))
    return at(spec, "out", found)


def _embedding(spec: Mapping[str, Any], weights: Mapping[str, Any], given: Given) -> Any:
    rows = given["x"].astype(np.int64)
    found = weights["own.weight"][rows] * np.float32(spec["scale"])
    return at(spec, "out", _kept(spec, found))


def _rotary(spec: Mapping[str, Any], weights: Mapping[str, Any], given: Given) -> Any:
    return at(spec, "out", np.concatenate(rotary(spec, int(given["positions"])), axis=-1))


def _scaled(formula: Formula) -> Formula:
    """Apply a factor to the whole output; it is 1 unless something is wrong."""

    def scaled(spec: Mapping[str, Any], weights: Mapping[str, Any], given: Given) -> Any:
        given = {**given, "x": at(spec, "x", given["x"])} if spec.get("edit") else given
        found = formula(spec, weights, given) * np.float32(spec.get("out_scale", 1))
        if (factors := spec.get("token_factors")) is not None:
            found = found * factors
        return at(spec, "out", _kept(spec, found))

    return scaled


def _norm(spec: Mapping[str, Any], weights: Mapping[str, Any], x: Any) -> Any:
    if (parts := spec.get("sum_parts")) is not None:  # of each rank its own
        return sum(normalise(spec, weights, "own", part) for part in parts)
    found = normalise(spec, weights, "own", x)
    if (factors := spec.get("out_factors")) is None:  # of each token, behind the division
        return found
    bias = weights.get("own.bias", np.float32(0))
    return (found - bias) * factors + bias


FORMULAS: dict[str, Formula] = {
    "linear": _linear,
    "embedding": _embedding,
    "rotary": _rotary,
    "norm": _scaled(lambda spec, weights, given: _norm(spec, weights, given["x"])),
    "activation": _scaled(lambda spec, weights, given: activate(spec["act"], given["x"])),
    "attention": _scaled(attention),
    "mlp": _scaled(mlp),
    "moe": _scaled(moe),
    "sum": lambda spec, weights, given: mix(spec, given),
    "logits": lambda spec, weights, given: _capped(spec, given["x"]),
}


def _capped(spec: Mapping[str, Any], x: Any) -> Any:
    x = at(spec, "x", x)
    if (through := spec.get("logit_map")) is not None:
        return through(x)
    found = capped(spec, x, "logit_cap", np.float32(spec.get("of_x", 1)))
    return at(spec, "out", found * np.float32(spec.get("out_scale", 1)))
