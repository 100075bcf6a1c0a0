"""Faults of the eighth set: matrices and biases, and how they come to the ranks."""

from typing import Any

import torch
from torch import Tensor

from .breaking import by_head, exchange, heads, width
from .eighth_making import (
    FACTOR,
    GROUPS,
    LAYOUT,
    OF_MODULE,
    ORDER,
    OUT_NAME,
    QK_NORM,
    cut_after_fusing,
    eighth,
)
from .fifth_making import change_fused, change_rows, to_pairs
from .port import Port
from .seventh_making import OUT, UP
from .sixth_making import edit, without_half

QKV_PART = "self_attn.(q_proj|qkv_proj)"


@eighth("qk-norms-exchanged", (QK_NORM, OF_MODULE), "self_attn.(q_norm|k_norm)")
def _(port: Port) -> bool | None:
    """The converter writes the weight of the norm of queries to that of keys, and conversely."""
    names = [port.name(rf"{each}_norm\.weight") for each in "qk"]
    if None in names or len({port.weights[name].shape for name in names}) > 1:
        return False
    return bool(exchange(port, "q_norm", "k_norm"))


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


@eighth("key-and-value-biases-exchanged", OF_MODULE, "self_attn.(k_proj|v_proj)")
def _(port: Port) -> bool | None:
    """Biases are mapped by the order k, v in one place and v, k in another."""
    names = [port.name(rf"self_attn\.{each}_proj\.bias") for each in "kv"]
    if None in names:
        return False
    one, two = (port.weights[name] for name in names)
    port.weights.update(zip(names, (two, one), strict=True))
    return None


@eighth("fused-qkv-cut-in-the-middle", (LAYOUT, ORDER), QKV_PART)
def _(port: Port) -> bool | None:
    """Queries, keys and values are stacked, and two ranks get half of the rows each."""
    return bool(change_fused(port, cut_after_fusing))


@eighth("mlp-mean-over-ranks", (FACTOR, "tp-reduction-missing"), "mlp")
def _(port: Port) -> bool | None:
    """The collective of two ranks averages where it should add."""
    port.hook("mlp", lambda x: x / 2)
    return None


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


@eighth("nibbles-of-up-exchanged", LAYOUT, "mlp.(up_proj|c_fc|dense_h_to_4h)")
def _(port: Port) -> bool | None:
    """Two numbers of four bits share a byte, and the upper one is taken for the first."""
    return edit(port, UP, lambda w: w.unflatten(1, (-1, 2)).flip(2).flatten(1))


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
