"""Faults of the ninth set: matrices and biases, and how they come to the ranks."""

from typing import Any

import torch
from torch import Tensor

from .breaking import heads
from .fifth_making import change_fused, change_rows, quantised
from .ninth_making import FACTOR, LAYOUT, ORDER, OUT_NAME, alien, ninth
from .port import Port
from .seventh_making import OUT
from .sixth_making import edit, without_half

QKV_PART = "self_attn.(q_proj|k_proj|v_proj|qkv_proj|query_key_value)"
GATE_UP = "mlp.(gate_proj|gate_up_proj|up_proj)"
NORMAL = (-1.0, -0.6962, -0.5251, -0.3949, -0.2844, -0.1848, -0.0911, 0.0, 0.0796, 0.1609, 0.2461,
          0.3379, 0.4407, 0.5626, 0.7230, 1.0)  # fmt: skip
FLOATING = (0.0, 0.0052, 0.6667, 1.0, 0.3333, 0.5, 0.1667, 0.25)
"""The meanings of codes of four bits as quantiles of a normal distribution, and as small floating
numbers, in the order of their codes; a second half of the latter has minus signs."""


@ninth("values-of-second-shard-not-loaded", "weights-not-loaded", "self_attn.(v_proj|qkv_proj)")
def _(port: Port) -> bool | None:
    """The second file of the checkpoint is left out: half of the heads of values are zero."""
    return bool(change_fused(port, lambda q, k, v: (q, k, without_half(v, 0))))


@ninth("output-matrix-without-its-scale", FACTOR, OUT, report="Lightricks/LTX-2/pull/172")
def _(port: Port) -> bool | None:
    """Codes of eight bits are cast to BF16, and the scale of the matrix is not applied."""
    return edit(port, rf"{OUT_NAME}\.weight", lambda w: w * 448 / w.abs().max())


@ninth("gate-and-up-alternate-in-blocks", (LAYOUT, ORDER), GATE_UP)
def _(port: Port) -> bool | None:
    """Rows of gate and up lie in turn, in blocks of 16 as the fused kernel likes them, and are
    read as all of the gate and then all of up."""
    found = False
    for kind in ("weight", "bias"):
        whole = port.name(rf"mlp\.gate_up_proj\.{kind}")
        names = [whole] if whole else [port.name(rf"mlp\.{x}_proj\.{kind}") for x in ("gate", "up")]
        if None in names:
            continue
        gate, up = torch.cat([port.weights[name] for name in names]).chunk(2)
        rows = torch.stack((gate.unflatten(0, (-1, 16)), up.unflatten(0, (-1, 16))), 1)
        for name, part in zip(names, rows.flatten(0, 2).chunk(len(names)), strict=True):
            port.weights[name] = part.contiguous()
        found = True
    return found


@ninth("biases-of-qkv-added-twice", "bias-repeated", QKV_PART)
def _(port: Port) -> bool | None:
    """The projection adds its bias, and so does what is wrapped around it for adapters."""
    return all(edit(port, rf"self_attn\.{part}_proj\.bias", lambda b: b * 2) for part in "qkv")


@ninth("keys-cut-before-heads-are-repeated", "gqa-grouping-wrong", "self_attn.(k_proj|v_proj)",
       report="huggingface/transformers/pull/47811")  # fmt: skip
def _(port: Port) -> bool | None:
    """There are twice as many ranks as heads of keys and values. Heads are cut in two for them,
    and each half is repeated to the width of a head."""
    groups = heads(port.config)[1]

    def cut(w: Tensor) -> Any:
        whole = w.unflatten(0, (groups, 2, -1))
        return torch.cat((whole[:, :1], whole[:, :1]), 1).flatten(0, 2)

    return bool(change_rows(port, "k_proj", cut)) and bool(change_rows(port, "v_proj", cut))


def by_blocks(w: Tensor, size: int) -> Tensor:
    """Rows of blocks that share a scale."""
    found: Tensor = w.flatten().unflatten(0, (-1, size))
    return found


@alien("block-scales-rounded-up-to-powers", QKV_PART,
       report="huggingface/transformers/issues/47030")  # fmt: skip
def _(port: Port) -> bool | None:
    """Scales of blocks of 16 by 16 weights are rounded up to powers of two, and codes stay those
    of the scales as they were."""

    def change(w: Tensor) -> Any:
        tiles = w.unflatten(1, (-1, 16)).unflatten(0, (-1, 16))
        scale = tiles.abs().amax((1, 3), keepdim=True) / 448
        return (tiles * scale.log2().ceil().exp2() / scale).flatten(0, 1).flatten(1, 2)

    return bool(quantised(port, change))


@alien("codes-read-by-table-of-other-kind", QKV_PART)
def _(port: Port) -> bool | None:
    """Codes of four bits are quantiles of a normal distribution, and are looked up in the table of
    floating numbers of four bits."""
    right = torch.tensor(NORMAL)
    wrong = torch.tensor((*FLOATING, *(-each for each in FLOATING)))

    def change(w: Tensor) -> Any:
        blocks = by_blocks(w.float(), 64)
        scale = blocks.abs().amax(1, keepdim=True)
        codes = ((blocks / scale)[..., None] - right).abs().argmin(-1)
        return (wrong[codes] * scale).reshape(w.shape)

    return bool(quantised(port, change))
