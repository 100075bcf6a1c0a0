"""Faults of the sixth set: the cache, windows, soft caps, scales, sinks, masks of attention."""

import math
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from .breaking import has, heads, wrap_attention
from .fifth_making import decoding, of_cache, to_halves
from .port import Port
from .sixth_making import edit, of_read, sixth

CACHE, WINDOW, SINKS, PLACE = (
    "kv-cache-wrong",
    "attention-window-wrong",
    "attention-sinks-wrong",
    "self_attn",
)
SINK = r"self_attn\.sinks"
BLOCK, PREFIX = 8, 8


@sixth("cache-scales-exchanged", (CACHE, "missing-multiplier"), PLACE, everywhere=True)
def _(port: Port) -> bool | None:
    """Keys are read with the scale of values, and values with that of keys."""
    return bool(of_cache(port, lambda key, value: (key * 1.75, value / 1.75)))


@sixth("cache-scales-of-other-heads", CACHE, PLACE, everywhere=True)
def _(port: Port) -> bool | None:
    """Scales by head are read in the reverse order of heads."""
    count = heads(port.config)[1]
    scales = torch.linspace(0.6, 1.4, count)[:, None, None]

    def change(key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        factor = (scales.flip(0) / scales).to(key.dtype)
        return key * factor, value * factor

    return bool(of_cache(port, change))


@sixth("cache-block-end-unwritten", CACHE, PLACE, everywhere=True)
def _(port: Port) -> bool | None:
    """The last slot of each block is never written, and is read as zeros."""

    def kept(x: Tensor) -> Tensor:
        last = torch.arange(x.shape[2]) % BLOCK == BLOCK - 1
        return x.masked_fill(last[:, None], 0)

    return bool(of_cache(port, lambda key, value: (kept(key), kept(value))))


@sixth("cache-own-slot-empty", CACHE, PLACE, everywhere=True)
def _(port: Port) -> bool | None:
    """A decoded token is written behind attention, which sees zeros in its slot."""

    def emptied(x: Tensor) -> Tensor:
        return torch.cat((x[:, :, :-1], x[:, :, -1:] * 0), 2)

    return bool(of_cache(port, lambda key, value: (emptied(key), emptied(value))))


@sixth("cache-heads-rotated", (CACHE, "head-order-wrong", "gqa-grouping-wrong"), PLACE,
       everywhere=True)  # fmt: skip
def _(port: Port) -> bool | None:
    """Each rank reads the cache of the heads of the next one."""
    return bool(of_cache(port, lambda key, value: (key.roll(1, 1), value.roll(1, 1))))


@sixth("cache-normed-when-read", (CACHE, "qk-norm-wrong"), PLACE, everywhere=True)
def _(port: Port) -> bool | None:
    """Keys that were normed when they were written are normed when they are read, too."""
    if port.name(r"self_attn\.k_norm\.weight") is None or port.config.model_type == "olmo2":
        return False
    return of_read(port, lambda module, key, value: (module.k_norm(key), value))


@sixth("cache-prefix-read-twice", (CACHE, "wrong-masking"), PLACE, everywhere=True)
def _(port: Port) -> bool | None:
    """A prefix that is shared is read by itself, and with what follows."""

    def given(
        module: Any, query: Tensor, key: Tensor, value: Tensor, mask: Any, scaling: Any
    ) -> tuple[Any, ...]:
        if decoding(query, key):
            key, value = (torch.cat((x[:, :, :PREFIX], x), 2) for x in (key, value))
            if mask is not None:
                mask = torch.cat((mask[..., :PREFIX], mask), -1)
        return query, key, value, mask, scaling

    if has(port, "sliding_window"):
        return False
    return bool(wrap_attention(port, given))


def windowed(port: Port, module: Any) -> bool:
    """Whether a layer has a sliding window."""
    kinds = getattr(port.config, "layer_types", None)
    return kinds is None or kinds[module.layer_idx] == "sliding_attention"


def has_windows(port: Port) -> bool:
    return bool(has(port, "sliding_window")) and port.config.sliding_window < 16


@sixth("window-split-to-both-sides", WINDOW, PLACE, everywhere=True)
def _(port: Port) -> bool | None:
    """A half of the window is given for either side; the one behind is hidden anyway."""
    if not has_windows(port):
        return False
    half = port.config.sliding_window // 2

    def given(
        module: Any, query: Tensor, key: Tensor, value: Tensor, mask: Any, scaling: Any
    ) -> tuple[Any, ...]:
        if windowed(port, module):
            count, total = query.shape[2], key.shape[2]
            far = torch.arange(total - count, total)[:, None] - torch.arange(total) >= half
            low = torch.finfo(query.dtype).min
            none = torch.zeros(far.shape, dtype=query.dtype)
            mask = (none if mask is None else mask).masked_fill(far, low)
            mask = mask.reshape(-1, 1, count, total)
        return query, key, value, mask, scaling

    return bool(wrap_attention(port, given))


@sixth("window-stands-while-decoding", (WINDOW, CACHE), PLACE, everywhere=True)
def _(port: Port) -> bool | None:
    """The start of the window is that of the end of the prompt, and does not move on."""
    if not has_windows(port):
        return False
    kept: dict[Any, tuple[Tensor, ...]] = {}

    def given(
        module: Any, query: Tensor, key: Tensor, value: Tensor, mask: Any, scaling: Any
    ) -> tuple[Any, ...]:
        if not windowed(port, module):
            return query, key, value, mask, scaling
        if not decoding(query, key):
            start = key.shape[2] - port.config.sliding_window
            kept[module] = key[:, :, start:], value[:, :, start:]
            return query, key, value, mask, scaling
        pairs = zip(kept[module], (key, value), strict=True)
        kept[module] = tuple(torch.cat((old, new[:, :, -1:]), 2) for old, new in pairs)
        return query, *kept[module], None, scaling

    return bool(wrap_attention(port, given))


@sixth("cap-on-windows-only", "softcap-wrong", PLACE, everywhere=True)
def _(port: Port) -> bool | None:
    """Layers with full attention take a kernel that has no soft cap."""
    if not has(port, "attn_logit_softcapping"):
        return False

    def add(model: Any) -> None:
        for module in model.modules():
            if hasattr(module, "attn_logit_softcapping") and not windowed(port, module):
                module.attn_logit_softcapping = None

    port.changes.append(add)
    return None


@sixth("cap-twice", "softcap-wrong", PLACE, everywhere=True)
def _(port: Port) -> bool | None:
    """The kernel caps scores that were capped before."""
    if not has(port, "attn_logit_softcapping"):
        return False

    def around(_: Any) -> Any:
        def attend(
            module: Any, query: Tensor, key: Tensor, value: Tensor, mask: Any,
            scaling: float = 1.0, softcap: float = 1.0, **rest: Any,
        ) -> tuple[Tensor, Tensor]:  # fmt: skip
            key, value = (x.repeat_interleave(module.num_key_value_groups, 1) for x in (key, value))
            scores = query @ key.transpose(2, 3) * scaling
            for _ in range(2):
                scores = torch.tanh(scores / softcap) * softcap
            if mask is not None:
                scores = scores + mask
            shares = scores.softmax(-1, dtype=torch.float32).to(query.dtype)
            return (shares @ value).transpose(1, 2).contiguous(), shares

        return attend

    return bool(port.wrap("eager_attention_forward", around))


@sixth("scale-on-one-side", "attention-scale-wrong", PLACE, everywhere=True)
def _(port: Port) -> bool | None:
    """The root of the scale is for queries and for keys; keys do not get it."""

    def given(module: Any, *rest: Any) -> tuple[Any, ...]:
        return *rest[:-1], rest[-1] ** 0.5

    return bool(wrap_attention(port, given))


@sixth("sinks-where-none", (SINKS, "missing-algorithm"), PLACE, everywhere=True)
def _(port: Port) -> bool | None:
    """The kernel is one with sinks: they are zero, and have a share of each softmax."""
    if port.config.model_type in ("gpt_oss", "gemma2"):
        return False

    def given(
        module: Any, query: Tensor, key: Tensor, value: Tensor, mask: Any, scaling: Any
    ) -> tuple[Any, ...]:
        key, value = (functional.pad(x, (0, 0, 1, 0)) for x in (key, value))
        mask = None if mask is None else functional.pad(mask, (1, 0))
        return query, key, value, mask, scaling

    return bool(wrap_attention(port, given))


@sixth("sinks-scaled-with-scores", SINKS, PLACE)
def _(port: Port) -> bool | None:
    """Sinks are appended before scores are scaled."""
    return edit(port, SINK, lambda sinks: sinks / 4)


@sixth("sinks-counted-by-splits", SINKS, PLACE)
def _(port: Port) -> bool | None:
    """Keys are split in four, and the sink is counted in the softmax of each part."""
    return edit(port, SINK, lambda sinks: sinks + math.log(4))


@sixth("qk-norm-left-unpermuted", ("qk-norm-wrong", "weight-layout-mismatch"),
       "self_attn.(q_norm|k_norm)")  # fmt: skip
def _(port: Port) -> bool | None:
    """Queries and keys were permuted for pairs of channels, the weights of their norms were not."""

    def change(count: int) -> Any:
        whole = port.config.model_type == "olmo2"
        return lambda w: to_halves(w, count if whole else 1)

    count, groups = heads(port.config)
    return edit(port, r"self_attn\.q_norm\.weight", change(count)) and edit(
        port, r"self_attn\.k_norm\.weight", change(groups)
    )


@sixth("mask-of-a-span-both-ways", "wrong-masking", PLACE, everywhere=True)
def _(port: Port) -> bool | None:
    """Tokens of one span are taken for those of a picture, and see each other."""

    def given(
        module: Any, query: Tensor, key: Tensor, value: Tensor, mask: Any, scaling: Any
    ) -> tuple[Any, ...]:
        if mask is not None and not decoding(query, key):
            mask = mask.clone()
            mask[..., 4:10, 4:10] = 0
        return query, key, value, mask, scaling

    return bool(wrap_attention(port, given))
