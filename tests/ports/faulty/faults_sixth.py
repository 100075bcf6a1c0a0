"""Faults of the sixth set: rotary embeddings, and kernels that only decode."""

import math
from typing import Any

import torch
from torch import Tensor

from .breaking import heads, width, wrap_attention, wrap_rotary
from .fifth_making import SEQUENTIAL, decoding, of_experts, of_frequencies, of_table
from .making import BATCH
from .port import Port
from .sixth_making import one_token, sixth, while_decoding

SCALED, TABLE, PLACE = "rope-scaling-missing", "rotary_emb", "self_attn"
QK_NORM = r"self_attn\.[qk]_norm\Z"


def scaling_of(port: Port, kind: str) -> dict[str, Any] | None:
    """Parameters of the rotary embedding, if they are of such a kind."""
    given = getattr(port.config, "rope_parameters", None) or {}
    return given if given.get("rope_type") == kind else None


def plain(theta: float, count: int) -> Tensor:
    return torch.pow(theta, -(torch.arange(count) / count))


@sixth("llama3-factors-exchanged", SCALED, TABLE, everywhere=True)
def _(port: Port) -> bool | None:
    """The factors of low and high frequencies are read in the other order."""
    given = scaling_of(port, "llama3")
    if given is None:
        return False
    low, high = given["low_freq_factor"], given["high_freq_factor"]
    given |= {"low_freq_factor": high, "high_freq_factor": low}
    return None


@sixth("llama3-wavelength-without-two-pi", SCALED, TABLE, everywhere=True)
def _(port: Port) -> bool | None:
    """Wavelengths are taken for one by the frequency, in radians."""
    given = scaling_of(port, "llama3")
    if given is None:
        return False
    low, high = given["low_freq_factor"], given["high_freq_factor"]

    def change(value: Tensor) -> Tensor:
        found = plain(given["rope_theta"], len(value))
        turns = given["original_max_position_embeddings"] * found
        smooth = ((turns - low) / (high - low)).clamp(0, 1)
        scaled: Tensor = (1 - smooth) * found / given["factor"] + smooth * found
        return scaled

    of_frequencies(port, change)
    return None


@sixth("base-grown-for-scaling", (SCALED, "rope-theta-wrong"), TABLE, everywhere=True)
def _(port: Port) -> bool | None:
    """A larger base, as scaling aware of the tangent kernel has, in place of the scaling meant."""
    given = scaling_of(port, "llama3") or scaling_of(port, "yarn")
    if given is None:
        return False

    def change(value: Tensor) -> Tensor:
        size = 2 * len(value)
        return plain(given["rope_theta"] * given["factor"] ** (size / (size - 2)), len(value))

    of_frequencies(port, change)
    return None


@sixth("yarn-rotations-without-two-pi", SCALED, TABLE, everywhere=True)
def _(port: Port) -> bool | None:
    """The bounds of the ramp are counted in radians, and not in whole rotations."""
    given = scaling_of(port, "yarn")
    if given is None:
        return False
    theta, length = given["rope_theta"], given["original_max_position_embeddings"]

    def change(value: Tensor) -> Tensor:
        count = len(value)
        bounds = (given["beta_fast"], given["beta_slow"])
        low, high = (max(0.0, count * math.log(length / b) / math.log(theta)) for b in bounds)
        ramp = ((torch.arange(count) - low) / (high - low)).clamp(0, 1)
        found = plain(theta, count)
        scaled: Tensor = found / given["factor"] * ramp + found * (1 - ramp)
        return scaled

    of_frequencies(port, change)
    return None


@sixth("yarn-factor-on-cosine-only", "rope-attention-factor-wrong", TABLE, everywhere=True)
def _(port: Port) -> bool | None:
    """Cosines are multiplied by the attention factor, sines are not."""
    given = scaling_of(port, "yarn")
    if given is None:
        return False
    factor = 0.1 * math.log(given["factor"]) + 1
    of_table(port, lambda cos, sin, places, table: (cos, sin / factor))
    return None


@sixth("decoded-places-of-padded-row", "rope-positions-wrong", PLACE, everywhere=True)
def _(port: Port) -> bool | None:
    """Decoded tokens of a shorter sequence get positions that count its padding."""
    if port.config.model_type in ("gpt_oss", "gemma3_text"):
        return False
    later: dict[str, Any] = {}

    def rotary(original: Any, q: Tensor, k: Tensor, cos: Tensor, sin: Tensor) -> Any:
        found = original(q, k, cos, sin)
        if not one_token(q, 2):
            later["table"] = cos[:, 3:4], sin[:, 3:4]
            return found
        moved = original(*found, *later["table"])
        return tuple(torch.cat((x[:1], y[1:])) for x, y in zip(found, moved, strict=True))

    return bool(wrap_rotary(port, rotary))


