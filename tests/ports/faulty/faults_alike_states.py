"""Seen faults that could be taken for each other: rotations, masks and caches."""

from typing import Any

import torch
from torch import Tensor

from .breaking import has, wrap_rotary, wrap_table
from .eighth_making import distances, in_prompt, with_mask
from .faults_alike import ATTENTION, alike
from .faults_third_more import TABLE
from .fifth_making import of_frequencies
from .port import Port
from .seventh_making import has_windows, hiding, of_whole_cache, window_of

CACHE, MASK, WINDOW = "kv-cache-wrong", "wrong-masking", "attention-window-wrong"


@alike("decoded-not-turned", "rope-missing", ATTENTION, everywhere=True)
def _(port: Port) -> bool | None:
    def change(original: Any, q: Tensor, k: Tensor, cos: Tensor, sin: Tensor) -> Any:
        return (q, k) if q.shape[2] == 1 else original(q, k, cos, sin)

    return bool(wrap_rotary(port, change))


@alike("positions-by-thirds", ("rope-positions-wrong", "rope-scaling-missing"), TABLE, True)
def _(port: Port) -> bool | None:
    wrap_table(port, lambda places: places / 3)
    return None


@alike("base-of-no-model", "rope-theta-wrong", TABLE, everywhere=True)
def _(port: Port) -> bool | None:
    given = getattr(port.config, "rope_parameters", None)
    if not given or given.get("rope_type") != "default" or "rope_theta" not in given:
        return False
    given["rope_theta"] = 37_000.0
    return None


@alike("slow-frequencies-lost", ("rope-partial-wrong", "rope-scaling-missing"), TABLE, True)
def _(port: Port) -> bool | None:
    """The lower half of the frequencies is zero."""
    of_frequencies(port, lambda f: f * (torch.arange(len(f)) < len(f) // 2))
    return None


@alike("fast-frequency-doubled", ("rope-scaling-missing", "rope-positions-wrong"), TABLE, True)
def _(port: Port) -> bool | None:
    """The frequencies are those of half the context."""
    of_frequencies(port, lambda f: f * 1.37)
    return None


@alike("second-chunk-without-first", (CACHE, MASK), ATTENTION, everywhere=True)
def _(port: Port) -> bool | None:
    """The second chunk of a prompt does not find the first one in the cache."""
    if has_windows(port):
        return False

    def change(module: Any, query: Tensor, key: Tensor, mask: Tensor) -> Tensor:
        if not in_prompt(query, key):
            return mask
        at = torch.arange(query.shape[-2])
        return hiding(mask, (at[:, None] >= 8) & (at[None] < 8))

    return with_mask(port, change)


@alike("chunk-without-block-before", CACHE, ATTENTION, everywhere=True)
def _(port: Port) -> bool | None:
    """Each chunk finds all but the last block of what was before."""
    if has_windows(port):
        return False

    def change(module: Any, query: Tensor, key: Tensor, mask: Tensor) -> Tensor:
        if not in_prompt(query, key):
            return mask
        at = torch.arange(query.shape[-2])
        start = at[:, None] // 8 * 8
        return hiding(mask, (at[None] < start) & (at[None] >= start - 4))

    return with_mask(port, change)


@alike("ring-overwritten-by-chunk", (CACHE, WINDOW), ATTENTION, everywhere=True)
def _(port: Port) -> bool | None:
    """A ring as long as the window takes a chunk before its first queries have read."""
    if not has_windows(port):
        return False

    def change(module: Any, query: Tensor, key: Tensor, mask: Tensor) -> Tensor:
        window = window_of(module)
        if not in_prompt(query, key) or window is None:
            return mask
        at = torch.arange(query.shape[-2])
        last = at[:, None] // 4 * 4 + 3
        return hiding(mask, at[None] <= last - window)

    return with_mask(port, change)


@alike("prefix-not-read", (CACHE, MASK), ATTENTION, everywhere=True)
def _(port: Port) -> bool | None:
    """A prefix that was computed before is found by its own tokens, not by those behind it."""
    if has_windows(port):
        return False

    def change(module: Any, query: Tensor, key: Tensor, mask: Tensor) -> Tensor:
        at = torch.arange(key.shape[-2])
        own = at[-query.shape[-2] :]
        return hiding(mask, (own[:, None] >= 5) & (at[None] < 5))

    return with_mask(port, change)


@alike("decoded-padding-masked", (CACHE, MASK), ATTENTION, everywhere=True)
def _(port: Port) -> bool | None:
    """Decoding takes the first three tokens for padding."""

    def read(key: Tensor, value: Tensor, mask: Tensor, prompt: int) -> tuple[Tensor, ...]:
        return key, value, hiding(mask, torch.arange(key.shape[-2]) < 3)

    return False if has_windows(port) else of_whole_cache(port, read)  # type: ignore[arg-type, unused-ignore]


@alike("keys-of-padding-seen", MASK, ATTENTION, everywhere=True)
def _(port: Port) -> bool | None:
    """Three empty keys at the end of the bucket are not masked."""
    from .breaking import wrap_attention

    def given(
        module: Any, query: Tensor, key: Tensor, value: Tensor, mask: Any, scaling: Any
    ) -> Any:
        if mask is None or has(port, "sliding_window"):
            return query, key, value, mask, scaling
        key, value = (torch.cat((x, x[:, :, :3] * 0), 2) for x in (key, value))
        return query, key, value, torch.nn.functional.pad(mask, (0, 3)), scaling

    return False if has(port, "sliding_window") else bool(wrap_attention(port, given))


@alike("one-empty-key-seen", MASK, ATTENTION, everywhere=True)
def _(port: Port) -> bool | None:
    """One empty key in front of the prompt is not masked."""
    from .breaking import wrap_attention

    def given(
        module: Any, query: Tensor, key: Tensor, value: Tensor, mask: Any, scaling: Any
    ) -> Any:
        key, value = (torch.cat((x, x[:, :, :1] * 0), 2) for x in (key, value))
        return query, key, value, torch.nn.functional.pad(mask, (0, 1)), scaling

    return False if has_windows(port) else bool(wrap_attention(port, given))


@alike("near-keys-favoured", "none", ATTENTION, everywhere=True)
def _(port: Port) -> bool | None:
    """A bias of distance that the model does not have."""
    return with_mask(port, lambda module, q, k, mask: mask - 0.3 * distances(q, k).clamp(min=0))


@alike("window-of-keys-seen-by-blocks", (WINDOW, MASK), ATTENTION, everywhere=True)
def _(port: Port) -> bool | None:
    """A kernel leaves out whole tiles that begin before the window."""
    if not has_windows(port):
        return False

    def change(module: Any, query: Tensor, key: Tensor, mask: Tensor) -> Tensor:
        window = window_of(module)
        if window is None:
            return mask
        far = distances(query, key)
        tile = torch.arange(key.shape[-2])[None] // 4 * 4
        row = far + torch.arange(key.shape[-2])[None]
        return hiding(mask, row - tile >= window)

    return with_mask(port, change)
