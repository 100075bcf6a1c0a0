"""Attention of the tenth set: scales, caps, windows, masks, groups and the cache."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from .breaking import has, mask, width
from .eighth_making import in_prompt, with_groups, with_mask
from .fifth_making import of_cache
from .ninth_making import eight_bits
from .port import Port
from .seventh_making import blank, has_windows, hiding, of_whole_cache
from .tenth_making import (
    CACHE,
    GEMMA,
    LOW,
    MASK,
    SCALE,
    SINKS,
    WINDOW,
    every,
    of_family,
    padded,
    tenth,
)


@tenth("scale-of-head-dim", SCALE, "self_attn", everywhere=True)
def scale_of_head_dim(port: Port) -> bool | None:
    """Gemma's scores are multiplied by the root of head_dim, as Llama's are, and not by that of
    query_pre_attn_scalar."""
    if not of_family(port, *GEMMA):
        return False
    port.config.query_pre_attn_scalar = width(port.config)
    return None


@tenth("multiplier-and-kernel-scale", SCALE, "self_attn", everywhere=True)
def multiplier_and_kernel_scale(port: Port) -> bool | None:
    """Granite's queries are multiplied by attention_multiplier, and the kernel divides their scores
    by the root of head_dim all the same."""
    if not has(port, "attention_multiplier"):
        return False
    port.config.attention_multiplier *= width(port.config) ** -0.5
    return None


@tenth("softcap-missing-in-decoding", "softcap-wrong", "self_attn", everywhere=True)
def softcap_missing_in_decoding(port: Port) -> bool | None:
    """The kernel for decoded tokens knows no soft cap; that for prompts does."""
    if not has(port, "attn_logit_softcapping"):
        return False

    def around(original: Callable[..., Any]) -> Callable[..., Any]:
        def attend(module: Any, query: Tensor, *rest: Any, softcap: Any = None, **more: Any) -> Any:
            cap = None if query.shape[-2] == 1 else softcap
            return original(module, query, *rest, softcap=cap, **more)

        return attend

    return bool(port.wrap("eager_attention_forward", around))


@tenth("window-one-wider", WINDOW, "self_attn", everywhere=True)
def window_one_wider(port: Port) -> bool | None:
    """The window is taken as a distance: keys are seen up to and including that many positions
    back."""
    if not has_windows(port):
        return False
    port.config.sliding_window += 1
    return None


@tenth("window-flag-ignored", WINDOW, "self_attn", everywhere=True)
def window_flag_ignored(port: Port) -> bool | None:
    """Qwen's sliding_window is taken from the file although use_sliding_window is false there."""
    if not of_family(port, "qwen2", "qwen3", "qwen2_moe", "qwen3_moe"):
        return False
    window = 9
    return bool(mask(port, lambda row, column, _: (column <= row) & (row - column < window)))


@tenth("mask-prompt-both-ways", MASK, "self_attn", everywhere=True)
def mask_prompt_both_ways(port: Port) -> bool | None:
    """Token types of Gemma 3 default to those of an image, so that the prompt is one block whose
    tokens all see each other."""
    if not of_family(port, "gemma3_text"):
        return False

    def change(_: Any, query: Tensor, key: Tensor, seen: Tensor) -> Tensor:
        return blank(query, key) if in_prompt(query, key) and query.shape[-2] > 1 else seen

    return with_mask(port, change)


@tenth("sinks-of-first-rank", SINKS, "self_attn", everywhere=True)
def sinks_of_first_rank(port: Port) -> bool | None:
    """Sinks are not sharded: each of two ranks reads as many as it has heads, from the first."""
    return every(port, r"self_attn\.sinks", lambda sinks: sinks.chunk(2)[0].repeat(2))


@tenth("kv-heads-tiled", "gqa-grouping-wrong", "self_attn", everywhere=True)
def kv_heads_tiled(port: Port) -> bool | None:
    """Keys and values are tiled by repeat() where each head was to be repeated: head h reads those
    of group h modulo the groups."""
    return with_groups(port, lambda count, groups, _: torch.arange(count) % groups)


@tenth("cache-write-one-slot-low", (CACHE, MASK), "self_attn", everywhere=True)
def cache_write_one_slot_low(port: Port) -> bool | None:
    """Decoded tokens are written one slot too low, so that the first of them lies upon the last key
    of the prompt."""

    def change(
        key: Tensor, value: Tensor, seen: Tensor, prompt: int
    ) -> tuple[Tensor, Tensor, Tensor]:
        lost = torch.arange(key.shape[-2]) == prompt - 1
        return key, value, hiding(seen, lost)

    return of_whole_cache(port, change)


@tenth("bucket-slots-seen", (MASK, CACHE), "self_attn", everywhere=True)
def bucket_slots_seen(port: Port) -> bool | None:
    """The mask of decoded tokens covers all of a bucket of 32 slots, and zeros behind the last key
    take part in the softmax."""

    def change(key: Tensor, value: Tensor, seen: Tensor, _: int) -> tuple[Tensor, Tensor, Tensor]:
        behind = padded(key.shape[-2]) - key.shape[-2]
        slots = [functional.pad(each, (0, 0, 0, behind)) for each in (key, value)]
        return slots[0], slots[1], functional.pad(seen, (0, behind))

    return of_whole_cache(port, change)


@tenth("cache-in-eight-bits", LOW, "self_attn", everywhere=True)
def cache_in_eight_bits(port: Port) -> bool | None:
    """Keys and values are cast to numbers of eight bits, without scales, to be kept."""
    return bool(of_cache(port, lambda key, value: (eight_bits(key), eight_bits(value))))
