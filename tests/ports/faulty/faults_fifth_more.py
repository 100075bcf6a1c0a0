"""Faults of the fifth set, each with its report: attention, its mask and its cache."""

import torch

from .breaking import has, mask, width, wrap_attention, wrap_rotary
from .fifth_making import (
    CACHE,
    LAYOUT,
    MASK,
    QKV,
    change_fused,
    decoding,
    of_cache,
    of_mask,
    reported,
    rewrite,
)

WINDOW, NORM = "attention-window-wrong", "qk-norm-wrong"
BLOCK, SLOTS = 4, 8


@reported("causal-from-top-left", (MASK, CACHE), "self_attn",
          "pytorch/pytorch/issues/108108", everywhere=True)  # fmt: skip
def _(port):
    """The triangle starts at the first key, so that a decoded token sees no other one."""

    def seen(rows, columns, allowed):
        found = columns <= rows - rows[0]
        return found if allowed is None else found & allowed

    return mask(port, seen)


@reported("empty-slots-counted", (MASK, CACHE), "self_attn",
          "flashinfer-ai/flashinfer/issues/3716", everywhere=True)  # fmt: skip
def _(port):
    """While decoding, slots behind the last key have a score of zero, and count in the softmax."""

    def attend(module, query, key, value, mask, scaling):
        if decoding(query, key):
            key, value = (torch.nn.functional.pad(x, (0, 0, 0, SLOTS)) for x in (key, value))
            mask = None if mask is None else torch.nn.functional.pad(mask, (0, SLOTS))
        return query, key, value, mask, scaling

    return wrap_attention(port, attend)


@reported("truth-added-as-mask", MASK, "self_attn",
          "huggingface/transformers/pull/41443", everywhere=True)  # fmt: skip
def _(port):
    """A mask of truth values is added to the scores: one where a key is seen, zero elsewhere."""
    return of_mask(port, lambda allowed, dtype: allowed.to(dtype))


@reported("mask-inverted", MASK, "self_attn",
          "huggingface/transformers/pull/38094", everywhere=True)  # fmt: skip
def _(port):
    """A mask of numbers is cast to truth values: what was hidden is seen, and the reverse."""
    return of_mask(port, lambda allowed, dtype: (
        torch.zeros(allowed.shape, dtype=dtype).masked_fill(allowed, torch.finfo(dtype).min)
    ))  # fmt: skip


@reported("cache-scaled-only-when-read", (CACHE, "missing-multiplier"), "self_attn",
          "sgl-project/sglang/issues/18818", everywhere=True)  # fmt: skip
def _(port):
    """Keys and values are multiplied by their FP8 scales when they are read, and were not divided
    by them when they were written."""
    return of_cache(port, lambda key, value: (key * 0.25, value * 0.5))


@reported("cache-of-first-sequence", CACHE, "self_attn",
          "gittensor-ai-lab/sparkinfer/issues/289", everywhere=True)  # fmt: skip
def _(port):
    """All sequences of a batch look up the blocks of sequence 0."""

    def past(x):
        return torch.cat((x[:1, :, :-1].expand_as(x[:, :, :-1]), x[:, :, -1:]), 2)

    return of_cache(port, lambda key, value: (past(key), past(value)))


@reported("cache-block-stride", CACHE, "self_attn",
          "ROCm/aiter/pull/3498", everywhere=True)  # fmt: skip
def _(port):
    """Blocks of keys and of values lie in turn, and are read as if those of one kind did."""

    def blocks(x):
        return torch.nn.functional.pad(x, (0, 0, 0, -x.shape[2] % BLOCK)).unflatten(2, (-1, BLOCK))

    def change(key, value):
        count, kept = blocks(key).shape[2], key.shape[2]
        memory = torch.stack((blocks(key), blocks(value)), 3).flatten(2, 3)
        found = (memory[:, :, start : start + count].flatten(2, 3) for start in (0, 1))
        return tuple(each[:, :, :kept] for each in found)

    return of_cache(port, change)


@reported("window-slot-overwritten", CACHE, "self_attn",
          "huggingface/transformers/pull/47708", everywhere=True)  # fmt: skip
def _(port):
    """When the rolling buffer wraps around, a token is written over one that is still seen."""
    if not has(port, "sliding_window"):
        return False

    def written(x):
        if x.shape[2] > port.config.sliding_window:
            return x
        return torch.cat((x[:, :, :2], x[:, :, -1:].expand(-1, -1, 2, -1), x[:, :, 4:]), 2)

    return of_cache(port, lambda key, value: (written(key), written(value)))


@reported("window-never-evicts", (WINDOW, CACHE), "self_attn",
          "rajveer43/VeloxQuant-MLX/issues/274", everywhere=True)  # fmt: skip
