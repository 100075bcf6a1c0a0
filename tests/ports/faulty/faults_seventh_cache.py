"""Faults of the seventh set: the cache of keys and values."""

from typing import Any

import torch
from torch import Tensor

from .breaking import wrap_attention
from .fifth_making import decoding
from .port import Port
from .seventh_making import blank, has_windows, hiding, of_whole_cache, seventh, window_of
from .sixth_making import of_read

CACHE, MASK, PLACE = "kv-cache-wrong", "wrong-masking", "self_attn"
Read = tuple[Tensor, Tensor, Tensor]


@seventh("cache-new-slots-of-first-row", CACHE, PLACE, everywhere=True)
def _(port: Port) -> bool | None:
    """Slots of new tokens are counted for the first sequence only, and all read those."""

    def change(key: Tensor, value: Tensor, mask: Tensor, prompt: int) -> Read:
        key, value = (
            torch.cat((x[:, :, :prompt], x[:1, :, prompt:].expand_as(x[:, :, prompt:])), 2)
            for x in (key, value)
        )
        return key, value, mask

    return of_whole_cache(port, change)


@seventh("decoded-last-tile-dropped", (CACHE, MASK), PLACE, everywhere=True)
def _(port: Port) -> bool | None:
    """Keys are read in tiles of eight, and the last one only if it is full."""

    def change(key: Tensor, value: Tensor, mask: Tensor, prompt: int) -> Read:
        place = torch.arange(key.shape[-2])
        return key, value, hiding(mask, place >= len(place) // 8 * 8)

    return of_whole_cache(port, change)


@seventh("cache-last-of-prompt-twice", CACHE, PLACE, everywhere=True)
def _(port: Port) -> bool | None:
    """The last token of the prompt is run again as the first decoded one, and written behind it."""

    def change(key: Tensor, value: Tensor, mask: Tensor, prompt: int) -> Read:
        order = torch.cat((torch.arange(prompt), torch.arange(prompt - 1, key.shape[-2])))
        return key[:, :, order], value[:, :, order], mask[..., order]

    return of_whole_cache(port, change)


@seventh("cache-block-table-one-late", CACHE, PLACE, everywhere=True)
def _(port: Port) -> bool | None:
    """The table of blocks is read one entry too far."""

    def change(key: Tensor, value: Tensor, mask: Tensor, prompt: int) -> Read:
        place, blocks = torch.arange(key.shape[-2]), key.shape[-2] // 4
        late = (place // 4 + 1).clamp(max=blocks - 1) * 4 + place % 4
        order = torch.where(place < blocks * 4, late, place)
        return key[:, :, order], value[:, :, order], mask

    return of_whole_cache(port, change)


@seventh("cache-prefix-of-other-row", CACHE, PLACE, everywhere=True)
def _(port: Port) -> bool | None:
    """A prefix is taken for one that was cached, and is that of another sequence."""

    def change(key: Tensor, value: Tensor, mask: Tensor, prompt: int) -> Read:
        key, value = (torch.cat((x.roll(1, 0)[:, :, :6], x[:, :, 6:]), 2) for x in (key, value))
        return key, value, mask

    return of_whole_cache(port, change)


@seventh("cache-added-to-padding", CACHE, PLACE, everywhere=True)
def _(port: Port) -> bool | None:
    """New keys and values are added to what padding has left in their slots, not put there."""

    def change(key: Tensor, value: Tensor, mask: Tensor, prompt: int) -> Read:
        later = (torch.arange(key.shape[-2]) >= prompt)[:, None]
        key, value = (x + x[:, :, :1] * later for x in (key, value))
        return key, value, mask

    return of_whole_cache(port, change)


@seventh("cache-keys-saturate", CACHE, PLACE, everywhere=True)
def _(port: Port) -> bool | None:
    """Keys are stored in eight bits without a scale, and those that do not fit are cut off."""
    return of_read(port, lambda module, key, value: (key.clamp(-1, 1), value))


@seventh("cache-channels-in-pairs", (CACHE, "rope-layout-wrong"), PLACE, everywhere=True)
def _(port: Port) -> bool | None:
    """Keys are written with channels of both halves in turn, and read as if in halves."""

    def change(module: Any, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        paired = key.unflatten(-1, (2, -1)).transpose(-1, -2).flatten(-2)
        return torch.cat((paired[:, :, :-1], key[:, :, -1:]), 2), value

    return of_read(port, change)


@seventh("cache-ring-masked-as-straight", ("attention-window-wrong", CACHE, MASK), PLACE,
         everywhere=True)  # fmt: skip
def _(port: Port) -> bool | None:
    """Slots of a ring behind the newest one are hidden as not yet written, when they are old."""
    if not has_windows(port):
        return False
    lengths: dict[int, int] = {}

    def given(
        module: Any, query: Tensor, key: Tensor, value: Tensor, mask: Any, scaling: float
    ) -> tuple[Any, ...]:
        size, now = window_of(module), id(module)
        lengths[now] = lengths[now] + 1 if decoding(query, key) else key.shape[-2]
        if size and decoding(query, key):
            mask = blank(query, key) if mask is None else mask[..., : key.shape[-2]]
            seen = (lengths[now] - 1) % size + 1
            mask = hiding(mask, torch.arange(key.shape[-2]) < key.shape[-2] - seen)
        return query, key, value, mask, scaling

    return bool(wrap_attention(port, given))
