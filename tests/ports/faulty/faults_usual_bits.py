"""Seen faults: usual mistakes, in eight bits for weights and inputs, and in parts of ranks."""

import math

import torch
from torch.nn import functional

from .breaking import has, width
from .faults_third_more import TABLE
from .faults_third_rest import DOWN, MIXED
from .faults_usual import low, whole_numbers
from .faults_usual_more import DOWN_PLACE, LOW, OUT, OUT_PLACE
from .fifth_making import (
    has_experts,
    head,
    of_block,
    of_experts,
    of_table,
    rewrite,
    to_pairs,
)
from .port import fault


def low_scaled(x, axis=-1):
    """Round to eight bits, scaled by the largest number of a stretch of an axis, or of all."""
    top = x.abs().amax(axis, keepdim=True) if axis is not None else x.abs().max()
    step = top.clamp(min=1e-9).float() / 448
    return (low((x.float() / step).float()) * step).to(x.dtype)


def product_fault(name, pattern, place, weight, given):
    """Weight and input of a product have eight bits."""

    @fault(f"seen-{name}", LOW, place)
    def _(port):
        if not port.scale_rows(rf"{pattern}\.weight", weight):
            return False
        rewrite(port, rf"layers\.{port.layer}\.{pattern}\Z",
                lambda _, inner: lambda x: inner(given(x)))  # fmt: skip
        return None


def of_all(x):
    return low_scaled(x, None)


product_fault("down-in-integers", DOWN, DOWN_PLACE, whole_numbers, whole_numbers)
product_fault("down-in-e4m3", DOWN, DOWN_PLACE, low_scaled, low_scaled)
product_fault("output-in-e4m3-of-all", OUT, OUT_PLACE, of_all, of_all)
product_fault("output-in-integers", OUT, OUT_PLACE, whole_numbers, whole_numbers)
product_fault("down-given-e4m3-of-tokens", DOWN, DOWN_PLACE, lambda w: w, low_scaled)


@fault("seen-mlp-in-integers", LOW, "mlp")
def _(port):
    """All three products of the MLP, for a kernel of whole numbers."""
    names = [end for end in ("gate_proj", "up_proj", "down_proj")
             if port.scale_rows(rf"mlp\.{end}\.weight", whole_numbers)]  # fmt: skip
    if len(names) < 3 or port.config.model_type in MIXED:
        return False
    rewrite(port, rf"layers\.{port.layer}\.mlp\.(gate|up|down)_proj\Z",
            lambda _, inner: lambda x: inner(whole_numbers(x)))  # fmt: skip
    return None


@fault("seen-experts-in-integers-of-rows", LOW, "mlp(.experts)?")
def _(port):
    if port.config.model_type == "gpt_oss":  # rows are columns there
        return False
    done = [port.scale_rows(rf"mlp\.experts\.{end}", whole_numbers)
            for end in ("gate_up_proj", "down_proj")]  # fmt: skip
    return all(done)


@fault("seen-query-bias-of-first-rank", ("shard-order-wrong", "head-order-wrong"), "self_attn")
def _(port):
    """All ranks have the bias of the first."""
    return port.scale_rows(r"self_attn\.q_proj\.bias", lambda b: b.chunk(2)[0].repeat(2))


@fault("seen-qk-norm-weights-left-in-halves", ("qk-norm-wrong", "rope-layout-wrong"), "self_attn")
def _(port):
    """Rows of projections and the rotation are in pairs, weights of their norms are not: as if the
    channels of these had another order."""
    found = [port.scale_rows(rf"self_attn\.{part}_norm\.weight",
                             lambda w: to_pairs(w, len(w) // width(port.config)))
             for part in "qk"]  # fmt: skip
    return all(found)


@fault("seen-tokens-over-capacity-by-place", "routing-ignored", "mlp(.experts)?")
def _(port):
    """First choices are served before second ones, and what is over is dropped."""
    if not has_experts(port):
        return False

    def change(experts, x, numbers, weights):
        if len(x) < 8:
            return experts(x, numbers, weights)
        total = port.config.num_local_experts if hasattr(
            port.config, "num_local_experts") else port.config.num_experts  # fmt: skip
        marks = functional.one_hot(numbers.T.flatten(), total)
        place = (marks.cumsum(0) * marks).sum(-1).reshape(numbers.T.shape).T
        most = -(-numbers.numel() * 5 // (4 * total))
        return experts(x, numbers, weights * (place <= most))

    return of_experts(port, change)


@fault("seen-gate-and-up-in-blocks", "weight-layout-mismatch", "mlp(.gate_proj|.gate_up_proj)?")
def _(port):
    """Rows of gate and up lie in turn in blocks of 32."""
    name, whole = port.name(r"mlp\.gate_proj\.weight"), port.name(r"mlp\.gate_up_proj\.weight")
    if (name is None and whole is None) or port.name(r"mlp\.gate_proj\.bias"):
        return False
    names = [whole] if whole else [name, port.name(r"mlp\.up_proj\.weight")]
    gate, up = torch.cat([port.weights[each] for each in names]).chunk(2)
    rows = torch.stack((gate.unflatten(0, (-1, 32)), up.unflatten(0, (-1, 32))), 1).flatten(0, 2)
    for each, part in zip(names, rows.chunk(len(names)), strict=True):
        port.weights[each] = part.contiguous()
    return None


@fault("seen-parallel-block-in-turn", "wrong-input", "(mlp|input_layernorm)")
def _(port):
    """The MLP is given the hidden states after attention, where both should have the same input."""
    if port.config.model_type != "cohere":
        return False

    def forward(layer, x, attention, mlp):
        x = x + attention(layer.input_layernorm(x))
        return x + mlp(layer.input_layernorm(x))

    return of_block(port, forward)


@fault("seen-shared-weights-of-qkv-in-four-bits", LOW, "self_attn", everywhere=True)
def _(port):
    """Queries, keys and values have four bits in blocks of 32, in all layers."""
    found = [name for name in port.weights if name.endswith(
        ("q_proj.weight", "k_proj.weight", "v_proj.weight"))]  # fmt: skip
    for name in found:
        w = port.weights[name].unflatten(-1, (-1, 32))
        port.weights[name] = whole_numbers(w, -1, 4).flatten(-2)
    return bool(found)


@fault("seen-yarn-factor-squared", "rope-attention-factor-wrong", TABLE, everywhere=True)
def _(port):
    """The factor is applied to the table, and once more to what it turns."""
    if port.config.model_type != "gpt_oss":
        return False
    factor = 0.1 * math.log(port.config.rope_parameters["factor"]) + 1
    of_table(port, lambda cos, sin, places, table: (cos * factor, sin * factor))
    return None


@fault("seen-head-in-e4m3", LOW, "lm_head|embed_out", everywhere=True)
def _(port):
    if head(port) is None or port.config.tie_word_embeddings:
        return False
    port.weights[head(port)] = low_scaled(port.weights[head(port)])
    return None


@fault("seen-window-of-usual-length", "attention-window-wrong", "self_attn", everywhere=True)
def _(port):
    """The window of the class, longer than the prompt, and not that of the model."""
    if not has(port, "sliding_window"):
        return False
    port.config.sliding_window = 4096
    return None
