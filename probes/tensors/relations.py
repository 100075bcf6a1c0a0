"""How a failing tensor relates to others of its layer: exchanged with another one, in another
order, another activation, a weight that is not transposed, routing that is not used."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

from ...reading.tensors import np
from ...reading.tensors.captures import Name
from ..experiment.components import family_of, normal_name
from .samples import Sample, Samples

SAME = 0.99
"""Cosine from which one tensor is called another one."""
_ROWS = 512
_ACT = re.compile(r"(^|[._])act(_fn|ivation)?\d*$|silu|gelu|relu|swish", re.ASCII)


def relate(samples: Samples, name: Name, sample: Sample, keep: Any = None) -> dict[str, Any]:
    """Attributes of the kind ``error_signature`` that take other tensors to compute, over the rows
    that ``keep`` marks (None: all)."""
    found: dict[str, Any] = {}
    if _cosine(sample.target, sample.fp32) < 0.9:
        found |= _taken_for(samples, name, sample) | _reordered(sample)
        found |= _untransposed(samples, name, sample, keep)
    if _ACT.search(name.module.lower()):
        found |= _activation(samples, name, sample)
    return found | _routing(samples, name, sample, keep)


def _cosine(left: Any, right: Any) -> float:
    norm = math.sqrt(float((left**2).sum()) * float((right**2).sum()))
    return float((left * right).sum()) / norm if norm > 0 else 0.0


def _taken_for(samples: Samples, name: Name, sample: Sample) -> dict[str, Any]:
    """Another module of the layer whose reference the target equals."""
    for other in samples.neighbours(name):
        if samples.shape(other) == samples.shape(name) and not name.inside(other):
            second = samples.get(other)
            if second is not None and _cosine(sample.target, second.fp32) >= SAME:
                return {"equals": other.shown}
    return {}


def _reordered(sample: Sample) -> dict[str, Any]:
    """An order of the channels in which the target equals the reference."""
    rows, width = sample.fp32.shape
    for groups in (2, 4, 8, 16, 32, 64):
        if width % groups or groups >= width:
            break
        parts = sample.target.reshape(rows, groups, -1)
        orders = {"interleaved": parts.swapaxes(1, 2), "reversed": parts[:, ::-1]}
        for order, values in orders.items():
            if _cosine(values.reshape(rows, width), sample.fp32) >= SAME:
                return {"channel_order": f"{order} in {groups} groups"}
    return {}


def _untransposed(samples: Samples, name: Name, sample: Sample, keep: Any) -> dict[str, Any]:
    """The adjoint identity: if the target used W' where the reference has W, then
    <target_i, x_j> = <x_i, reference_j> for all pairs of rows, whatever W is. Rows are centred, so
    that a bias does not matter."""
    best: dict[str, Any] = {}
    for other in _inputs(samples, name):
        given = samples.get(other)
        if given is None or given.fp32.shape != sample.fp32.shape:
            continue
        used = slice(None) if keep is None else keep[: len(sample.fp32)]
        four = (given.fp32, given.target, sample.fp32, sample.target)
        x, own, f, t = (rows - rows.mean(axis=0) for rows in (v[used][:_ROWS] for v in four))
        right = x @ f.T
        size = math.sqrt(float((right**2).sum()))
        if not size:
            continue
        residual = math.sqrt(float(((t @ own.T - right) ** 2).sum())) / size
        asymmetry = math.sqrt(float(((right.T - right) ** 2).sum())) / size
        if residual < best.get("transpose_residual", math.inf):
            best = {"transpose_residual": residual, "transpose_asymmetry": asymmetry,
                    "input_module": other.shown}  # fmt: skip
    return best


def _inputs(samples: Samples, name: Name) -> Iterator[Name]:
    """The possible inputs of a module: its captured input, else the tensors that the layer computed
    before it."""
    near = samples.neighbours(name)
    own = [other for other in near if other.module == name.module and other.side == "in"]
    earlier = [other for other in near if other.order() < name.order() and not other.element]
    yield from own or reversed(earlier[-16:])


def _activation(samples: Samples, name: Name, sample: Sample) -> dict[str, Any]:
    """Find the function of an earlier tensor that reference and target apply."""
    from ..replay.formula.basics import ACTIVATIONS

    found: dict[str, Any] = {}
    best = {"reference": 1e-3, "applied": 0.03}
    for other in _inputs(samples, name):
        given = samples.get(other)
        if given is None or len(given.fp32) != len(sample.fp32):
            continue
        sides = {"reference": (given.fp32, sample.fp32), "applied": (given.target, sample.target)}
        for side, (source, result) in sides.items():
            for x in _halves(source, result.shape[1]):
                for function, compute in ACTIVATIONS.items():
                    residual = _distance(compute(x), result)
                    if residual < best[side]:
                        best[side] = residual
                        found |= {f"{side}_activation": function, f"{side}_input": other.shown}
    return found


def _halves(values: Any, width: int) -> Iterator[Any]:
    if values.shape[1] == width:
        yield values
    elif values.shape[1] == 2 * width:
        yield from (values[:, :width], values[:, width:], values[:, ::2], values[:, 1::2])


def _distance(found: Any, expected: Any) -> float:
    size = float((expected**2).sum())
    return math.sqrt(float(((found - expected) ** 2).sum()) / size) if size else math.inf


def _routing(samples: Samples, name: Name, sample: Sample, keep: Any) -> dict[str, Any]:
    """Whether the routing weights act on the output of experts.

    If they do not, the part of the target along the reference goes with 1 / sum(w^2): experts point
    in different directions, and the reference has w of each. A slope of -1 over the tokens shows
    that the weights are ignored, 0 that they are not.
    """
    family = family_of(normal_name(name.module))
    if family not in ("experts", "mlp") or name.element:
        return {}
    for other in samples.neighbours(name):
        if family_of(normal_name(other.module)) != "router":
            continue
        weights = samples.get(other)
        if weights is None or len(weights.fp32) != len(sample.fp32):
            continue
        w = weights.fp32
        if w.min() < 0 or not ((w == 0).mean() > 0.4 or w.shape[1] <= samples.chosen(other)):
            continue
        squares = (sample.fp32**2).sum(axis=1)
        along = (sample.target * sample.fp32).sum(axis=1) / np.where(squares > 0, squares, 1)
        spread = (w**2).sum(axis=1)
        known = (along > 0) & (spread > 0) & (squares > 0)
        if keep is not None:
            known &= keep[: len(known)]
        x, y = np.log(spread[known]), np.log(along[known])
        if known.sum() < 16 or x.std() < 0.02 or y.std() == 0:
            continue
        slope = float(np.cov(x, y)[0, 1] / x.var(ddof=1))
        left = y - y.mean() - slope * (x - x.mean())
        error = math.sqrt(
            float((left**2).sum()) / (len(x) - 2) / float(((x - x.mean()) ** 2).sum())
        )
        return {"routing_slope": slope, "routing_upper": slope + 2 * error}
    return {}
