"""Faults of the eighth set: the cache of keys and values, and steps of one token."""

from typing import Any

import torch
from torch import Tensor

from .breaking import wrap_attention
from .eighth_making import CACHE, GROUPS, Given, eighth, in_prompt, with_groups
from .port import Port
from .seventh_making import has_windows, hiding, of_whole_cache

QKV_NAME = r"(self_attn|attention)\.(q_proj|k_proj|v_proj|query_key_value)"


@eighth("cached-values-with-scale-of-keys", CACHE, "self_attn", everywhere=True)
def _(port: Port) -> bool | None:
    """The cache is quantised by head, and values are read with the scales of keys."""
    if port.config.model_type == "gpt_oss":  # less than another choice of experts by rounding
        return False

    def largest(x: Tensor) -> Tensor:
        return x.abs().amax((2, 3), keepdim=True)

    def read(key: Tensor, value: Tensor, mask: Tensor, prompt: int) -> Given:
        old, new = value[:, :, :prompt], value[:, :, prompt:]
        factor = largest(key[:, :, :prompt]) / largest(old)
        return key, torch.cat((old * factor, new), 2), mask

    return of_whole_cache(port, read)


@eighth("cache-of-other-layer", CACHE, "self_attn")
def _(port: Port) -> bool | None:
    """A layer reads what another layer has cached of the prompt."""
    if has_windows(port):
        return False
    kept: dict[int, tuple[Tensor, Tensor]] = {}

    def given(
        module: Any, query: Tensor, key: Tensor, value: Tensor, mask: Any, scaling: Any
    ) -> Any:
        if in_prompt(query, key):
            kept[module.layer_idx] = key, value
        elif module.layer_idx == port.layer:
            other = kept[1 - port.layer]
            length = other[0].shape[2]
            if key.shape[2] > length:
                key, value = (
                    torch.cat((theirs, own[:, :, length:]), 2)
                    for theirs, own in zip(other, (key, value), strict=True)
                )
        return query, key, value, mask, scaling

    return bool(wrap_attention(port, given))


@eighth("full-cache-reuses-last-slot", CACHE, "self_attn", everywhere=True)
def _(port: Port) -> bool | None:
    """The cache has room for two new tokens; later ones overwrite the last slot."""
    if port.config.model_type == "gpt_oss":  # less than another choice of experts by rounding
        return False

    def read(key: Tensor, value: Tensor, mask: Tensor, prompt: int) -> Given:
        place = torch.arange(key.shape[2])
        lost = (place > prompt) & (place < key.shape[2] - 1)
        return key, value, hiding(mask, lost.expand(mask.shape))

    return of_whole_cache(port, read)


@eighth("decoded-heads-in-turns-over-groups", (GROUPS, CACHE), "self_attn", everywhere=True)
def _(port: Port) -> bool | None:
    """The step of one token repeats the cached heads as a whole, and not each of them."""

    def order(count: int, groups: int, prompt: bool) -> Tensor:
        place = torch.arange(count)
        return place // (count // groups) if prompt else place % groups

    return with_groups(port, order)


@eighth("new-token-also-in-first-slot", CACHE, "self_attn", everywhere=True)
def _(port: Port) -> bool | None:
    """An unset entry of the slot mapping is zero: each new token is written there, too."""
    if port.config.model_type == "gpt_oss":  # less than another choice of experts by rounding
        return False

    def read(key: Tensor, value: Tensor, mask: Tensor, prompt: int) -> Given:
        key, value = (torch.cat((x[:, :, -1:], x[:, :, 1:]), 2) for x in (key, value))
        return key, value, mask

    return of_whole_cache(port, read)


@eighth("only-full-blocks-of-prompt-cached", CACHE, "self_attn", everywhere=True)
def _(port: Port) -> bool | None:
    """Prefix caching keeps blocks of 8 tokens, and the last one of the prompt is not full."""

    def read(key: Tensor, value: Tensor, mask: Tensor, prompt: int) -> Given:
        place = torch.arange(key.shape[2])
        lost = (place >= prompt // 8 * 8) & (place < prompt)
        return key, value, hiding(mask, lost.expand(mask.shape))

    return of_whole_cache(port, read)


@eighth("cache-keeps-first-and-last", (CACHE, "attention-window-wrong"), "self_attn", True)
def _(port: Port) -> bool | None:
    """For endless streams the first 4 and the last 8 tokens are kept, which was not asked for."""

    def read(key: Tensor, value: Tensor, mask: Tensor, prompt: int) -> Given:
        place = torch.arange(key.shape[2])
        lost = (place >= 4) & (place < key.shape[2] - 8)
        return key, value, hiding(mask, lost.expand(mask.shape))

    return of_whole_cache(port, read)