@sixth("decoded-turned-in-pairs", "rope-layout-wrong", PLACE, everywhere=True)
def _(port: Port) -> bool | None:
    """The kernel that decodes turns neighbouring channels; the prompt was turned in halves."""
    if port.config.model_type not in SEQUENTIAL:
        return False

    def rotary(original: Any, q: Tensor, k: Tensor, cos: Tensor, sin: Tensor) -> Any:
        if not one_token(q, 2):
            return original(q, k, cos, sin)
        apart = (torch.cat((x[..., ::2], x[..., 1::2]), -1) for x in (q, k))
        turned = original(*apart, cos, sin)
        return tuple(torch.stack(x.chunk(2, -1), -1).flatten(-2) for x in turned)

    return bool(wrap_rotary(port, rotary))


@sixth("decoded-heads-tiled", "gqa-grouping-wrong", PLACE, everywhere=True)
def _(port: Port) -> bool | None:
    """The kernel that decodes finds the head of keys by the remainder, not by the quotient."""
    count, groups = heads(port.config)
    if count == groups:
        return False
    now = {"decodes": False}

    def note(module: Any, query: Tensor, key: Tensor, *rest: Any) -> tuple[Any, ...]:
        now["decodes"] = decoding(query, key)
        return query, key, *rest

    def around(original: Any) -> Any:
        return lambda x, n: x.repeat(1, n, 1, 1) if now["decodes"] else original(x, n)

    return bool(port.wrap("repeat_kv", around)) and bool(wrap_attention(port, note))


@sixth("decoded-with-usual-scale", "attention-scale-wrong", PLACE, everywhere=True)
def _(port: Port) -> bool | None:
    """The kernel that decodes takes the root of the width, not the scale of the configuration."""
    if not {"attention_multiplier", "query_pre_attn_scalar"} & set(port.config.to_dict()):
        return False
    usual = width(port.config) ** -0.5

    def given(
        module: Any, query: Tensor, key: Tensor, value: Tensor, mask: Any, scaling: float
    ) -> tuple[Any, ...]:
        return query, key, value, mask, usual if decoding(query, key) else scaling

    return bool(wrap_attention(port, given))


@sixth("decoded-qkv-without-bias", "bias-missing", "self_attn.(q_proj|k_proj|v_proj)")
def _(port: Port) -> bool | None:
    """The fused projection for one token leaves the biases of queries, keys and values out."""
    if port.name(r"self_attn\.q_proj\.bias") is None:
        return False
    inside = rf"layers\.{port.layer}\.self_attn\.[qkv]_proj\Z"
    while_decoding(port, inside, lambda m, x: torch.nn.functional.linear(x, m.weight))
    return None


@sixth("decoded-without-qk-norm", "qk-norm-wrong", PLACE, everywhere=True)
def _(port: Port) -> bool | None:
    """The kernel that decodes does not norm queries and keys."""
    if port.name(r"self_attn\.q_norm\.weight") is None:
        return False
    axis = 2 if port.config.model_type.startswith("gemma") else 1
    while_decoding(port, QK_NORM, lambda module, x: x, axis)
    return None


@sixth("decoded-gate-and-up-exchanged", ("weight-layout-mismatch", "activation-mismatch"), "mlp")
def _(port: Port) -> bool | None:
    """The fused kernel for one token has up first, and applies the activation to it."""
    if port.name(r"mlp\.gate_proj\.weight") is None:
        return False
    while_decoding(port, rf"layers\.{port.layer}\.mlp\Z", lambda m, x: m.down_proj(
        m.act_fn(m.up_proj(x)) * m.gate_proj(x)))  # fmt: skip
    return None


@sixth("decoded-norm-without-offset", "norm-weight-offset", "input_layernorm")
def _(port: Port) -> bool | None:
    """The norm fused into the kernel that decodes does not add one to the weight."""
    if not port.config.model_type.startswith("gemma"):
        return False
    while_decoding(
        port,
        rf"layers\.{port.layer}\.input_layernorm\Z",
        lambda m, x: (m._norm(x.float()) * m.weight.float()).to(x.dtype),
    )
    return None


@sixth("decoded-by-one-expert", "router-top-k-wrong", "mlp")
def _(port: Port) -> bool | None:
    """The kernel for few tokens runs the first expert of each only."""

    def change(inner: Any, x: Tensor, numbers: Tensor, weights: Tensor) -> Any:
        if len(x) == BATCH:
            weights = torch.cat((weights[:, :1], weights[:, 1:] * 0), 1)
        return inner(x, numbers, weights)

    return of_experts(port, change)  # type: ignore[no-any-return]
