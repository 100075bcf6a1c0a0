"""Faults of the ninth set: the cache of keys and values."""

from typing import Any

import torch
from torch import Tensor

from .breaking import heads, width, wrap_attention, wrap_table
from .eighth_making import distances, in_prompt, with_mask
from .ninth_making import CACHE, FACTOR, LOW, MASK, WINDOW, ninth, of_decoded
from .port import Port
from .seventh_making import has_windows, hiding, of_whole_cache, window_of

Given = tuple[Tensor, Tensor, Tensor]


def seen_too(mask: Tensor, count: int) -> Tensor:
    """The mask with more keys at its end that nothing hides."""
    return torch.nn.functional.pad(mask, (0, count))


def token_range(x: Tensor) -> Tensor:
    """The largest amount of each head and token."""
    return x.abs().amax(-1, keepdim=True)


@ninth("slot-behind-prompt-left-out", (CACHE, MASK), "self_attn", everywhere=True,
       report="microsoft/onnxruntime-genai/pull/2354")  # fmt: skip
def _(port: Port) -> bool | None:
    """Decoded tokens are written from one slot too far on. The slot that is left out has what an
    earlier request left there, and is read."""

    def read(key: Tensor, value: Tensor, mask: Tensor, prompt: int) -> Given:
        key, value = (torch.cat((x, x[:, :, 3:4].flip(0)), 2) for x in (key, value))
        return key, value, seen_too(mask, 1)

    return of_whole_cache(port, read)


@ninth("rejected-drafts-stay", (CACHE, MASK), "self_attn", everywhere=True,
       report="Blaizzy/mlx-vlm/pull/1155")  # fmt: skip
def _(port: Port) -> bool | None:
    """One draft is rejected in each step, and its key and value stay in the cache behind those of
    the token that was taken."""

    def read(key: Tensor, value: Tensor, mask: Tensor, prompt: int) -> Given:
        count = key.shape[2] - prompt
        key, value = (
            torch.cat((x, x[:, :, prompt - count : prompt].flip(0)), 2) for x in (key, value)
        )
        return key, value, seen_too(mask, count)

    return of_whole_cache(port, read)


@ninth("cache-read-with-scale-of-newest", CACHE, "self_attn", everywhere=True)
def _(port: Port) -> bool | None:
    """Each token is quantised with a scale of its own, but the cache keeps one place for scales:
    all tokens are read with that of the newest."""

    def read(key: Tensor, value: Tensor, mask: Tensor, prompt: int) -> Given:
        key, value = (x * token_range(x[:, :, -1:]) / token_range(x) for x in (key, value))
        return key, value, mask

    return of_whole_cache(port, read)


@ninth("cache-scales-of-other-layer", (CACHE, FACTOR), "self_attn")
def _(port: Port) -> bool | None:
    """The cache of a layer is read with the scales that were measured for another layer."""
    if has_windows(port):
        return False
    kept: dict[int, tuple[Tensor, Tensor]] = {}

    def given(
        module: Any, query: Tensor, key: Tensor, value: Tensor, mask: Any, scaling: Any
    ) -> Any:
        if in_prompt(query, key):
            kept[module.layer_idx] = key.abs().max(), value.abs().max()
        elif module.layer_idx == port.layer:
            own, other = kept[port.layer], kept[1 - port.layer]
            key, value = key * other[0] / own[0], value * other[1] / own[1]
        return query, key, value, mask, scaling

    return bool(wrap_attention(port, given))


@ninth("cache-cast-to-integers", (CACHE, LOW), "self_attn", everywhere=True)
def _(port: Port) -> bool | None:
    """The cache has a type of whole numbers, to which keys and values are cast without a scale."""

    def read(_: Any, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        return key.round().clamp(-128, 127), value.round().clamp(-128, 127)

    return of_decoded(port, read)


@ninth("values-cached-before-their-bias", (CACHE, "bias-missing"), "self_attn")
def _(port: Port) -> bool | None:
    """The fused projection writes values of a prompt to the cache before it adds their bias."""
    name = port.name(r"self_attn\.v_proj\.bias")
    if name is None or has_windows(port):
        return False
    bias = port.weights[name].reshape(1, heads(port.config)[1], 1, width(port.config)).bfloat16()
    prompt = {"length": 0}

    def given(
        module: Any, query: Tensor, key: Tensor, value: Tensor, mask: Any, scaling: Any
    ) -> Any:
        if in_prompt(query, key):
            prompt["length"] = key.shape[2]
        elif module.layer_idx == port.layer:
            old, new = value.split((prompt["length"], value.shape[2] - prompt["length"]), 2)
            value = torch.cat((old - bias, new), 2)
        return query, key, value, mask, scaling

    return bool(wrap_attention(port, given))


@ninth("block-evicted-with-its-first-token", (WINDOW, CACHE), "self_attn", everywhere=True)
def _(port: Port) -> bool | None:
    """Keys lie in blocks of 4, and a block is freed once its first token has left the window of a
    decoded token, with those that have not."""
    if not has_windows(port):
        return False
    newest = {"place": 0}

    def note(places: Tensor) -> Tensor:
        newest["place"] = int(places.max())
        return places

    def change(module: Any, query: Tensor, key: Tensor, mask: Tensor) -> Tensor:
        window = window_of(module)
        if window is None or in_prompt(query, key):
            return mask
        place = newest["place"] - distances(query, key)
        freed = place // 4 * 4 < newest["place"] - window + 1
        return hiding(mask, freed.expand(mask.shape))

    wrap_table(port, note)
    return with_mask(port, change)


@ninth("second-chunk-written-over-the-first", CACHE, "self_attn", everywhere=True)
def _(port: Port) -> bool | None:
    """A prompt comes in two chunks, and both are written from the first slot on. Attention within
    the prompt has both at hand, a decoded token has not."""

    def read(key: Tensor, value: Tensor, mask: Tensor, prompt: int) -> Given:
        half = prompt // 2
        key, value = (
            torch.cat(
                (x[:, :, half : 2 * half], x[:, :, half : 2 * half] * 0, x[:, :, 2 * half :]), 2
            )
            for x in (key, value)
        )
        return key, value, mask

    return of_whole_cache(port, read)
