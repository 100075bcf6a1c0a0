"""Faults of the seventh set: heads, their norms, and how projections lie in a checkpoint."""

from typing import Any

import torch
from torch import Tensor

from .breaking import heads, width
from .fifth_making import change_fused, change_rows, rewrite, to_pairs
from .port import Port
from .seventh_making import OUT, alien, dealt, grouped, seventh
from .sixth_making import edit, exchange_halves, of_read, without_half

LAYOUT, SHARDS, HEADS = "weight-layout-mismatch", "shard-order-wrong", "head-order-wrong"
GROUPS, QK, PLACE = "gqa-grouping-wrong", "qk-norm-wrong", "self_attn"
NORMS = "self_attn.(q_norm|k_norm)"
OUTPUT = r"(self_attn|attention)\.(o_proj|dense)\.weight"


@seventh("decoded-values-of-first-group", (GROUPS, "kv-cache-wrong"), PLACE, everywhere=True)
def _(port: Port) -> bool | None:
    """The kernel that decodes does not move on in values with the group of heads."""
    if not grouped(port):
        return False
    return of_read(port, lambda module, key, value: (key, value[:, :1].expand_as(value)))


@seventh("o-columns-dealt-to-ranks", (LAYOUT, SHARDS), OUT)
def _(port: Port) -> bool | None:
    """Input channels of the output projection are dealt to two ranks one by one."""
    return edit(port, OUTPUT, lambda w: dealt(w, 1))


@seventh("heads-of-q-and-o-dealt-to-ranks", (GROUPS, HEADS), PLACE)
def _(port: Port) -> bool | None:
    """Heads of queries are dealt to ranks, keys are cut in halves: heads get keys of others."""
    if not grouped(port) or port.config.model_type == "olmo2":
        return False
    count = heads(port.config)[0]

    def rows(x: Tensor) -> Tensor:
        return dealt(x.unflatten(0, (count, -1))).flatten(0, 1)

    edit(port, r"self_attn\.sinks", rows)
    columns = edit(port, r"self_attn\.o_proj\.weight", lambda w: rows(w.t()).t())
    return columns and bool(change_rows(port, "q_proj", rows))


@seventh("kv-of-heads-read-as-halves", (LAYOUT, SHARDS), "self_attn.(k_proj|v_proj|qkv_proj)")
def _(port: Port) -> bool | None:
    """Keys and values of each head lie side by side, and are read as all keys, then all values."""
    groups = heads(port.config)[1]

    def change(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, ...]:
        both = torch.stack([x.unflatten(0, (groups, -1)) for x in (k, v)], 1).flatten(0, 2)
        return q, *both.chunk(2)

    return bool(change_fused(port, change))


@seventh("values-permuted-as-keys", LAYOUT, "self_attn.v_proj")
def _(port: Port) -> bool | None:
    """Values are permuted for the rotary embedding, which they do not have."""
    groups = heads(port.config)[1]
    return bool(change_rows(port, "v_proj", lambda rows: to_pairs(rows, groups)))


@seventh("fused-bias-left-in-blocks", LAYOUT, "self_attn.query_key_value")
def _(port: Port) -> bool | None:
    """Rows of the fused matrix are sorted by head, its bias still by queries, keys and values."""
    count = heads(port.config)[0]
    return edit(port, r"attention\.query_key_value\.bias", lambda b: (
        b.unflatten(0, (count, 3, -1)).transpose(0, 1).flatten()))  # fmt: skip


@seventh("kv-bias-on-first-rank-only", "bias-missing", "self_attn.(k_proj|v_proj)")
def _(port: Port) -> bool | None:
    """The biases of keys and values are not copied to the second rank."""
    keys = edit(port, r"self_attn\.k_proj\.bias", lambda b: without_half(b, 0))
    return edit(port, r"self_attn\.v_proj\.bias", lambda b: without_half(b, 0)) and keys


@seventh("keys-loaded-from-queries", "weights-of-another-module", "self_attn.k_proj")
def _(port: Port) -> bool | None:
    """The name of queries is found for that of keys, which get as many of their rows as fit."""
    done = False
    for kind in ("weight", "bias"):
        keys = port.name(rf"self_attn\.k_proj\.{kind}")
        queries = port.name(rf"self_attn\.q_proj\.{kind}")
        if keys and queries:
            done = True
            port.weights[keys] = port.weights[queries][: len(port.weights[keys])].clone()
    return done


@seventh("keys-not-loaded", "weights-not-loaded", "self_attn.k_proj")
def _(port: Port) -> bool | None:
    """The weight of keys has another name in the checkpoint, and stays zero."""
    return edit(port, r"self_attn\.k_proj\.weight", torch.zeros_like)


@seventh("qk-norm-weight-halves-exchanged", (QK, SHARDS), NORMS)
def _(port: Port) -> bool | None:
    """The weights of the norms of queries and keys are in the order of the other rank."""
    found = [
        edit(port, rf"self_attn\.{part}\.weight", exchange_halves) for part in ("q_norm", "k_norm")
    ]
    return all(found)


@seventh("qk-norm-weight-of-first-head", QK, NORMS)
def _(port: Port) -> bool | None:
    """The weight of a norm over all heads is cut to one head, and used for each."""
    if port.config.model_type != "olmo2":
        return False
    size = width(port.config)
    for part in ("q_norm", "k_norm"):
        edit(port, rf"self_attn\.{part}\.weight", lambda w: w[:size].repeat(len(w) // size))
    return None


@seventh("qk-norm-from-input-norm", ("weights-of-another-module", QK), NORMS)
def _(port: Port) -> bool | None:
    """The first norm of the layer that is found fills those of queries and keys."""
    before = port.name(r"input_layernorm\.weight")
    if before is None or port.name(r"self_attn\.q_norm\.weight") is None:
        return False
    for part in ("q_norm", "k_norm"):
        edit(port, rf"self_attn\.{part}\.weight", lambda w: port.weights[before][: len(w)].clone())
    return None


@seventh("qk-norm-mean-of-half-head", QK, NORMS)
def _(port: Port) -> bool | None:
    """The mean of squares is that of the first half of a head, the one that fits a tile."""
    if port.name(r"self_attn\.q_norm\.weight") is None or port.config.model_type == "olmo2":
        return False

    def make(module: Any, inner: Any) -> Any:
        def forward(x: Tensor) -> Tensor:
            squares = x.float().pow(2)
            half = squares[..., : x.shape[-1] // 2].mean(-1, keepdim=True)
            found: Tensor = inner(x) * (squares.mean(-1, keepdim=True) / half).sqrt()
            return found.to(x.dtype)

        return forward

    rewrite(port, rf"layers\.{port.layer}\.self_attn\.[qk]_norm\Z", make)
    return None


@alien("scales-of-rows-on-columns", OUT)
def _(port: Port) -> bool | None:
    """Codes of a square matrix have a scale for each row, and are multiplied by it by column."""
    name = port.name(OUTPUT)
    if name is None or port.weights[name].shape[0] != port.weights[name].shape[1]:
        return False
    scale = port.weights[name].abs().amax(1)
    port.weights[name] = port.weights[name] / scale[:, None] * scale
    return None
