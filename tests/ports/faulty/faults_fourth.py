"""Faults of the fourth set, written without knowledge of the hypotheses: attention and its mask.

Caches, heads and projections are in ``faults_fourth_cache``, rotary embeddings in
``faults_fourth_rotary``, blocks and logits in ``faults_fourth_block``, experts in
``faults_fourth_experts``, and those that have no canonical cause in ``faults_fourth_alien``. The
first cause is the canonical one, those behind it are as right.
"""

import math

import torch

from .breaking import (
    CAP,
    SCALE,
    WINDOW,
    has,
    heads,
    mask,
    width,
    wrap_attention,
    wrap_scaling,
)
from .faults_third import CACHE, MASK, own_attention, slides
from .faults_third_more import share
from .port import fault

SINKS, PLACE = "attention-sinks-wrong", "self_attn"


def windowed(port, seen):
    """``seen(rows, columns, size)`` says what the layers with a window see instead."""
    if not has(port, "sliding_window") or port.config.sliding_window > 16:
        return False
    size = port.config.sliding_window
    port.config.sliding_window = 1_000  # the cache forgets nothing

    def change(module, query, key, value, mask, scaling):
        if slides(port, module):
            total, count = key.shape[-2], query.shape[-2]
            row = torch.arange(total - count, total)[:, None]
            allowed = seen(row, torch.arange(total)[None], size)
            mask = mask.masked_fill(~allowed, torch.finfo(mask.dtype).min)
        return query, key, value, mask, scaling

    return wrap_attention(port, change)


def capped(scores, cap):
    return (scores / cap).tanh() * cap if cap else scores


def beside_sinks(port, change):
    """``change(output, share of the sinks, first value)`` where sinks are; heads come third."""
    if port.config.model_type != "gpt_oss":
        return False

    def around(original):
        def attend(module, query, key, value, *args, **kwargs):
            found, weights = original(module, query, key, value, *args, **kwargs)
            many = query.shape[1] // value.shape[1]
            first = value.repeat_interleave(many, 1)[:, :, 0][:, None]
            lost = (1 - weights.float().sum(-1)).transpose(1, 2)[..., None]
            return change(found, lost, first).to(found.dtype), weights

        return attend

    return port.wrap("eager_attention_forward", around)


@fault("fourth-scale-folded-without-bias", (SCALE, "bias-repeated"), "self_attn.q_proj")
def _(port):
    """The scale is folded into the weights of the queries, and not into their bias."""
    if not port.name(r"self_attn\.q_proj\.bias"):
        return False
    by = width(port.config) ** -0.5
    port.scale_rows(r"self_attn\.q_proj\.weight", lambda w: w * by)
    return wrap_scaling(port, lambda scale: 1.0)


@fault("fourth-scale-of-kv-heads", SCALE, PLACE, everywhere=True)
def _(port):
    """The size of a head is taken to be hidden size by heads of keys."""
    count, groups = heads(port.config)
    if count == groups:
        return False
    by = (groups / port.config.hidden_size) ** 0.5
    return wrap_attention(port, lambda module, q, k, v, mask, s: (q, k, v, mask, by))


@fault("fourth-scale-grows-with-position", SCALE, PLACE, everywhere=True)
def _(port):
    """Scores grow with the logarithm of the position, as in architectures for long contexts."""

    def change(module, q, k, v, mask, s):
        total, count = k.shape[-2], q.shape[-2]
        places = torch.arange(total - count, total) + 1.0
        by = (places.log() / math.log(4)).clamp(min=1)
        return (q * by[:, None]).to(q.dtype), k, v, mask, s

    return wrap_attention(port, change)


@fault("fourth-scale-of-rotated-channels", SCALE, PLACE, everywhere=True)
def _(port):
    """Only the rotated channels of partial rotary embeddings are counted."""
    if share(port) == 1.0:
        return False
    by = int(width(port.config) * share(port)) ** -0.5
    return wrap_attention(port, lambda module, q, k, v, mask, s: (q, k, v, mask, by))


@fault("fourth-sinks-foreign", SINKS, PLACE, everywhere=True)
def _(port):
    """A sink of zero in the denominator, of an architecture that has none."""

    def weigh(x, mask, s, cap):
        x = capped(x * s, cap) + mask
        return torch.nn.functional.pad(x, (0, 1)).softmax(-1)[..., :-1]

    return own_attention(port, weigh)


@fault("fourth-sinks-have-a-value", SINKS, PLACE, everywhere=True)
def _(port):
    """The share of a sink goes to the first value, and is not dropped."""
    return beside_sinks(port, lambda found, lost, first: found + lost * first)


