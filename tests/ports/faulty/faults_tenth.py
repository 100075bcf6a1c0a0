"""Attention of the tenth set: scales, caps, windows, masks, groups and the cache."""

from .port import Port
from .tenth_making import CACHE, MASK, SCALE, SINKS, WINDOW, tenth


@tenth("scale-of-head-dim", SCALE, "self_attn", everywhere=True)
def scale_of_head_dim(port: Port) -> bool | None:
    """Gemma's scores are multiplied by the root of head_dim, as Llama's are, and not by that of
    query_pre_attn_scalar."""
    raise NotImplementedError


@tenth("multiplier-and-kernel-scale", SCALE, "self_attn", everywhere=True)
def multiplier_and_kernel_scale(port: Port) -> bool | None:
    """Granite's queries are multiplied by attention_multiplier, and the kernel divides scores by the
    root of head_dim all the same."""
    raise NotImplementedError


@tenth("softcap-missing-in-decoding", "softcap-wrong", "self_attn", everywhere=True)
def softcap_missing_in_decoding(port: Port) -> bool | None:
    """The kernel for decoded tokens knows no soft cap; that for prompts does."""
    raise NotImplementedError


@tenth("window-one-wider", WINDOW, "self_attn", everywhere=True)
def window_one_wider(port: Port) -> bool | None:
    """The window is taken as a distance: keys are seen up to and including so many positions back."""
    raise NotImplementedError


@tenth("window-flag-ignored", WINDOW, "self_attn", everywhere=True)
def window_flag_ignored(port: Port) -> bool | None:
    """Qwen's sliding_window is taken from the configuration although use_sliding_window is false."""
    raise NotImplementedError


@tenth("mask-prompt-both-ways", MASK, "self_attn", everywhere=True)
def mask_prompt_both_ways(port: Port) -> bool | None:
    """Token types of Gemma 3 default to those of an image, so that the prompt is one block whose
    tokens all see each other."""
    raise NotImplementedError


@tenth("sinks-of-first-rank", SINKS, "self_attn", everywhere=True)
def sinks_of_first_rank(port: Port) -> bool | None:
    """Sinks are not sharded: each of two ranks reads as many as it has heads, from the first."""
    raise NotImplementedError


@tenth("kv-heads-tiled", "gqa-grouping-wrong", "self_attn", everywhere=True)
def kv_heads_tiled(port: Port) -> bool | None:
    """Keys and values are tiled by repeat() where each head was to be repeated: head h reads those of
    group h modulo the groups."""
    raise NotImplementedError


@tenth("cache-write-one-slot-low", (CACHE, MASK), "self_attn", everywhere=True)
def cache_write_one_slot_low(port: Port) -> bool | None:
    """Decoded tokens are written one slot too low, so that the first of them lies upon the last key
    of the prompt."""
    raise NotImplementedError


@tenth("bucket-slots-seen", (MASK, CACHE), "self_attn", everywhere=True)
def bucket_slots_seen(port: Port) -> bool | None:
    """The mask of decoded tokens covers all of a bucket of 32 slots, and zeros behind the last key
    take part in the softmax."""
    raise NotImplementedError
