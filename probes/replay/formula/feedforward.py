"""MLP and mixture of experts, with all that models and ports of them do differently."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from ....reading.tensors import np
from .basics import Weights, activate, linear, reduced
from .few_bits import stored
from .nodes import at
from .remembered import Remembered
from .rope import Spec

_GLU = ("act", "act_place", "glu_limit", "glu_product", "glu_sum", "gate_scale", "glu_alpha",
        "up_offset", "glu_limit_of", "expert_format", "product_format")  # fmt: skip
"""Settings that change the computation of experts."""


def mlp(spec: Spec, weights: Weights, given: Mapping[str, Any]) -> Any:
    """down(act(gate x) * up x), or down(act(up x)) if there is no gate."""
    made = inner(spec, weights, given["x"], given.get("memory"))
    made = stored(made, spec.get("product_format"), spec.get("decode_from"))
    return reduced(spec, weights, "down", made)


def inner(spec: Spec, weights: Weights, x: Any, memory: Remembered | None = None) -> Any:
    """The input of the output projection."""
    inputs = spec.get("part_inputs") or {}
    up = linear(weights, "up", inputs.get("up", x), memory)
    if spec.get("gated"):
        return _glu(spec, linear(weights, "gate", inputs.get("gate", x), memory), up)
    found = activate(spec["act"], at(spec, "up", up))
    found = activate(spec["act"], found) if spec.get("act_place") == "twice" else found
    return at(spec, "product", found)


def _glu(spec: Spec, gate: Any, up: Any) -> Any:
    return at(spec, "product", _product(spec, at(spec, "gate", gate), at(spec, "up", up)))


def _product(spec: Spec, gate: Any, up: Any) -> Any:
    if limit := spec.get("glu_limit"):
        gate, up = _limited(str(spec.get("glu_limit_of")), gate, up, limit)
    if not spec.get("glu_product", True):
        return activate(spec["act"], gate)
    if spec.get("glu_sum"):
        return activate(spec["act"], gate) + up
    if spec.get("act_place") == "product":
        return activate(spec["act"], gate * up)
    if spec.get("act_place") == "both":
        up = activate(spec["act"], up)
    gate = gate * spec.get("gate_scale", 1.0)
    alpha = spec.get("glu_alpha")
    active = gate * activate("sigmoid", alpha * gate) if alpha else activate(spec["act"], gate)
    if spec.get("act_place") == "twice":
        active = activate(spec["act"], active)
    return at(spec, "active", active) * (up + np.float32(spec.get("up_offset", 0)))


def _limited(of: str, gate: Any, up: Any, limit: float) -> tuple[Any, Any]:
    """Limit the gate from above and up on both sides; a port may limit them otherwise."""
    low = -limit if of in ("both", "exchanged") else None
    gate = gate if of == "up" else gate.clip(low, limit)
    return gate, up if of == "gate" else up.clip(None if of in ("upper", "exchanged") else -limit,
                                                 limit)  # fmt: skip


def route(spec: Spec, weights: Weights, x: Any) -> tuple[Any, Any]:
    """The numbers and the weights of the experts for each row of ``x``."""
    if (given := spec.get("shares_given")) is not None:
        order, shares = given
        return order, shares
    x = _input(spec, "router", x)
    logits = at(spec, "router.logits", linear(weights, "router", at(spec, "router.x", x)))
    if temperature := spec.get("router_scale"):
        logits = logits * np.float32(temperature)
    logits = stored(logits, spec.get("router_format"))
    if more := int(spec.get("experts_padded") or 0):  # numbers after the last give nothing
        logits = np.concatenate((logits, np.zeros((len(logits), more), logits.dtype)), axis=-1)
    scores = at(spec, "router.scores", _scores(spec, logits))
    ranked, source = _ranked(spec, weights, x, logits, scores)
    count = int(spec["top_k"])
    kept = _groups(spec, ranked)
    order = np.argsort(kept if spec.get("choice") == "lowest" else -kept, axis=-1, kind="stable")
    first = int(spec.get("choice_from", 0))
    order = order[:, first : first + count]
    if ranks := int(spec.get("choice_ranks") or 0):
        order = _of_each_rank(spec, ranked, ranks, count)
    chosen = np.take_along_axis(source, order, axis=-1)
    if spec.get("choice") == "numbered":
        order = np.broadcast_to(np.arange(count), order.shape)
    if how := spec.get("normalised"):
        chosen = chosen / _whole(how, chosen, order, scores.shape[-1])
    chosen = _weighed(spec.get("routing"), chosen, np.take_along_axis(logits, order, axis=-1))
    return order, at(spec, "router.shares", chosen * np.float32(spec.get("routed_scale") or 1))


def _scores(spec: Spec, logits: Any) -> Any:
    """Scores of all experts; several functions one after another if a hyphen joins them."""
    found = logits
    for name in str(spec.get("score") or "softmax").split("-"):
        if name.startswith("local"):  # each of so many ranks has the softmax of its own experts
            parts = np.split(found, int(name[5:]), axis=-1)
            found = np.concatenate([_softmax(part) for part in parts], axis=-1)
        else:
            found = _softmax(found) if name == "softmax" else activate(name, found)
    return found


def _ranked(spec: Spec, weights: Weights, x: Any, logits: Any, scores: Any) -> tuple[Any, Any]:
    """The scores by which experts are chosen, and those by which they are weighted."""
    bias = weights.get("router.bias")
    if spec.get("bias_for") and bias is not None:
        plain = _scores(spec, logits - bias)
        return (scores, plain) if spec["bias_for"] == "choice" else (plain, scores)
    bias = weights.get("router.correction")
    if bias is None:
        return scores, scores
    ranked = scores + bias * np.float32(spec.get("correction_scale", 1))
    if spec.get("correction_for") == "weights":
        return scores, ranked
    return ranked, ranked if spec.get("correction_for") == "both" else scores


def _whole(how: Any, chosen: Any, order: Any, count: int) -> Any:
    """The divisor of the shares of the chosen experts; with ``ranks-N``, the sum of the shares on
    the same of N ranks."""
    if str(how).startswith("ranks-"):
        rank = order * int(str(how)[6:]) // count
        alike = rank[:, :, None] == rank[:, None]
        return (alike * chosen[:, None]).sum(axis=-1) + 1e-20
    if how == "largest":
        return chosen.max(axis=-1, keepdims=True)
    if how == "root":
        return np.sqrt((chosen * chosen).sum(axis=-1, keepdims=True))
    return chosen.sum(axis=-1, keepdims=True) + 1e-20


def _weighed(how: Any, chosen: Any, logits: Any) -> Any:
    if how == "uniform":
        return np.full_like(chosen, 1 / chosen.shape[-1])
    if how == "ones":
        return np.ones_like(chosen)
    if how == "logits":
        return logits
    if how == "softmax":
        return _softmax(chosen)
    if how == "squared":
        return chosen * chosen
    if how == "root":
        return np.sqrt(np.abs(chosen))
    if how == "sigmoid":
        return activate("sigmoid", logits)
    return chosen[:, ::-1] if how == "reversed" else chosen


def _of_each_rank(spec: Spec, ranked: Any, ranks: int, count: int) -> Any:
    """Choose among the experts of each rank alone: as many as in all, or the rank's share of
    them."""
    each = count if spec.get("choice_of") == "all" else count // ranks
    size = ranked.shape[-1] // ranks
    if not each or ranked.shape[-1] % ranks or each > size:
        raise ValueError("there are no such ranks")
    best = np.argsort(-ranked.reshape(len(ranked), ranks, size), axis=-1, kind="stable")
    found = best[:, :, :each] + np.arange(ranks)[:, None] * size
    return found.reshape(len(ranked), -1)


def _groups(spec: Spec, ranked: Any) -> Any:
    """Experts of groups that are not chosen get the lowest rank."""
    groups, kept = int(spec.get("groups") or 1), int(spec.get("groups_kept") or 1)
    if groups <= 1 or kept >= groups:
        return ranked
    parts = ranked.reshape(len(ranked), groups, -1)
    best = np.sort(parts, axis=-1)[:, :, -2:].sum(axis=-1)
    lowest = np.argsort(-best, axis=-1, kind="stable")[:, kept:]
    parts = parts.copy()
    np.put_along_axis(parts, lowest[:, :, None], -np.inf, axis=1)
    return parts.reshape(ranked.shape)


def moe(spec: Spec, weights: Weights, given: Mapping[str, Any]) -> Any:
    """The experts of each row, weighted, and the shared one."""
    x, memory = given["x"], given.get("memory")
    rows = x.reshape(-1, x.shape[-1])
    if spec.get("experts_capacity") is not None:
        prompt = np.arange(x.shape[-2]) < int(spec.get("decode_from") or x.shape[-2])
        spec = {**spec, "prompt_rows": np.broadcast_to(prompt, x.shape[:-1]).ravel()}
    found = np.zeros_like(rows)
    inside = _input(spec, "experts", rows)
    memory = memory if inside is rows else None
    for expert, row, share in routed(spec, weights, rows):
        if how := spec.get("weigh_input"):
            made = _expert(spec, weights, expert, inside[row] * share)
            found[row] += made * share if how == "too" else made
        else:
            made = expert_output(spec, weights, expert, inside, row, memory) * share
            found[row] += stored(made, spec.get("weighted_format"))
    if (order := spec.get("routed_order")) is not None:
        found = found[order]
    found = at(spec, "routed", found)
    if "shared.down.weight" in weights and not spec.get("no_shared"):
        given = _input(spec, "shared", rows)
        more = _shared(spec, weights, given, rows) * np.float32(spec.get("shared_scale", 1))
        found = found + at(spec, "shared", more)
    if (of := spec.get("shared_gate_of")) is not None:  # the gate multiplies something else
        found = _gated_otherwise(str(of), spec, weights, rows, found)
    return found.reshape(x.shape)


def _input(spec: Spec, part: str, rows: Any) -> Any:
    """The input of a part, if it is not the input of the module."""
    other = (spec.get("part_inputs") or {}).get(part)
    return rows if other is None else other.reshape(rows.shape)


def routed(spec: Spec, weights: Weights, rows: Any) -> Iterator[tuple[int, Any, Any]]:
    """Yield the number, the rows and their weights for each expert that exists and is used."""
    order, shares = route(spec, weights, rows)
    kept = spec.get("experts_kept")
    if added := spec.get("experts_added"):  # of the chosen ones
        order, shares = _some(spec, order, shares, int(added))
    if (most := spec.get("experts_capacity")) is not None:
        shares = shares * _served(spec, order, len(weights["experts.down"]), float(most))
    for expert in range(len(weights["experts.down"])):
        row, place = np.nonzero(order == expert)
        if len(row) and (kept is None or expert in kept):
            yield expert, row, shares[row, place, None]


def _served(spec: Spec, order: Any, count: int, times: float) -> Any:
    """Mark the chosen experts that have room for a token of the prompt: each accepts ``times`` an
    equal share of all choices, in the order of tokens or of places."""
    prompt = spec["prompt_rows"]
    share = times * order[prompt].size / count
    most = math.floor(share) if spec.get("capacity_is") == "floor" else math.ceil(share)
    found = np.ones(order.shape, bool)
    by_place = spec.get("capacity_by") == "place"
    chosen = order[prompt].T if by_place else order[prompt]
    marks = chosen.ravel()[:, None] == np.arange(count)
    place = (np.cumsum(marks, axis=0) * marks).sum(axis=-1).reshape(chosen.shape)
    found[prompt] = (place.T if by_place else place) <= most
    return found


def _some(spec: Spec, order: Any, shares: Any, count: int) -> tuple[Any, Any]:
    """Only so many of the chosen experts: the best, or the first or last by their numbers."""
    by = str(spec.get("experts_added_by") or "best")
    if by in ("first", "last"):
        turned = np.argsort(order if by == "first" else -order, axis=1, kind="stable")
        order, shares = (np.take_along_axis(each, turned, axis=1) for each in (order, shares))
    elif by == "worst":
        order, shares = order[:, ::-1], shares[:, ::-1]
    return order[:, :count], shares[:, :count]


def expert_output(
    spec: Spec, weights: Weights, expert: int, rows: Any, row: Any, memory: Remembered | None
) -> Any:
    """Compute the output of an expert for some rows. Usually these rows depend on the router
    alone."""
    if memory is None or spec.get("edit"):
        return _expert(spec, weights, expert, rows[row])
    made = tuple(values for name, values in sorted(weights.items()) if name.startswith("experts."))
    how = (expert, row.tobytes(), *(repr(spec.get(key)) for key in _GLU))
    return memory.get(made, how, lambda: _expert(spec, weights, expert, rows[row]))


def _expert(spec: Spec, weights: Weights, expert: int, rows: Any) -> Any:
    made = stored(expert_inner(spec, weights, expert, rows), spec.get("product_format"))
    made = made @ weights["experts.down"][expert].T
    bias = weights.get("experts.down_bias")
    made = made if bias is None else made + bias[expert]
    return at(spec, "expert", stored(made, spec.get("expert_format")))


def expert_inner(spec: Spec, weights: Weights, expert: int, rows: Any) -> Any:
    """The input of the output projection of an expert."""
    gate, up = (rows @ weights[f"experts.{part}"][expert].T for part in ("gate", "up"))
    if "experts.gate_bias" in weights:
        gate = gate + weights["experts.gate_bias"][expert]
        up = up + weights["experts.up_bias"][expert]
    return _glu(spec, gate, up)


def _shared(spec: Spec, weights: Weights, rows: Any, plain: Any) -> Any:
    gate, up = linear(weights, "shared.gate", rows), linear(weights, "shared.up", rows)
    made = linear(weights, "shared.down", _glu(spec, gate, up))
    if "shared_gate.weight" in weights and spec.get("shared_gate") != "one":
        gate = linear(weights, "shared_gate", _input(spec, "shared_gate", plain))
        made = made * _gated(spec.get("shared_gate", "sigmoid"), gate)
    return made


def _gated_otherwise(of: str, spec: Spec, weights: Weights, rows: Any, routed: Any) -> Any:
    """The sum of routed experts and the shared one, if the gate of the shared one is also, or
    only, that of the routed ones."""
    if "shared_gate.weight" not in weights:
        raise ValueError("there is no gate")
    gate = activate("sigmoid", linear(weights, "shared_gate", rows))
    plain = _shared({**spec, "shared_gate": "one"}, weights, rows, rows)
    own = routed - plain * gate
    return own * gate + (plain * gate if of == "sum" else plain)


def _gated(how: str, gate: Any) -> Any:
    more = {"softplus": lambda: np.logaddexp(0, gate), "tanh": lambda: np.tanh(gate),
            "exp": lambda: np.exp(gate),
            "twice": lambda: activate("sigmoid", gate) ** 2}  # fmt: skip
    return more[how]() if how in more else activate(how, gate)


def _softmax(x: Any) -> Any:
    powers = np.exp(x - x.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)
