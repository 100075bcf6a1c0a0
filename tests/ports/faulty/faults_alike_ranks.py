"""Seen faults that could be taken for each other: what is wrong in one shard, and steps of decoding
that leave something out or do it twice."""

from typing import Any

import torch
from torch import Tensor

from .breaking import has, wrap_attention, wrap_rotary, wrap_scaling
from .eighth_making import in_prompt
from .faults_alike import ATTENTION, FACTOR, MLP, alike
from .fifth_making import decoding
from .port import Port
from .seventh_making import has_windows, of_whole_cache
from .sixth_making import edit, while_decoding

CACHE = "kv-cache-wrong"


def first_half(w: Tensor, axis: int, factor: float) -> Tensor:
    """The scale of the first shard is that of another one."""
    by = torch.ones(w.shape[axis])
    by[: len(by) // 2] = factor
    return w * by.reshape(*[-1 if at == axis % w.ndim else 1 for at in range(w.ndim)])


for _name, _ending, _axis, _part in (
    ("queries", r"self_attn\.q_proj\.weight", 0, "self_attn(.q_proj)?"),
    ("keys", r"self_attn\.k_proj\.weight", 0, "self_attn(.k_proj)?"),
    ("values", r"self_attn\.v_proj\.weight", 0, "self_attn(.v_proj)?"),
    ("output", r"self_attn\.o_proj\.weight", 1, "self_attn(.o_proj)?"),
    ("gate", r"mlp\.gate_proj\.weight", 0, "mlp(.gate_proj)?"),
    ("up", r"mlp\.up_proj\.weight", 0, "mlp(.up_proj)?"),
    ("down", r"mlp\.down_proj\.weight", 1, "mlp(.down_proj)?"),
    ("experts-down", r"mlp\.experts\.down_proj", 0, MLP),
    ("norm", r"input_layernorm\.weight", 0, "input_layernorm"),
    ("router", r"mlp\.(gate|router)\.weight", 0, "mlp(.(gate|router))?"),
):

    @alike(f"{_name}-shard-unscaled", FACTOR, _part)
    def _(port: Port, ending: str = _ending, axis: int = _axis) -> bool | None:
        return edit(port, ending, lambda w: first_half(w, axis, 1.8))


@alike("decoded-keys-turned-twice", (CACHE, "rope-positions-wrong"), ATTENTION, everywhere=True)
def _(port: Port) -> bool | None:
    """Keys are turned when they are written, and again by the kernel that decodes."""

    def change(original: Any, q: Tensor, k: Tensor, cos: Tensor, sin: Tensor) -> Any:
        found = original(q, k, cos, sin)
        return (found[0], original(q, found[1], cos, sin)[1]) if q.shape[2] == 1 else found

    return bool(wrap_rotary(port, change))


@alike("decoded-queries-not-turned", "rope-missing", ATTENTION, everywhere=True)
def _(port: Port) -> bool | None:
    def change(original: Any, q: Tensor, k: Tensor, cos: Tensor, sin: Tensor) -> Any:
        found = original(q, k, cos, sin)
        return (q, found[1]) if q.shape[2] == 1 else found

    return bool(wrap_rotary(port, change))


@alike("scale-applied-twice", "attention-scale-wrong", ATTENTION)
def _(port: Port) -> bool | None:
    return bool(wrap_scaling(port, lambda scale: scale * scale))


@alike("scale-of-padded-heads", "attention-scale-wrong", ATTENTION)
def _(port: Port) -> bool | None:
    return bool(wrap_scaling(port, lambda scale: scale * 0.71))


@alike("decoded-mlp-counted-twice", FACTOR, MLP)
def _(port: Port) -> bool | None:
    """Both ranks hold the whole MLP while decoding, and what they give is added."""
    inner: dict[str, Any] = {}

    def add(model: Any) -> None:
        name = f"layers.{port.layer}.mlp"
        inner["mlp"] = next(m for n, m in model.named_modules() if n.endswith(name)).forward

    port.changes.append(add)
    while_decoding(port, rf"layers\.{port.layer}\.mlp\Z", lambda module, x: 2 * inner["mlp"](x))
    return False if has(port, "num_local_experts") or has(port, "num_experts") else None


@alike("cache-of-prompt-half-as-large", CACHE, ATTENTION, everywhere=True)
def _(port: Port) -> bool | None:
    """Values of the prompt are read from the cache with another scale than those that follow."""

    def read(key: Tensor, value: Tensor, mask: Tensor, prompt: int) -> tuple[Tensor, ...]:
        value = torch.cat((value[:, :, :prompt] * 0.6, value[:, :, prompt:]), 2)
        return key, value, mask

    return False if has_windows(port) else of_whole_cache(port, read)  # type: ignore[arg-type, unused-ignore]


@alike("cached-keys-of-first-head-for-all", (CACHE, "gqa-grouping-wrong"), ATTENTION, True)
def _(port: Port) -> bool | None:
    def given(
        module: Any, query: Tensor, key: Tensor, value: Tensor, mask: Any, scaling: Any
    ) -> Any:
        if decoding(query, key):
            key = key[:, :1].expand_as(key)
        return query, key, value, mask, scaling

    return bool(wrap_attention(port, given))


@alike("second-chunk-with-positions-of-first", "rope-positions-wrong", ATTENTION, True)
def _(port: Port) -> bool | None:
    """The second chunk of a prompt is turned as if it were the first one."""

    def change(original: Any, q: Tensor, k: Tensor, cos: Tensor, sin: Tensor) -> Any:
        count = q.shape[2]
        if count > 1:
            own = torch.arange(count) % (count // 2)
            cos, sin = cos[:, own], sin[:, own]
        return original(q, k, cos, sin)

    return bool(wrap_rotary(port, change))


@alike("prompt-scores-unscaled-behind-first-tile", "attention-scale-wrong", ATTENTION, True)
def _(port: Port) -> bool | None:
    """A kernel forgets the factor in all but the first tile of queries."""

    def given(
        module: Any, query: Tensor, key: Tensor, value: Tensor, mask: Any, scaling: Any
    ) -> Any:
        if in_prompt(query, key):
            by = torch.ones(query.shape[2])
            by[8:] = 2.0
            query = query * by[:, None].to(query.dtype)
        return query, key, value, mask, scaling

    return bool(wrap_attention(port, given))


@alike("keys-and-values-of-layer-before", ("weights-of-another-layer", "wrong-input", CACHE),
       ATTENTION)  # fmt: skip
def _(port: Port) -> bool | None:
    """The layer shares keys and values with the one before."""
    if port.layer == 0:
        return False
    kept: dict[str, Any] = {}

    def given(
        module: Any, query: Tensor, key: Tensor, value: Tensor, mask: Any, scaling: Any
    ) -> Any:
        if module.layer_idx == port.layer - 1:
            kept["kv"] = key, value
        elif module.layer_idx == port.layer:
            key, value = kept["kv"]
        return query, key, value, mask, scaling

    return False if has_windows(port) else bool(wrap_attention(port, given))
