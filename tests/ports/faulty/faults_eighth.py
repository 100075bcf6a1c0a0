"""Faults of the eighth set: matrices and biases, and how they come to the ranks."""

from typing import Any

import torch
from torch import Tensor

from .breaking import by_head, heads, width
from .eighth_making import (
    DOWN_NAME,
    FACTOR,
    GROUPS,
    LAYOUT,
    OF_MODULE,
    ORDER,
    OUT_NAME,
    alien,
    cut_after_fusing,
    eighth,
)
from .fifth_making import change_fused, change_rows, to_pairs
from .port import Port
from .seventh_making import DOWN, OUT
from .sixth_making import edit, exchange_halves, without_half

QKV_PART = "self_attn.(q_proj|qkv_proj)"


@eighth("gate-and-up-fused-then-cut", (LAYOUT, ORDER), "mlp.(gate_proj|gate_up_proj)")
def _(port: Port) -> bool | None:
    """Gate and up are put into one matrix, which is then cut for two ranks in the middle; each
    takes its rows for half gate and half up."""
    found = False
    for kind in ("weight", "bias"):
        whole = port.name(rf"mlp\.gate_up_proj\.{kind}")
        names = [port.name(rf"mlp\.{each}_proj\.{kind}") for each in ("gate", "up")]
        if whole:
            port.weights[whole] = torch.cat(cut_after_fusing(*port.weights[whole].chunk(2)))
        elif None not in names:
            parts = cut_after_fusing(*(port.weights[name] for name in names))
            port.weights.update(zip(names, parts, strict=True))
        found = found or bool(whole) or None not in names
    return found


@eighth("output-matrix-kept-as-conv1d", "weights-untransposed", OUT)
def _(port: Port) -> bool | None:
    """The checkpoint keeps the square output matrix by inputs, and it is loaded as it is."""
    return edit(port, rf"{OUT_NAME}\.weight", lambda w: w.T)


@eighth("fused-qkv-cut-in-the-middle", (LAYOUT, ORDER), QKV_PART)
def _(port: Port) -> bool | None:
    """Queries, keys and values are stacked, and two ranks get half of the rows each."""
    return bool(change_fused(port, cut_after_fusing))