@fault("fourth-sinks-in-prefill-only", (SINKS, CACHE), PLACE, everywhere=True)
def _(port):
    """The kernel of decoded tokens knows nothing of sinks."""
    return beside_sinks(port, lambda found, lost, first: (
        found / (1 - lost) if found.shape[1] == 1 else found))  # fmt: skip


@fault("fourth-cap-foreign", CAP, PLACE, everywhere=True)
def _(port):
    """The soft cap of another architecture."""
    if has(port, "attn_logit_softcapping") or port.config.model_type == "gemma3_text":
        return False  # its scores are too small to be capped
    return own_attention(port, lambda x, mask, s, cap: (capped(x * s, 2.0) + mask).softmax(-1))


@fault("fourth-cap-clamps", CAP, PLACE, everywhere=True)
def _(port):
    if not has(port, "attn_logit_softcapping"):
        return False
    return own_attention(
        port, lambda x, mask, s, cap: ((x * s).clamp(-cap, cap) + mask).softmax(-1)
    )


@fault("fourth-cap-in-prefill-only", (CAP, CACHE), PLACE, everywhere=True)
def _(port):
    if not has(port, "attn_logit_softcapping"):
        return False

    def weigh(x, mask, s, cap):
        return (capped(x * s, cap if x.shape[-2] > 1 else None) + mask).softmax(-1)

    return own_attention(port, weigh)


@fault("fourth-window-in-decode-only", WINDOW, PLACE, everywhere=True)
def _(port):
    return windowed(port, lambda r, c, size: (c > r - size) | (len(r) > 1))


@fault("fourth-window-keeps-first-tokens", (WINDOW, MASK), PLACE, everywhere=True)
def _(port):
    """The first tokens are seen from everywhere, as in streaming caches."""
    return windowed(port, lambda r, c, size: (c > r - size) | (c < 2))


@fault("fourth-window-of-whole-pages", WINDOW, PLACE, everywhere=True)
def _(port):
    """The page at which a window starts is seen as a whole."""
    return windowed(port, lambda r, c, size: c >= (r - size + 1).clamp(min=0) // 4 * 4)


@fault("fourth-window-in-front-of-query", (WINDOW, MASK), PLACE, everywhere=True)
def _(port):
    """The window counts from the end of the context: early tokens of a prompt see too little."""
    return windowed(port, lambda r, c, size: (c > r.max() - size) | (c == r))


@fault("fourth-mask-of-padded-row", MASK, PLACE, everywhere=True)
def _(port):
    """One row of the batch is taken to be padded on its left."""
    if has(port, "sliding_window"):
        return False

    def change(module, query, key, value, mask, scaling):
        mask = mask.expand(query.shape[0], -1, -1, -1).clone()
        late = torch.arange(mask.shape[-2]) + key.shape[-2] - query.shape[-2] >= 3
        mask[1, :, late, :3] = torch.finfo(mask.dtype).min
        return query, key, value, mask, scaling

    return wrap_attention(port, change)


@fault("fourth-mask-hides-end-of-prompt", (MASK, CACHE), PLACE, everywhere=True)
def _(port):
    """The length of the prompt is off by one: decoded tokens do not see its last one."""
    kept = {}

    def seen(row, column, before):
        if len(row) > 1:
            kept["last"] = len(row) - 1
            return before
        return before & (column != kept["last"])

    if has(port, "sliding_window"):
        return False
    return mask(port, seen)


@fault("fourth-mask-not-low-enough", MASK, PLACE, everywhere=True)
def _(port):
    """Minus one where the least number belongs: what is masked still counts."""
    return wrap_attention(
        port, lambda module, q, k, v, mask, s: (q, k, v, -(mask < -1).to(q.dtype), s)
    )


@fault("fourth-mask-every-other-diagonal", MASK, PLACE, everywhere=True)
def _(port):
    """Strided attention: each other earlier token is left out."""
    if has(port, "sliding_window"):
        return False
    return mask(port, lambda r, c, m: m & ((r - c) % 2 == 0))


@fault("fourth-mask-without-borders-of-rows", (MASK, "cross-sequence-leakage", CACHE), PLACE,
       everywhere=True)  # fmt: skip
def _(port):
    """Rows are packed into one sequence, and the second sees the first."""
    if has(port, "sliding_window") or port.config.model_type == "gpt_oss":
        return False

    def change(module, query, key, value, mask, scaling):
        low = torch.finfo(mask.dtype).min
        other = torch.zeros(2, 1, *mask.shape[-2:], dtype=mask.dtype)
        other[0] = low
        mask = torch.cat((other, mask.expand(2, -1, -1, -1)), -1)
        key, value = (torch.cat((x[:1].expand_as(x), x), -2) for x in (key, value))
        return query, key, value, mask, scaling

    return wrap_attention(port, change)
