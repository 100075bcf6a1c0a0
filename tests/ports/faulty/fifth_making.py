"""Building blocks for the faults of the fifth set."""

import re

import torch

from .breaking import heads, wrap_attention, wrap_rotary
from .port import fault

LAYOUT, PAIRS = "weight-layout-mismatch", "rope-layout-wrong"
CACHE, MASK = "kv-cache-wrong", "wrong-masking"
QKV = r"self_attn\.(q_proj|k_proj|v_proj|qkv_proj)"
LINEAR = (
    r"(self_attn|attention|mlp)\.([a-z_]+_proj|c_fc|dense|dense_h_to_4h|dense_4h_to_h"
    r"|query_key_value)\.weight\Z"
)
PAIRWISE = ("cohere", "glm4")
SEQUENTIAL = ("llama", "mistral", "qwen2", "qwen3", "phi3", "granite", "stablelm", "starcoder2",
              "mixtral", "qwen2_moe", "qwen3_moe", "gpt_oss")  # fmt: skip


def reported(name, cause, part, report, everywhere=False):
    """A fault with a report on GitHub."""

    def register(function):
        function.link = f"https://github.com/{report}"
        return fault(f"fifth-{name}", cause, part, everywhere)(function)

    return register


def to_pairs(rows, count):
    """Channels i and i + d/2 of each head side by side."""
    return rows.unflatten(0, (count, 2, -1)).transpose(1, 2).flatten(0, 2)


def to_halves(rows, count):
    return rows.unflatten(0, (count, -1, 2)).transpose(1, 2).flatten(0, 2)


def change_rows(port, part, change):
    """Weight and bias of a projection; False if there is none."""
    found = port.scale_rows(rf"self_attn\.{part}\.weight", change)
    port.scale_rows(rf"self_attn\.{part}\.bias", change)
    return found


def rewrite(port, pattern, make):
    """``make(module, forward)`` gives the forward pass of the modules of such names."""

    def add(model):
        found = [each for name, each in model.named_modules() if re.search(pattern, name)]
        if not found:
            raise LookupError(pattern)
        for module in found:
            module.forward = make(module, module.forward)

    port.changes.append(add)


def of_table(port, change):
    """``change(cos, sin, positions, table)`` gives another table; ``table`` computes one."""

    def make(_, inner):
        def forward(x, position_ids, *args, **kwargs):
            def table(places):
                return inner(x, places, *args, **kwargs)

            return change(*table(position_ids), position_ids, table)

        return forward

    rewrite(port, r"rotary_emb\Z", make)


def of_frequencies(port, change):
    """Frequencies of the rotary embedding, of every kind of layer."""

    def add(model):
        module = next(each for name, each in model.named_modules() if name.endswith("rotary_emb"))
        for name, value in list(module.named_buffers(recurse=False)):
            setattr(module, name, change(value.float()))

    port.changes.append(add)


def share(port):
    """The share of a head that is turned, if it is a part; None else."""
    given = getattr(port.config, "rope_parameters", None) or {}
    part = given.get("partial_rotary_factor")
    return part if part and part < 1 else None


def of_partial_heads(port, change):
    """``change(original, x, cos, sin)`` turns whole heads that are meant to be turned in part."""
    if share(port) is None:
        return False

    def add(model):
        for module in model.modules():
            if hasattr(module, "rotary_ndims"):
                module.rotary_ndims = getattr(module, "head_dim", module.rotary_ndims)

    def rotary(original, q, k, cos, sin):
        return change(original, q, cos, sin), change(original, k, cos, sin)

    port.changes.append(add)
    return wrap_rotary(port, rotary)


def turn_half(x):
    one, two = x.chunk(2, -1)
    return torch.cat((-two, one), -1)


def decoding(query, key):
    return key.shape[-2] > query.shape[-2]


def of_cache(port, change):
    """Let attention get ``change(key, value)`` from the cache while it decodes."""

    def given(module, query, key, value, mask, scaling):
        if decoding(query, key):
            key, value = change(key, value)
        return query, key, value, mask, scaling

    return wrap_attention(port, given)


def of_mask(port, change):
    """``change(allowed, dtype)`` gives the mask that is added instead."""

    def given(module, query, key, value, mask, scaling):
        if mask is not None:
            mask = change(mask > -1, query.dtype)
        return query, key, value, mask, scaling

    return wrap_attention(port, given)


def quantised(port, change, pattern=LINEAR):
    """Change the matrices of this layer that a quantised checkpoint has; ``change`` keeps what the
    codes give, so that only the mistake differs."""
    inside = re.compile(rf"layers\.{port.layer}\.{pattern}")
    names = [name for name, w in port.weights.items() if inside.search(name) and w.ndim == 2]
    for name in names:
        port.weights[name] = change(port.weights[name]).contiguous()
    return bool(names)


def fused(port):
    """Names of queries, keys and values of this layer, and how many rows each has."""
    count, groups = heads(port.config)
    names = [port.name(rf"self_attn\.{part}_proj\.weight") for part in "qkv"]
    if None not in names:
        return names, [len(port.weights[name]) for name in names]
    whole = port.name(r"self_attn\.qkv_proj\.weight")
    if whole is None:
        return None
    size = len(port.weights[whole]) // (count + 2 * groups)
    return [whole], [count * size, groups * size, groups * size]


def change_fused(port, change):
    """``change(q, k, v)`` of weights, and of biases where there are any."""
    found = fused(port)
    if found is None:
        return False
    names, sizes = found
    for kind in ("weight", "bias"):
        each = [name.removesuffix("weight") + kind for name in names]
        if all(name in port.weights for name in each):
            rows = torch.cat([port.weights[name] for name in each])
            rows = torch.cat(change(*rows.split(sizes)))
            parts = rows.split(sizes) if len(each) > 1 else [rows]
            for name, part in zip(each, parts, strict=True):
                port.weights[name] = part.contiguous()
    return True


def has_experts(port):
    return port.name(r"mlp\.experts\.down_proj") is not None


def of_experts(port, change):
    """Let the experts give ``change(experts, x, numbers, weights)``."""
    if not has_experts(port):
        return False

    def make(_, inner):
        return lambda x, numbers, weights: change(inner, x, numbers, weights)

    rewrite(port, rf"layers\.{port.layer}\.mlp\.experts\Z", make)
    return None


def first(found):
    return found[0] if isinstance(found, tuple) else found


def of_block(port, forward):
    """Let the layer give ``forward(layer, x, attention, mlp)``."""

    def make(layer, _):
        def run(hidden_states, **kwargs):
            def attention(x):
                return layer.self_attn(hidden_states=x, **kwargs)[0]

            return forward(layer, hidden_states, attention, lambda x: first(layer.mlp(x)))

        return run

    rewrite(port, rf"layers\.{port.layer}\Z", make)


def factor(port):
    return getattr(port.config, "residual_multiplier", 1.0)


def embedding(port):
    return next(n for n in port.weights if n.endswith(("embed_tokens.weight", "embed_in.weight")))


def head(port):
    ends = ("lm_head.weight", "embed_out.weight")
    return next((name for name in port.weights if name.endswith(ends)), None)