@eighth("output-columns-without-padded-heads", (LAYOUT, "head-order-wrong"), OUT)
def _(port: Port) -> bool | None:
    """Each of two ranks pads its heads by one; the output matrix has its padding at the end."""
    count, size = heads(port.config)[0], width(port.config)

    def moved(w: Tensor) -> Tensor:
        first, last = w.split((count // 2 * size, count // 2 * size), 1)
        return torch.cat((first, last[:, size:], last[:, :size] * 0), 1)

    return edit(port, rf"{OUT_NAME}\.weight", moved)


@eighth("output-shard-of-other-layer", "weights-of-another-layer", OUT)
def _(port: Port) -> bool | None:
    """The second rank loads its columns of the output matrix from the file of another layer."""
    name = port.name(rf"{OUT_NAME}\.weight")
    if name is None:
        return False
    other = port.weights[name.replace(f"layers.{port.layer}.", f"layers.{1 - port.layer}.")]
    half = other.shape[1] // 2
    port.weights[name] = torch.cat((port.weights[name][:, :half], other[:, half:]), 1)
    return None


@eighth("output-bias-cut-as-its-input", "bias-missing", OUT)
def _(port: Port) -> bool | None:
    """The bias of a row-parallel layer is cut as its columns are; the rest of it is zero."""
    return edit(port, rf"{OUT_NAME}\.bias", lambda b: without_half(b, 0))


@eighth("queries-permuted-keys-not", ("rope-layout-wrong", LAYOUT), "self_attn.q_proj")
def _(port: Port) -> bool | None:
    """The permutation for the other form of the rotation is done on queries only."""
    count = heads(port.config)[0]
    return bool(change_rows(port, "q_proj", lambda w: to_pairs(w, count)))


@eighth("query-heads-by-place-in-group", ("head-order-wrong", LAYOUT, GROUPS), "self_attn.q_proj")
def _(port: Port) -> bool | None:
    """Queries lie by their place in a group and then by group; the port reads it the other way."""
    count, groups = heads(port.config)
    if groups in (1, count):
        return False

    def order(number: int) -> Any:
        return torch.arange(number).unflatten(0, (groups, -1)).T.flatten()

    def change(w: Tensor) -> Any:
        return by_head(w, width(port.config), order)

    return bool(change_rows(port, "q_proj", change))


@eighth(
    "value-heads-of-ranks-exchanged",
    ("head-order-wrong", LAYOUT, ORDER),
    "self_attn.(v_proj|qkv_proj)",
)
def _(port: Port) -> bool | None:
    """The second rank holds the first heads of values."""
    return bool(change_fused(port, lambda q, k, v: (q, k, exchange_halves(v))))


@eighth("mlp-summed-over-every-second-rank", "tp-reduction-missing", DOWN)
def _(port: Port) -> bool | None:
    """The process group of the sum has every second of four ranks."""

    def half(w: Tensor) -> Tensor:
        parts = w.chunk(4, 1)
        return torch.cat([part * (1 - at % 2) for at, part in enumerate(parts)], 1)

    return edit(port, rf"{DOWN_NAME}\.weight", half)


@eighth("attention-summed-twice", FACTOR, "self_attn")
def _(port: Port) -> bool | None:
    """The row-parallel layer sums over two ranks, and the block sums again what is the same."""
    port.hook("(self_attn|attention)", lambda x: x * 2)
    return None


@eighth("kv-heads-averaged-into-one", GROUPS, "self_attn.(k_proj|v_proj)")
def _(port: Port) -> bool | None:
    """There are fewer heads of keys and values than ranks, and the converter averages them, as
    checkpoints are made ready for one head, in place of repeating them."""
    groups = heads(port.config)[1]
    if groups == 1:
        return False

    def mean(w: Tensor) -> Any:
        each = w.unflatten(0, (groups, -1))
        return each.mean(0, keepdim=True).expand(each.shape).flatten(0, 1)

    return bool(change_rows(port, "k_proj", mean)) and bool(change_rows(port, "v_proj", mean))


@eighth(
    "biases-of-qk-left-in-the-other-form",
    ("rope-layout-wrong", LAYOUT),
    "self_attn.(q_proj|k_proj)",
)
def _(port: Port) -> bool | None:
    """Matrices of queries and keys are permuted for the form of the rotation; their biases are
    not."""
    found = False
    for part, count in zip("qk", heads(port.config), strict=True):
        name = port.name(rf"self_attn\.{part}_proj\.bias")
        if name is not None:
            port.weights[name] = to_pairs(port.weights[name], count).contiguous()
            found = True
    return found


@alien("norm-weight-folded-and-applied", "self_attn.(q_proj|k_proj|v_proj)")
def _(port: Port) -> bool | None:
    """The converter multiplies the columns of queries, keys and values by the weight of the norm
    before them, and the norm applies it, too."""
    name = port.name(r"input_layernorm\.weight")
    if name is None:
        return False
    weight = port.weights[name] + port.config.model_type.startswith("gemma")
    done = [edit(port, rf"self_attn\.{part}_proj\.weight", lambda w: w * weight) for part in "qkv"]
    return all(done)


@eighth("second-rank-takes-up-for-gate", (LAYOUT, OF_MODULE), "mlp.(gate_proj|gate_up_proj)")
def _(port: Port) -> bool | None:
    """The second rank's parts of gate and up are fused the other way round."""
    whole = port.name(r"mlp\.gate_up_proj\.weight")
    names = [port.name(rf"mlp\.{each}_proj\.weight") for each in ("gate", "up")]
    if whole is None and None in names:
        return False
    parts = port.weights[whole].chunk(2) if whole else [port.weights[name] for name in names]
    half = len(parts[0]) // 2
    mixed = [torch.cat((parts[at][:half], parts[1 - at][half:])) for at in (0, 1)]
    if whole:
        port.weights[whole] = torch.cat(mixed)
    else:
        port.weights.update(zip(names, mixed, strict=True))
    return None
