"""Faults of the third set, written without knowledge of the hypotheses: attention and its cache.

Rotary embeddings are in ``faults_third_more``, blocks and logits in ``faults_third_rest``, experts,
norms and alien faults in ``faults_third_last``.
"""

import math

import torch

from .breaking import (
    CAP,
    SCALE,
    WINDOW,
    by_head,
    has,
    heads,
    mask,
    width,
    wrap_attention,
    wrap_scaling,
)
from .port import fault

MASK, CACHE, GROUPS = "wrong-masking", "kv-cache-wrong", "gqa-grouping-wrong"
PLACE = "(self_attn|attention)"
POST = ("glm4", "olmo2", "gemma2", "gemma3_text")  # a norm behind each branch


def slides(port, module):
    """Whether the layer of an attention has a window."""
    kinds = getattr(port.config, "layer_types", None)
    return not kinds or kinds[module.layer_idx] == "sliding_attention"


def own_attention(port, weigh):
    """``weigh(products, mask, scaling, softcap)`` gives the weights of the values."""
    if port.config.model_type == "gpt_oss":
        return False

    def around(original):
        def attend(module, query, key, value, attention_mask, scaling=None, softcap=None, **kwargs):
            many = query.shape[1] // key.shape[1]
            key, value = (each.repeat_interleave(many, 1) for each in (key, value))
            found = weigh((query @ key.mT).float(), attention_mask, scaling, softcap)
            found = found.to(query.dtype)
            return (found @ value).transpose(1, 2).contiguous(), found

        return attend

    return port.wrap("eager_attention_forward", around)


def cached(port, change):
    """``change(module, key, value, steps)`` gives what the attention of a decoded token sees."""
    steps: dict[int, int] = {}

    def around(module, query, key, value, mask, scaling):
        number = module.layer_idx
        steps[number] = 0 if query.shape[-2] > 1 else steps[number] + 1
        key, value = change(module, key, value, steps[number])
        return query, key, value, mask, scaling

    return wrap_attention(port, around)


@fault("third-scale-prescalar-ignored", SCALE, "self_attn", everywhere=True)
def _(port):
    if getattr(port.config, "query_pre_attn_scalar", None) in (None, width(port.config)):
        return False
    port.config.query_pre_attn_scalar = width(port.config)


@fault("third-scale-padded-head", SCALE, PLACE, everywhere=True)
def _(port):
    """The kernel pads heads to 128 channels, and scales as if they all were there."""
    by = (width(port.config) / 128) ** 0.5
    return wrap_attention(port, lambda module, q, k, v, mask, s: (q, k, v, mask, s * by))


@fault("third-scale-inverse", SCALE, PLACE)
def _(port):
    return wrap_scaling(port, lambda scale: 1 / scale)


@fault("third-scale-base-two", SCALE, PLACE, everywhere=True)
def _(port):
    """A kernel that takes powers of two, without the log2(e) that belongs to them."""
    if has(port, "attn_logit_softcapping") or port.config.model_type == "gpt_oss":
        return False
    by = math.log(2)
    return wrap_attention(port, lambda module, q, k, v, mask, s: (q, k, v, mask, s * by))


@fault("third-scale-by-layer-number", SCALE, PLACE)
def _(port):
    if port.layer == 0:
        return False
    return wrap_scaling(port, lambda scale: scale / (port.layer + 1))


@fault("third-cap-before-scale", CAP, "self_attn", everywhere=True)
def _(port):
    if not has(port, "attn_logit_softcapping"):
        return False
    return own_attention(
        port, lambda x, mask, s, cap: ((x / cap).tanh() * cap * s + mask).softmax(-1)
    )


@fault("third-cap-behind-mask", (CAP, MASK), "self_attn", everywhere=True)
def _(port):
    if not has(port, "attn_logit_softcapping"):
        return False
    return own_attention(
        port, lambda x, mask, s, cap: (((x * s + mask) / cap).tanh() * cap).softmax(-1)
    )


@fault("third-cap-not-multiplied-back", CAP, "self_attn", everywhere=True)
def _(port):
    if not has(port, "attn_logit_softcapping"):
        return False
    return own_attention(port, lambda x, mask, s, cap: ((x * s / cap).tanh() + mask).softmax(-1))


