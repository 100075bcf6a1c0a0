"""Attention, caches and masks of the eleventh set."""

from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

from .breaking import has, width
from .eighth_making import in_prompt, with_groups, with_mask, with_scaling
from .eleventh_making import CACHE, MASK, eleventh
from .fifth_making import rewrite
from .ninth_making import eight_bits
from .port import Port
from .seventh_making import has_windows, of_attention, of_whole_cache, scores_of, values_of


def _longer(x: Tensor, count: int, axis: int) -> Tensor:
    """With so many zeros behind."""
    shape = list(x.shape)
    shape[axis] = count
    return torch.cat((x, x.new_zeros(shape)), axis)


@eleventh("attention-multiplier-on-top", "attention-scale-wrong", "self_attn", everywhere=True)
def _(port: Port) -> bool | None:
    """The attention multiplier is applied beside the usual root of the head size, which the kernel
    of the port always divides by: multiplier / sqrt(head_dim) for multiplier."""
    if not has(port, "attention_multiplier"):
        return False
    return with_scaling(port, lambda scaling: scaling * float(width(port.config)) ** -0.5)


@eleventh("softcap-before-scale", "softcap-wrong", "self_attn", everywhere=True)
def _(port: Port) -> bool | None:
    """The products of queries and keys are capped first and scaled then; the reference scales
    first."""
    if not has(port, "attn_logit_softcapping"):
        return False
    # scale * cap * tanh(x / cap) is a cap of scale * cap on what is scaled already.
    port.config.attn_logit_softcapping *= port.config.query_pre_attn_scalar**-0.5
    return None


@eleventh("window-one-wider", "attention-window-wrong", "self_attn", everywhere=True)
def _(port: Port) -> bool | None:
    """The window counts the keys behind the own one: distance <= window, where the reference has
    distance < window."""
    if not has_windows(port):
        return False
    port.config.sliding_window += 1
    return None


@eleventh("mask-of-tiles", MASK, "self_attn", everywhere=True)
def _(port: Port) -> bool | None:
    """The prompt kernel skips tiles that lie wholly in the future and masks nothing inside of a
    tile on the diagonal, so a token sees the rest of its tile of six."""

    def change(module: Any, query: Tensor, key: Tensor, mask: Tensor) -> Tensor:
        if not in_prompt(query, key):
            return mask
        tile = torch.arange(key.shape[-2]) // 6
        return mask.masked_fill(tile[:, None] == tile[None], 0.0)

    return with_mask(port, change)


@eleventh("decode-mask-of-bucket", (MASK, CACHE), "self_attn", everywhere=True)
def _(port: Port) -> bool | None:
    """The mask of decoding covers the whole bucket of 32 slots: keys and values of slots that are
    not written yet, all zero, take part in the softmax."""

    def change(
        key: Tensor, value: Tensor, mask: Tensor, prompt: int
    ) -> tuple[Tensor, Tensor, Tensor]:
        free = 32 - key.shape[-2]
        return _longer(key, free, 2), _longer(value, free, 2), _longer(mask, free, 3)

    return of_whole_cache(port, change)


@eleventh("decode-without-sinks", "attention-sinks-wrong", "self_attn", everywhere=True)
def _(port: Port) -> bool | None:
    """The kernel of prompts was given sinks, and that of decoded tokens has no place for them."""
    if port.config.model_type != "gpt_oss":
        return False

    def around(original: Any) -> Any:
        def attend(module: Any, query: Tensor, key: Tensor, *rest: Any, **kwargs: Any) -> Any:
            sinks = module.sinks if in_prompt(query, key) else torch.full_like(module.sinks, -1e4)
            groups = module.num_key_value_groups
            kernel = SimpleNamespace(sinks=sinks, num_key_value_groups=groups, training=False)
            return original(kernel, query, key, *rest, **kwargs)

        return attend

    return bool(port.wrap("eager_attention_forward", around))


@eleventh("kv-heads-tiled", "gqa-grouping-wrong", "self_attn", everywhere=True)
def _(port: Port) -> bool | None:
    """Keys and values are repeated as a whole (0 1 0 1), not each by itself (0 0 1 1), before heads
    of queries meet them."""
    return with_groups(port, lambda heads, groups, prompt: torch.arange(heads) % groups)


@eleventh("cache-overwrites-last-prompt", (CACHE, MASK), "self_attn", everywhere=True)
def _(port: Port) -> bool | None:
    """The first decoded token is written to slot length - 1, over the last token of the prompt;
    later ones follow behind it."""

    def change(
        key: Tensor, value: Tensor, mask: Tensor, prompt: int
    ) -> tuple[Tensor, Tensor, Tensor]:
        kept = [place for place in range(key.shape[-2]) if place != prompt - 1]
        return key[:, :, kept], value[:, :, kept], mask[..., kept]

    return of_whole_cache(port, change)


@eleventh("cache-of-other-request", CACHE, "self_attn", everywhere=True)
def _(port: Port) -> bool | None:
    """Decoding addresses lines of the cache by another order of requests than the prompt did: each
    row of the batch goes on behind the prompt of the other row."""

    def change(
        key: Tensor, value: Tensor, mask: Tensor, prompt: int
    ) -> tuple[Tensor, Tensor, Tensor]:
        def lines(x: Tensor) -> Tensor:
            return torch.cat((x[:, :, :prompt].flip(0), x[:, :, prompt:]), 2)

        return lines(key), lines(value), mask

    return of_whole_cache(port, change)


@eleventh("olmo-norm-of-rank", "qk-norm-wrong", "self_attn.(q_norm|k_norm)", everywhere=True)
def _(port: Port) -> bool | None:
    """Norms over all heads of queries and keys take the variance of what one of two ranks holds."""
    if port.config.model_type != "olmo2":
        return False

    def make(norm: Any, _: Any) -> Any:
        def forward(x: Tensor) -> Tensor:
            ranks = x.float().unflatten(-1, (2, -1))
            variance = ranks.pow(2).mean(-1, keepdim=True)
            found = ranks * torch.rsqrt(variance + norm.variance_epsilon)
            scaled: Tensor = norm.weight * found.flatten(-2)
            return scaled.to(x.dtype)

        return forward

    rewrite(port, r"self_attn\.(q_norm|k_norm)\Z", make)
    return None


@eleventh(
    "qk-norm-without-offset",
    ("norm-weight-offset", "qk-norm-wrong"),
    "self_attn.(q_norm|k_norm)",
    everywhere=True,
)
def _(port: Port) -> bool | None:
    """The norms of queries and keys of Gemma are of the library's common class, which multiplies by
    w where the reference multiplies by 1 + w."""
    if port.config.model_type != "gemma3_text":
        return False

    def make(norm: Any, _: Any) -> Any:
        return lambda x: (norm._norm(x.float()) * norm.weight.float()).to(x.dtype)

    rewrite(port, r"self_attn\.(q_norm|k_norm)\Z", make)
    return None


@eleventh("probabilities-in-eight-bits", "precision-ordering", "self_attn", everywhere=True)
def _(port: Port) -> bool | None:
    """The attention kernel takes its path for eight bits: what the softmax gives and the values are
    both rounded to FP8 before they are multiplied."""
    if port.config.model_type in ("gemma2", "gpt_oss"):
        return False

    def attend(
        module: Any, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, scaling: float
    ) -> Tensor:
        shares = scores_of(query, key, mask, scaling).softmax(-1)
        found: Tensor = eight_bits(shares).to(value.dtype) @ eight_bits(values_of(query, value))
        return found

    return of_attention(port, attend)
