"""Faults of the seventh set: scales, masks, windows, sinks and soft caps of attention."""

from typing import Any

import torch
from torch import Tensor

from .breaking import has, wrap_attention
from .fifth_making import decoding
from .port import Port
from .seventh_making import (
    alien,
    has_windows,
    hiding,
    of_attention,
    of_whole_cache,
    scores_of,
    seventh,
    values_of,
    window_of,
)

SCALE, MASK, WINDOW = "attention-scale-wrong", "wrong-masking", "attention-window-wrong"
SINKS, PLACE = "attention-sinks-wrong", "self_attn"


def of_scale(port: Port, change: Any) -> bool:
    """``change(scaling, decodes)`` is the factor of scores."""

    def given(
        module: Any, query: Tensor, key: Tensor, value: Tensor, mask: Any, scaling: float
    ) -> tuple[Any, ...]:
        return query, key, value, mask, change(scaling, decoding(query, key))

    return bool(wrap_attention(port, given))


@seventh("decoded-scores-unscaled", SCALE, PLACE, everywhere=True)
def _(port: Port) -> bool | None:
    """The kernel that decodes expects queries that are scaled, and they are not."""
    return of_scale(port, lambda scaling, decodes: 1.0 if decodes else scaling)


@seventh("prescalar-without-root", SCALE, PLACE, everywhere=True)
def _(port: Port) -> bool | None:
    """Scores are divided by the scalar of the configuration, and not by its root."""
    if not has(port, "query_pre_attn_scalar"):
        return False
    scalar = port.config.query_pre_attn_scalar
    return of_scale(port, lambda scaling, decodes: 1 / scalar)


@seventh("attention-multiplier-under-root", SCALE, PLACE, everywhere=True)
def _(port: Port) -> bool | None:
    """The multiplier of attention is taken for a width, whose root divides scores."""
    if not has(port, "attention_multiplier"):
        return False
    multiplier = port.config.attention_multiplier
    return of_scale(port, lambda scaling, decodes: multiplier**-0.5)


@seventh("scale-twice-in-prompt-only", SCALE, PLACE, everywhere=True)
def _(port: Port) -> bool | None:
    """The flash kernel of the prompt scales queries that were scaled; decoding has another path."""
    return of_scale(port, lambda scaling, decodes: scaling if decodes else scaling**2)