@fault("third-window-layers-exchanged", WINDOW, "self_attn", everywhere=True)
def _(port):
    if port.config.model_type not in ("gemma2", "gpt_oss"):
        return False
    port.config.layer_types = port.config.layer_types[::-1]


@fault("third-window-on-all-layers", WINDOW, "self_attn", everywhere=True)
def _(port):
    kinds = getattr(port.config, "layer_types", None) or []
    if "sliding_attention" not in kinds or "full_attention" not in kinds:
        return False
    size = port.config.sliding_window
    return mask(port, lambda r, c, m: m & (c > r - size))


@fault("third-window-both-sides", WINDOW, "self_attn", everywhere=True)
def _(port):
    """The window is taken to be centred: half of it lies in the future, and is masked."""
    if not has(port, "sliding_window"):
        return False
    port.config.sliding_window //= 2


@fault("third-window-in-prefill-only", WINDOW, "self_attn", everywhere=True)
def _(port):
    if not has(port, "sliding_window"):
        return False
    size = port.config.sliding_window
    port.config.sliding_window = 1_000

    def change(module, query, key, value, mask, scaling):
        count = query.shape[-2]
        if count > 1 and slides(port, module):
            places = torch.arange(count)
            far = places[None] <= places[:, None] - size
            mask = mask.masked_fill(far, torch.finfo(mask.dtype).min)
        return query, key, value, mask, scaling

    return wrap_attention(port, change)


@fault("third-cache-ring-too-short", (CACHE, WINDOW), "self_attn", everywhere=True)
def _(port):
    if not has(port, "sliding_window"):
        return False
    size = port.config.sliding_window // 2

    def change(module, query, key, value, mask, scaling):
        if query.shape[-2] == 1 and slides(port, module):
            old = torch.arange(key.shape[-2]) < key.shape[-2] - size
            mask = mask.masked_fill(old, torch.finfo(mask.dtype).min)
        return query, key, value, mask, scaling

    return wrap_attention(port, change)


@fault("third-mask-first-token-as-padding", MASK, PLACE, everywhere=True)
def _(port):
    if has(port, "sliding_window"):
        return False
    return mask(port, lambda r, c, m: m & ((c > 0) | (r == 0)))


@fault("third-mask-prefix", MASK, PLACE, everywhere=True)
def _(port):
    return mask(port, lambda r, c, m: m | ((r < 8) & (c < 8)))


@fault("third-mask-transposed", MASK, PLACE, everywhere=True)
def _(port):
    if has(port, "sliding_window"):
        return False
    return mask(port, lambda r, c, m: c >= r if len(r) > 1 else m)


@fault("third-mask-top-left", (MASK, CACHE), PLACE, everywhere=True)
def _(port):
    """The mask of a decoded token is cut out of the upper left corner."""
    if has(port, "sliding_window"):
        return False
    return mask(port, lambda r, c, m: m & ((len(r) > 1) | (c == 0)))


@fault("third-mask-added-as-ones", MASK, PLACE, everywhere=True)
def _(port):
    return wrap_attention(
        port, lambda module, q, k, v, mask, s: (q, k, v, (mask > -1).to(q.dtype), s)
    )


@fault("third-mask-multiplied", MASK, PLACE, everywhere=True)
def _(port):
    if has(port, "attn_logit_softcapping"):
        return False
    return own_attention(port, lambda x, mask, s, cap: (x * s * (mask > -1)).softmax(-1))


@fault("third-mask-behind-softmax", MASK, PLACE, everywhere=True)
def _(port):
    if has(port, "attn_logit_softcapping"):
        return False
    return own_attention(port, lambda x, mask, s, cap: (x * s).softmax(-1) * (mask > -1))


@fault("third-gqa-first-group-only", GROUPS, "self_attn", everywhere=True)
def _(port):
    if heads(port.config)[1] == heads(port.config)[0]:
        return False
    return port.wrap("repeat_kv", lambda original: (
        lambda x, n: x[:, :1].expand(-1, n * x.shape[1], -1, -1)))  # fmt: skip