def _(port):
    """The cache of a sliding window keeps everything, and decoded tokens see all of it."""
    if not has(port, "sliding_window"):
        return False
    kept = {}

    def attend(module, query, key, value, mask, scaling):
        if not decoding(query, key):
            kept[module] = key, value
            return query, key, value, mask, scaling
        pairs = zip(kept[module], (key, value), strict=True)
        kept[module] = tuple(torch.cat((old, new[:, :, -1:]), 2) for old, new in pairs)
        if key.shape[2] > port.config.sliding_window:
            return query, key, value, mask, scaling
        return query, *kept[module], None, scaling

    return wrap_attention(port, attend)


def mixed(port):
    return has(port, "sliding_window") and "full_attention" in getattr(
        port.config, "layer_types", ()
    )


@reported("window-on-every-layer", WINDOW, "self_attn",
          "vllm-project/vllm/pull/21863", everywhere=True)  # fmt: skip
def _(port):
    """Layers with full attention get the window of the others."""
    if not mixed(port):
        return False

    def seen(rows, columns, allowed):
        found = columns > rows - port.config.sliding_window
        return found if allowed is None else found & allowed

    return mask(port, seen)


@reported("window-layers-inverted", WINDOW, "self_attn",
          "NVIDIA-NeMo/Megatron-Bridge/pull/4875", everywhere=True)  # fmt: skip
def _(port):
    """Layers are counted from one: those with the window are the ones that have none."""
    if not mixed(port):
        return False
    port.config.layer_types = port.config.layer_types[::-1]
    given = port.config.rope_parameters
    if "full_attention" in given:
        full, sliding = given["full_attention"], given["sliding_attention"]
        port.config.rope_parameters = {"full_attention": sliding, "sliding_attention": full}


@reported("scale-of-padded-head", "attention-scale-wrong", "self_attn",
          "intel/ipex-llm/pull/12619", everywhere=True)  # fmt: skip
def _(port):
    """Heads are filled up with zeros, and scores are scaled by the width that they have then."""
    share = (width(port.config) / 32) ** 0.5
    return wrap_attention(port, lambda module, q, k, v, mask, scaling: (
        q, k, v, mask, scaling * share))  # fmt: skip


def of_norms(port, change):
    """``change(x, found)`` of the norms of queries and keys."""
    if port.name(r"self_attn\.q_norm\.weight") is None:
        return False
    rewrite(port, r"self_attn\.[qk]_norm\Z", lambda _, inner: lambda x: change(x, inner(x)))
    return None


@reported("qk-norm-over-heads", NORM, "self_attn.(q_norm|k_norm)",
          "vllm-project/vllm/pull/16311", everywhere=True)  # fmt: skip
def _(port):
    """Queries and keys are normed over all heads where each head is meant, and the reverse."""
    kind = port.config.model_type

    def change(x, found):
        square = x.float().pow(2)
        if kind == "olmo2":
            size = width(port.config)
            one = square.unflatten(-1, (-1, size)).mean(-1).repeat_interleave(size, -1)
            return (found * (square.mean(-1, keepdim=True) / one).sqrt()).to(found.dtype)
        one = square.mean(-1, keepdim=True)
        every = one.mean(1 if kind.startswith("gemma") else 2, keepdim=True)
        return (found * (one / every).sqrt()).to(found.dtype)

    return of_norms(port, change)


@reported("qk-norm-of-length-one", (NORM, "norm-kind-wrong", "missing-multiplier",
                                    "attention-scale-wrong"), "self_attn.(q_norm|k_norm)",
          "pytorch/FBGEMM/pull/3841", everywhere=True)  # fmt: skip
def _(port):
    """Queries and keys are divided by their length, not by the root of their mean square."""
    return of_norms(port, lambda x, found: found * x.shape[-1] ** -0.5)


@reported("first-kv-head-for-all", "gqa-grouping-wrong", "self_attn",
          "PSAL-POSTECH/ONNXim/pull/34", everywhere=True)  # fmt: skip
def _(port):
    """The number of the head is divided by the wrong count: all use keys and values of head 0."""
    return wrap_attention(port, lambda module, q, k, v, mask, scaling: (
        q, k[:, :1].expand_as(k), v[:, :1].expand_as(v), mask, scaling))  # fmt: skip


@reported("heads-split-without-transposition", ("head-order-wrong", LAYOUT), "self_attn",
          "reczoo/FuxiCTR/issues/30", everywhere=True)  # fmt: skip
def _(port):
    """Queries and keys are viewed as heads times positions, without the transposition."""
    if port.config.model_type == "stablelm":
        return False

    def split(x):
        return x.transpose(1, 2).reshape(x.shape)

    return wrap_rotary(port, lambda original, q, k, cos, sin: original(
        split(q), split(k), cos, sin))  # fmt: skip


@reported("qkv-of-ranks", (LAYOUT, "shard-order-wrong"), QKV.replace("\\", ""),
          "ndif-team/nnsight/pull/719")  # fmt: skip
def _(port):
    """Queries, keys and values of each rank lie together, and are read as those of all ranks."""

    def change(*parts):
        return [part for rank in zip(*(each.chunk(2) for each in parts), strict=True)
                for part in rank]  # fmt: skip

    return change_fused(port, change)
