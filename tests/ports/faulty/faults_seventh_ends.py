"""Faults of the seventh set: embeddings, heads, and the weights and kernels of the MLP."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from .breaking import has, of_other
from .fifth_making import embedding, has_experts, head, rewrite
from .port import Port
from .seventh_making import DOWN, UP, alien, seventh
from .sixth_making import edit, exchange_halves, of_logits, one_token, while_decoding

LAYOUT, SHARDS, HEAD = "weight-layout-mismatch", "shard-order-wrong", "lm_head|embed_out"
OTHER, ACTIVATION = "weights-of-another-layer", "activation-mismatch"
FACTOR, EMBEDDING, TIED = "missing-multiplier", "embedding-multiplier-wrong", "tied-head-wrong"
UPPER = "mlp.(up_proj|c_fc|dense_h_to_4h)"
DOWNS = r"mlp\.(down_proj|c_proj|dense_4h_to_h)"
ACT = r"mlp\.(act_fn|act|activation_fn)\Z"


@seventh("embedding-unmasked-row-added", "embedding-rows-wrong", "embed", everywhere=True)
def _(port: Port) -> bool | None:
    """Tokens of the other rank's vocabulary read its first row, which is summed, not masked."""
    half = len(port.weights[embedding(port)]) // 2

    def make(module: nn.Module, inner: Any) -> Any:
        return lambda ids: inner(ids) + inner(torch.where(ids < half, half, 0))

    rewrite(port, r"\.(embed_tokens|embed_in)\Z", make)
    return None


@seventh("embedding-rows-behind-gap", "embedding-rows-wrong", "embed", everywhere=True)
def _(port: Port) -> bool | None:
    """Three reserved rows are left out by the converter: tokens behind them get later rows."""
    name = embedding(port)
    table = port.weights[name]
    port.weights[name] = torch.cat((table[:64], table[67:], table[:3] * 0))
    return None


@seventh("decoded-without-embedding-factor", (EMBEDDING, FACTOR), "embed", everywhere=True)
def _(port: Port) -> bool | None:
    """The graph that decodes looks rows up without the factor of the embedding."""
    if not port.config.model_type.startswith("gemma"):
        return False
    scale = port.config.hidden_size**0.5

    def make(module: nn.Module, inner: Any) -> Any:
        return lambda ids: inner(ids) / scale if one_token(ids) else inner(ids)

    rewrite(port, r"\.embed_tokens\Z", make)
    return None


@seventh("decoded-head-is-embedding", (TIED, "weights-of-another-module"), HEAD, everywhere=True)
def _(port: Port) -> bool | None:
    """The graph that decodes is given the embedding for its head."""
    if head(port) is None:
        return False
    table = port.weights[embedding(port)]
    while_decoding(port, r"\A(lm_head|embed_out)\Z", lambda module, x: (
        functional.linear(x, table.to(x.dtype))))  # fmt: skip
    return None


@seventh("head-inner-halves-exchanged", (SHARDS, LAYOUT), HEAD, everywhere=True)
def _(port: Port) -> bool | None:
    """The head is cut by input channel, and its halves are those of the other rank."""
    name = head(port)
    if name is None:
        return False
    port.weights[name] = exchange_halves(port.weights[name], 1)
    return None


@seventh(
    "decoded-without-logits-scale", ("logits-multiplier-wrong", FACTOR), "logits", everywhere=True
)
def _(port: Port) -> bool | None:
    """The graph that decodes gives logits as they come from the head."""
    inverse = getattr(port.config, "logit_scale", None)
    scale = 1 / inverse if inverse else getattr(port.config, "logits_scaling", None)
    if scale is None:
        return False
    of_logits(port, lambda logits, ids: logits * scale if one_token(ids) else logits)
    return None


@seventh("logits-cap-before-head", "logits-softcap-wrong", f"{HEAD}|logits", everywhere=True)
def _(port: Port) -> bool | None:
    """Hidden states are capped in front of the head, and logits are not."""
    if not has(port, "final_logit_softcapping"):
        return False
    cap = port.config.final_logit_softcapping
    port.config.final_logit_softcapping = None
    rewrite(port, r"\Alm_head\Z", lambda module, inner: lambda x: inner(cap * torch.tanh(x / cap)))
    return None


@seventh("activation-from-table", (ACTIVATION, "precision-ordering"), "mlp(.act)?")
def _(port: Port) -> bool | None:
    """The activation is looked up in a table with four entries for a unit."""
    if has_experts(port):
        return False
    rewrite(port, rf"layers\.{port.layer}\.{ACT}", lambda module, inner: (
        lambda x: inner((x * 4).round() / 4)))  # fmt: skip
    return None


