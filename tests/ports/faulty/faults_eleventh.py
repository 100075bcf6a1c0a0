"""Attention, caches and masks of the eleventh set."""

from .eleventh_making import CACHE, MASK, eleventh
from .port import Port


@eleventh("attention-multiplier-on-top", "attention-scale-wrong", "self_attn", everywhere=True)
def _(port: Port) -> bool | None:
    """The attention multiplier is applied beside the usual root of the head size, which the kernel of
    the port always divides by: multiplier / sqrt(head_dim) for multiplier."""
    raise NotImplementedError


@eleventh("softcap-before-scale", "softcap-wrong", "self_attn", everywhere=True)
def _(port: Port) -> bool | None:
    """The products of queries and keys are capped first and scaled then; the reference scales first."""
    raise NotImplementedError


@eleventh("window-one-wider", "attention-window-wrong", "self_attn", everywhere=True)
def _(port: Port) -> bool | None:
    """The window counts the keys behind the own one: distance <= window, where the reference has
    distance < window."""
    raise NotImplementedError


@eleventh("mask-of-tiles", MASK, "self_attn", everywhere=True)
def _(port: Port) -> bool | None:
    """The prompt kernel skips tiles that lie wholly in the future and masks nothing inside of a tile
    on the diagonal, so a token sees the rest of its tile of six."""
    raise NotImplementedError


@eleventh("decode-mask-of-bucket", (MASK, CACHE), "self_attn", everywhere=True)
def _(port: Port) -> bool | None:
    """The mask of decoding covers the whole bucket of 32 slots: keys and values of slots that nobody
    has written yet, all zero, take part in the softmax."""
    raise NotImplementedError


@eleventh("sinks-of-first-rank", "attention-sinks-wrong", "self_attn")
def _(port: Port) -> bool | None:
    """Sinks are not sharded: each of two ranks takes as many as it has heads from the start of the
    whole vector."""
    raise NotImplementedError


@eleventh("kv-heads-tiled", "gqa-grouping-wrong", "self_attn", everywhere=True)
def _(port: Port) -> bool | None:
    """Keys and values are repeated as a whole (0 1 0 1), not each by itself (0 0 1 1), before heads of
    queries meet them."""
    raise NotImplementedError


@eleventh("cache-overwrites-last-prompt", CACHE, "self_attn", everywhere=True)
def _(port: Port) -> bool | None:
    """The first decoded token is written to slot length - 1, over the last token of the prompt; later
    ones follow behind it."""
    raise NotImplementedError


@eleventh("cache-of-other-request", CACHE, "self_attn", everywhere=True)
def _(port: Port) -> bool | None:
    """Decoding addresses lines of the cache by another order of requests than the prompt did: each row
    of the batch goes on behind the prompt of the other row."""
    raise NotImplementedError


@eleventh("olmo-norm-of-rank", "qk-norm-wrong", "self_attn.(q_norm|k_norm)", everywhere=True)
def _(port: Port) -> bool | None:
    """Norms over all heads of queries and keys take the variance of what one of two ranks holds."""
    raise NotImplementedError


@eleventh("qk-norm-without-offset", ("norm-weight-offset", "qk-norm-wrong"), "self_attn.(q_norm|k_norm)", everywhere=True)
def _(port: Port) -> bool | None:
    """The norms of queries and keys of Gemma are of the library's common class, which multiplies by w
    where the reference multiplies by 1 + w."""
    raise NotImplementedError
