"""Faults of the eighth set: scores, masks, windows, groups of heads, norms of queries and keys."""

import math
from typing import Any

import torch
from torch import Tensor

from .breaking import wrap_attention
from .eighth_making import (
    GROUPS,
    MASK,
    SCALE,
    WINDOW,
    alien,
    distances,
    eighth,
    in_prompt,
    with_groups,
    with_mask,
    with_scaling,
)
from .port import Port
from .seventh_making import has_windows, hiding, window_of
from .sixth_making import edit

HEAD_WISE = ("qwen3", "qwen3_moe", "gemma3_text")
CAP = "softcap-wrong"


@eighth("power-of-two-for-exponential", SCALE, "self_attn", everywhere=True)
def _(port: Port) -> bool | None:
    """The softmax computes powers of two, and scores are not multiplied by log2(e) before."""
    if port.config.model_type in ("gemma2", "gpt_oss"):
        return False
    return with_scaling(port, lambda scaling: scaling * math.log(2))


@eighth(
    "scale-dropped-beside-qk-norm",
    (SCALE, "attention-scaling-missing"),
    "self_attn",
    everywhere=True,
)
def _(port: Port) -> bool | None:
    """The port takes the norms of queries and keys for a replacement of the scale."""
    if port.config.model_type not in (*HEAD_WISE, "olmo2"):
        return False
    return with_scaling(port, lambda scaling: 1.0)


@eighth("bucket-tail-in-softmax", MASK, "self_attn", everywhere=True)
def _(port: Port) -> bool | None:
    """The prompt is padded to its bucket, and the zeros at the end are seen by all."""

    def given(_: Any, query: Tensor, key: Tensor, value: Tensor, mask: Any, scaling: Any) -> Any:
        if in_prompt(query, key) and mask is not None:
            tail = (0, 0, 0, 12)
            key = torch.nn.functional.pad(key, tail)
            value = torch.nn.functional.pad(value, tail)
            mask = torch.nn.functional.pad(mask, (0, 12))
        return query, key, value, mask, scaling

    return bool(wrap_attention(port, given))


@eighth("start-of-prompt-sees-itself-whole", MASK, "self_attn", everywhere=True)
def _(port: Port) -> bool | None:
    """The mask of a prefix model is taken: the first 8 tokens see one another."""

    def change(_: Any, query: Tensor, key: Tensor, mask: Tensor) -> Tensor:
        found = mask.clone()
        if in_prompt(query, key):
            found[..., :8, :8] = 0
        return found

    return with_mask(port, change)


@eighth("row-masked-as-the-request-before", MASK, "self_attn", everywhere=True)
def _(port: Port) -> bool | None:
    """The mask of another request stays: the first three tokens of the second row are padding."""

    def change(_: Any, query: Tensor, key: Tensor, mask: Tensor) -> Tensor:
        if not in_prompt(query, key):
            return mask
        hidden = torch.zeros(2, 1, query.shape[-2], key.shape[-2], dtype=torch.bool)
        hidden[1, :, :, :3] = True
        own = torch.eye(query.shape[-2], dtype=torch.bool)
        return hiding(mask.expand(2, -1, -1, -1), hidden & ~own)

    return with_mask(port, change)


@eighth("window-begins-at-a-block", WINDOW, "self_attn", everywhere=True)
def _(port: Port) -> bool | None:
    """The window of a prompt is kept by blocks of 4 keys: the first block is seen whole."""
    if not has_windows(port):
        return False

    def change(module: Any, query: Tensor, key: Tensor, mask: Tensor) -> Tensor:
        window = window_of(module)
        if window is None or not in_prompt(query, key):
            return mask
        column = torch.arange(key.shape[-2])[None]
        row = torch.arange(query.shape[-2])[:, None]
        seen = (column <= row) & (column >= (row - window + 1) // 4 * 4)
        return hiding(torch.zeros_like(mask), ~seen.expand(mask.shape))

    return with_mask(port, change)


@eighth("window-though-switched-off", WINDOW, "self_attn", everywhere=True)
def _(port: Port) -> bool | None:
    """The configuration has a window and says that it is not used; the port uses it."""
    if has_windows(port):
        return False

    def change(_: Any, query: Tensor, key: Tensor, mask: Tensor) -> Tensor:
        return hiding(mask, (distances(query, key) >= 10).expand(mask.shape))

    return with_mask(port, change)


@eighth("sinks-in-each-split-of-keys", "attention-sinks-wrong", "self_attn")
def _(port: Port) -> bool | None:
    """The softmax is computed over eight splits of the keys, and each of them counts the sink."""
    return edit(port, r"self_attn\.sinks", lambda s: s + math.log(8))


@eighth("groups-counted-with-padded-heads", GROUPS, "self_attn", everywhere=True)
def _(port: Port) -> bool | None:
    """A head is padded to each group, and groups are counted by the padded number of heads that
    are not there."""

    def order(count: int, groups: int, prompt: bool) -> Tensor:
        return torch.arange(count) // (count // groups + 1)

    return with_groups(port, order)


@eighth("queries-and-keys-in-eight-bits", "precision-ordering", "self_attn", everywhere=True)
def _(port: Port) -> bool | None:
    """Queries and keys are cast to eight bits before their product, for a faster kernel."""
    if port.config.model_type == "gemma3_text":  # its scores are too small to tell
        return False

    def low(x: Tensor) -> Tensor:
        return x.to(torch.float8_e4m3fn).to(x.dtype)

    def given(_: Any, query: Tensor, key: Tensor, value: Tensor, mask: Any, scaling: Any) -> Any:
        return low(query), low(key), value, mask, scaling

    return bool(wrap_attention(port, given))


@alien("heads-flattened-without-transpose", "self_attn", everywhere=True)
def _(port: Port) -> bool | None:
    """The output of the heads is flattened as it lies: by heads and then by tokens."""

    def around(original: Any) -> Any:
        def attend(*args: Any, **kwargs: Any) -> Any:
            found, weights = original(*args, **kwargs)
            return found.transpose(1, 2).reshape(found.shape), weights

        return attend

    return bool(port.wrap("eager_attention_forward", around))


@eighth("mask-causal-by-blocks", MASK, "self_attn", everywhere=True)
def _(port: Port) -> bool | None:
    """The mask of a prompt is made for blocks of 4 tokens, which see one another."""

    def change(_: Any, query: Tensor, key: Tensor, mask: Tensor) -> Tensor:
        if not in_prompt(query, key):
            return mask
        block = torch.arange(key.shape[-2]) // 4
        return mask.masked_fill(block[:, None] == block[None], 0)

    return with_mask(port, change)


@eighth("scores-scaled-with-log-of-length", SCALE, "self_attn", everywhere=True)
def _(port: Port) -> bool | None:
    """Queries beyond the eighth token are scaled by the logarithm of their position, as an older
    model of the family does."""
    seen = {"length": 0}

    def given(
        module: Any, query: Tensor, key: Tensor, value: Tensor, mask: Any, scaling: Any
    ) -> Any:
        if in_prompt(query, key):
            seen["length"] = key.shape[-2]
        elif module.layer_idx == 0:
            seen["length"] += 1
        place = torch.arange(seen["length"] - query.shape[-2], seen["length"]) + 1
        factor = (place.float().log() / math.log(8)).clamp(min=1).to(query.dtype)
        return query * factor[:, None], key, value, mask, scaling

    return bool(wrap_attention(port, given))