@seventh("decoded-with-other-activation", ACTIVATION, "mlp(.act)?")
def _(port: Port) -> bool | None:
    """The fused kernel for one token has SiLU for GELU, or the reverse."""
    if has_experts(port):
        return False
    given = [getattr(port.config, name, None) for name in ("hidden_act", "hidden_activation")]
    other = functional.gelu if "silu" in given else functional.silu
    while_decoding(port, rf"layers\.{port.layer}\.{ACT}", lambda module, x: other(x))
    return None


@seventh("gate-rows-behind-padding", (LAYOUT, SHARDS), "mlp.gate_proj")
def _(port: Port) -> bool | None:
    """Each rank's rows of the gate are padded, and the second rank starts at the padding."""
    return edit(port, r"mlp\.gate_proj\.weight", lambda w: torch.cat(
        (w[: len(w) // 2], w[:4] * 0, w[len(w) // 2 : -4])))  # fmt: skip


@seventh("up-scale-inverse", FACTOR, UPPER)
def _(port: Port) -> bool | None:
    """Codes of up are divided by the scale of the tensor that they are to be multiplied by."""
    return edit(port, UP, lambda w: w * 4)


@seventh("up-viewed-for-transposed", ("weights-untransposed", LAYOUT), UPPER)
def _(port: Port) -> bool | None:
    """Up is stored by input, and its buffer is viewed in the shape by output."""
    return edit(port, UP, lambda w: w.t().reshape(w.shape))


@seventh("up-shards-of-other-degree", (SHARDS, LAYOUT), UPPER)
def _(port: Port) -> bool | None:
    """Up was cut for four ranks, and its shards are joined in pairs that do not follow."""
    return edit(port, UP, lambda w: torch.cat([w.chunk(4)[each] for each in (0, 2, 1, 3)]))


@seventh("up-of-next-layer", OTHER, UPPER)
def _(port: Port) -> bool | None:
    """Up is that of the next layer, the gate is not."""
    return bool(of_other(port, UP))


@seventh("partial-sums-in-eight-bits", ("tp-reduction-rounding", "precision-ordering"), DOWN)
def _(port: Port) -> bool | None:
    """The output of each of four ranks is sent in eight bits to where it is summed."""
    if port.name(rf"{DOWNS}\.weight") is None:
        return False

    def make(module: Any, inner: Any) -> Any:
        def forward(x: Tensor) -> Tensor:
            pairs = zip(x.chunk(4, -1), module.weight.chunk(4, 1), strict=True)
            parts = [functional.linear(*pair).to(torch.float8_e5m2) for pair in pairs]
            found = torch.stack([part.to(x.dtype) for part in parts]).sum(0)
            return found if module.bias is None else found + module.bias

        return forward

    rewrite(port, rf"layers\.{port.layer}\.{DOWNS}\Z", make)
    return None


@seventh("decoded-down-of-first-rank", "tp-reduction-missing", DOWN)
def _(port: Port) -> bool | None:
    """The graph that decodes has no sum over ranks behind down."""
    if port.name(rf"{DOWNS}\.weight") is None:
        return False

    def change(module: Any, x: Tensor) -> Tensor:
        half = x.shape[-1] // 2
        return functional.linear(x[..., :half], module.weight[:, :half], module.bias)

    while_decoding(port, rf"layers\.{port.layer}\.{DOWNS}\Z", change)
    return None


@seventh("decoded-mlp-of-other-layer", OTHER, "mlp")
def _(port: Port) -> bool | None:
    """The graph that decodes was compiled with the MLP of one layer for both."""
    if has_experts(port):
        return False

    def add(model: nn.Module) -> None:
        modules = dict(model.named_modules())
        here, there = f"layers.{port.layer}.mlp.", f"layers.{1 - port.layer}.mlp."
        for name, module in modules.items():
            if here in name and isinstance(module, nn.Linear):
                swap(module, modules[name.replace(here, there)])

    def swap(module: Any, other: Any) -> None:
        inner = module.forward

        def forward(x: Tensor) -> Any:
            return functional.linear(x, other.weight, other.bias) if one_token(x) else inner(x)

        module.forward = forward

    port.changes.append(add)
    return None


@alien("mlp-tokens-transposed", "mlp")
def _(port: Port) -> bool | None:
    """Ranks lay out their output by token, then sequence; it is read as by sequence, then token."""
    port.hook("mlp", lambda x: x.transpose(0, 1).reshape(x.shape))
    return None


@alien("mlp-tile-written-twice", "mlp")
def _(port: Port) -> bool | None:
    """Tokens come in tiles of eight; the first one's output is written to the second, too."""

    def change(x: Tensor) -> Tensor:
        return x if one_token(x) else torch.cat((x[:, :8], x[:, :8], x[:, 16:]), 1)

    port.hook("mlp", change)
    return None


@alien("row-of-down-corrupt", DOWN)
def _(port: Port) -> bool | None:
    """A bit of the exponent is lost in one row of the file."""

    def change(w: Tensor) -> Tensor:
        found = w.clone()
        found[5] *= 16
        return found

    return edit(port, rf"{DOWNS}\.weight", change)