@fault("third-gqa-values-tiled", GROUPS, "self_attn", everywhere=True)
def _(port):
    """Keys are repeated rightly, values (the second call) are tiled."""
    if heads(port.config)[1] == heads(port.config)[0]:
        return False
    calls = []

    def around(original):
        def repeat(x, n):
            calls.append(n)
            return original(x, n) if len(calls) % 2 else x.repeat(1, n, 1, 1)

        return repeat

    return port.wrap("repeat_kv", around)


@fault("third-gqa-group-one-head-late", GROUPS, "self_attn", everywhere=True)
def _(port):
    if heads(port.config)[1] == heads(port.config)[0]:
        return False
    return port.wrap("repeat_kv", lambda original: lambda x, n: original(x, n).roll(1, 1))


@fault("third-heads-of-values-reversed", "head-order-wrong", "self_attn(.v_proj)?")
def _(port):
    size = width(port.config)

    def change(w):
        return by_head(w, size, lambda n: torch.arange(n).flip(0))

    if heads(port.config)[1] < 2:
        return False
    port.scale_rows(r"self_attn\.v_proj\.bias", change)
    return port.scale_rows(r"self_attn\.v_proj\.weight", change)


@fault("third-values-scaled-as-queries", "missing-multiplier", PLACE, everywhere=True)
def _(port):
    if port.config.model_type in POST:
        return False
    by = width(port.config) ** -0.5
    return wrap_attention(port, lambda module, q, k, v, mask, s: (q, k, v * by, mask, s))


@fault("third-sinks-exponentiated", "attention-sinks-wrong", "self_attn")
def _(port):
    """Stored as summands of the denominator, and read as logits."""
    return port.scale_rows(r"self_attn\.sinks", lambda s: s.exp())


@fault("third-cache-values-late", CACHE, PLACE, everywhere=True)
def _(port):
    """The value of a decoded token lies one place too far: it reads the one before."""

    def change(module, key, value, steps):
        if steps:
            steps = min(steps, value.shape[-2] - 1)
            late = value[..., -steps - 1 : -1, :]
            value = torch.cat((value[..., :-steps, :], late), -2)
        return key, value

    return cached(port, change)


@fault("third-cache-of-other-row", CACHE, PLACE, everywhere=True)
def _(port):
    def other(x):
        return torch.cat((x[..., :-1, :].roll(1, 0), x[..., -1:, :]), -2)

    return cached(port, lambda module, key, value, steps: (
        (other(key), other(value)) if steps else (key, value)))  # fmt: skip


@fault("third-cache-slot-overwritten", CACHE, PLACE, everywhere=True)
def _(port):
    """Each decoded token is written over the one before."""
    if has(port, "sliding_window"):
        return False

    def without(x, steps):
        return torch.cat((x[..., : x.shape[-2] - steps, :], x[..., -1:, :]), -2)

    def around(module, query, key, value, mask, scaling):
        if query.shape[-2] > 1:
            module.prompt = key.shape[-2]
            return query, key, value, mask, scaling
        steps = key.shape[-2] - module.prompt
        mask = mask[..., : module.prompt + 1]
        return query, without(key, steps), without(value, steps), mask, scaling

    return wrap_attention(port, around)


@fault("third-cache-of-first-layer", CACHE, PLACE, everywhere=True)
def _(port):
    """All layers read the cache of the first one."""
    kinds = getattr(port.config, "layer_types", None) or []
    if len(set(kinds)) > 1:
        return False
    first = {}

    def change(module, key, value, steps):
        if module.layer_idx == 0:
            first["key"], first["value"] = key, value
        elif steps:
            key, value = (torch.cat((first[name][..., :-1, :], own[..., -1:, :]), -2)
                          for name, own in (("key", key), ("value", value)))  # fmt: skip
        return key, value

    return cached(port, change)


@fault("third-cache-padding-seen", (CACHE, MASK), PLACE, everywhere=True)
def _(port):
    """The cache is of fixed length, and decoded tokens see what is not written yet."""

    def change(module, query, key, value, mask, scaling):
        if query.shape[-2] == 1:
            room = (0, 0, 8, 0)
            key, value = (torch.nn.functional.pad(each, room) for each in (key, value))
            mask = torch.nn.functional.pad(mask, (8, 0))
        return query, key, value, mask, scaling

    return wrap_attention(port, change)