@seventh("mask-on-first-rank-only", MASK, PLACE, everywhere=True)
def _(port: Port) -> bool | None:
    """Heads of the second rank are run without the mask."""

    def given(
        module: Any, query: Tensor, key: Tensor, value: Tensor, mask: Any, scaling: float
    ) -> tuple[Any, ...]:
        if mask is not None:
            mask = mask.repeat(1, query.shape[1], 1, 1)
            mask[:, query.shape[1] // 2 :] = 0
        return query, key, value, mask, scaling

    return bool(wrap_attention(port, given))


@seventh("second-chunk-sees-itself-only", (MASK, "kv-cache-wrong"), PLACE, everywhere=True)
def _(port: Port) -> bool | None:
    """The prompt comes in two chunks, and the second one does not read what the first has left."""
    if port.config.model_type == "mistral":
        return False

    def given(
        module: Any, query: Tensor, key: Tensor, value: Tensor, mask: Any, scaling: float
    ) -> tuple[Any, ...]:
        if mask is not None and not decoding(query, key):
            place = torch.arange(key.shape[-2]) >= key.shape[-2] // 2
            mask = hiding(mask, place[:, None] & ~place[None])
        return query, key, value, mask, scaling

    return bool(wrap_attention(port, given))


@seventh("window-on-first-rank-only", WINDOW, PLACE, everywhere=True)
def _(port: Port) -> bool | None:
    """Heads of the second rank have the usual mask in layers with windows."""
    if not has_windows(port):
        return False

    def given(
        module: Any, query: Tensor, key: Tensor, value: Tensor, mask: Any, scaling: float
    ) -> tuple[Any, ...]:
        if mask is not None and window_of(module) and not decoding(query, key):
            place = torch.arange(key.shape[-2])
            mask = mask.repeat(1, query.shape[1], 1, 1)
            mask[:, query.shape[1] // 2 :] = hiding(
                torch.zeros_like(mask[:, :1]), place[:, None] < place
            )
        return query, key, value, mask, scaling

    return bool(wrap_attention(port, given))


@seventh("decoded-window-on-every-layer", (WINDOW, "kv-cache-wrong"), PLACE, everywhere=True)
def _(port: Port) -> bool | None:
    """The cache has one size for all layers, that of a window: older keys are gone everywhere."""
    if not has_windows(port) or port.config.model_type == "mistral":
        return False
    size = port.config.sliding_window

    def change(
        key: Tensor, value: Tensor, mask: Tensor, prompt: int
    ) -> tuple[Tensor, Tensor, Tensor]:
        count = key.shape[-2]
        return key, value, hiding(mask, torch.arange(count) < count - size)

    return of_whole_cache(port, change)


@seventh("sinks-in-place-of-first-key", SINKS, PLACE, everywhere=True)
def _(port: Port) -> bool | None:
    """There is no column for sinks: they take that of the first key, which is lost."""
    if port.config.model_type != "gpt_oss":
        return False

    def attend(
        module: Any, query: Tensor, key: Tensor, value: Tensor, mask: Any, scaling: float
    ) -> Tensor:
        scores = scores_of(query, key, mask, scaling)
        scores[..., 0] = module.sinks.float()[None, :, None]
        weights = scores.softmax(-1)
        weights[..., 0] = 0
        return weights.to(value.dtype) @ values_of(query, value)

    return of_attention(port, attend)


@seventh("sinks-while-decoding-only", SINKS, PLACE, everywhere=True)
def _(port: Port) -> bool | None:
    """The kernel of the prompt has no sinks, that of decoding has them."""
    if port.config.model_type != "gpt_oss":
        return False

    def attend(
        module: Any, query: Tensor, key: Tensor, value: Tensor, mask: Any, scaling: float
    ) -> Tensor:
        scores = scores_of(query, key, mask, scaling)
        if decoding(query, key):
            sinks = module.sinks.float()[None, :, None, None].expand(*scores.shape[:-1], 1)
            scores = torch.cat((scores, sinks), -1)
        weights = scores.softmax(-1)[..., : key.shape[-2]]
        return weights.to(value.dtype) @ values_of(query, value)

    return of_attention(port, attend)


@seventh("cap-while-decoding-only", "softcap-wrong", PLACE, everywhere=True)
def _(port: Port) -> bool | None:
    """The flash kernel of the prompt knows no soft cap."""
    if not has(port, "attn_logit_softcapping"):
        return False

    def around(original: Any) -> Any:
        def attend(module: Any, query: Tensor, key: Tensor, *rest: Any, **options: Any) -> Any:
            if not decoding(query, key):
                options["softcap"] = None
            return original(module, query, key, *rest, **options)

        return attend

    return bool(port.wrap("eager_attention_forward", around))


@seventh("probabilities-in-eight-bits", "precision-ordering", PLACE, everywhere=True)
def _(port: Port) -> bool | None:
    """Probabilities go down to eight bits for the product with values, which are in sixteen."""
    if has(port, "attn_logit_softcapping") or port.config.model_type == "gpt_oss":
        return False

    def attend(
        module: Any, query: Tensor, key: Tensor, value: Tensor, mask: Any, scaling: float
    ) -> Tensor:
        weights = scores_of(query, key, mask, scaling).softmax(-1).to(torch.float8_e4m3fn)
        return weights.to(value.dtype) @ values_of(query, value)

    return of_attention(port, attend)


@alien("running-maximum-not-rescaled", PLACE, everywhere=True)
def _(port: Port) -> bool | None:
    """Keys come in tiles; what was summed is not scaled down when a later one has a new maximum."""
    if has(port, "attn_logit_softcapping") or port.config.model_type == "gpt_oss":
        return False

    def attend(
        module: Any, query: Tensor, key: Tensor, value: Tensor, mask: Any, scaling: float
    ) -> Tensor:
        scores = scores_of(query, key, mask, scaling)
        highest = torch.stack([tile.amax(-1) for tile in scores.split(8, -1)], -1).cummax(-1)[0]
        highest = highest.repeat_interleave(8, -1)[..., : scores.shape[-1]]
        powers = (scores - highest).exp() * (scores > torch.finfo(query.dtype).min / 2)
        weights = powers / powers.sum(-1, keepdim=True)
        return weights.to(value.dtype) @ values_of(query, value)

    return of_attention(port, attend)


@alien("values-one-token-late", PLACE, everywhere=True)
def _(port: Port) -> bool | None:
    """Values of the prompt are copied with an offset: a key comes with that of the token before."""

    def given(
        module: Any, query: Tensor, key: Tensor, value: Tensor, *rest: Any
    ) -> tuple[Any, ...]:
        if not decoding(query, key):
            value = torch.cat((value[:, :, :1], value[:, :, :-1]), 2)
        return query, key, value, *rest

    return bool(wrap_attention(port, given))
