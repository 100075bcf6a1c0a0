"""Faults of the ninth set: scores, masks, windows, sinks, groups of heads, norms of heads."""

from typing import Any

import torch
from torch import Tensor, nn

from .breaking import heads, width, wrap_attention
from .eighth_making import distances, in_prompt, with_mask, with_scaling
from .fifth_making import rewrite
from .ninth_making import (
    CACHE,
    GEMMA,
    HEAD_WISE,
    MASK,
    QK_NORM,
    SCALE,
    SINKS,
    WINDOW,
    ninth,
    noting_ids,
)
from .port import Port
from .seventh_making import grouped, has_windows, hiding, of_attention, values_of, window_of
from .seventh_making import scores_of as plain_scores
from .sixth_making import edit, while_decoding


@ninth("cap-on-first-rank-only", "softcap-wrong", "self_attn", everywhere=True)
def _(port: Port) -> bool | None:
    """Heads of the second of two ranks are given a kernel without the soft cap."""
    cap = getattr(port.config, "attn_logit_softcapping", None)
    if not cap:
        return False

    def attend(
        module: Any, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, scale: float
    ) -> Tensor:
        scores = plain_scores(query, key, None, scale)
        half = scores.shape[1] // 2
        capped = cap * (scores[:, :half] / cap).tanh()
        scores = torch.cat((capped, scores[:, half:]), 1)
        if mask is not None:
            scores = scores + mask[..., : key.shape[-2]].float()
        return scores.softmax(-1).to(query.dtype) @ values_of(query, value)

    return of_attention(port, attend)


@ninth("multiplier-beside-the-usual-scale", SCALE, "self_attn", everywhere=True)
def _(port: Port) -> bool | None:
    """Scores are multiplied by the scale of the configuration, and the kernel divides by the root
    of the width as well."""
    if port.config.model_type not in ("granite", *GEMMA):
        return False
    return with_scaling(port, lambda scaling: scaling * width(port.config) ** -0.5)


@ninth("scale-of-all-heads", SCALE, "self_attn", everywhere=True)
def _(port: Port) -> bool | None:
    """Scores are divided by the root of the hidden size, and not by that of one head."""
    if port.config.model_type in ("granite", *GEMMA):
        return False
    return with_scaling(port, lambda scaling: port.config.hidden_size**-0.5)


@ninth("tokens-like-padding-hidden", MASK, "self_attn", everywhere=True,
       report="microsoft/onnxruntime-genai/pull/1694")  # fmt: skip
def _(port: Port) -> bool | None:
    """The mask is made of the tokens, and the one for padding stands inside of a prompt, too, as
    where it is that of the end of a text."""
    ids = noting_ids(port)

    def change(_: Any, query: Tensor, key: Tensor, mask: Tensor) -> Tensor:
        padding = ids[0][:, 5:6]
        hidden = (ids[0] == padding)[:, None, None, -key.shape[-2] :]
        return hiding(mask.expand(len(hidden), -1, -1, -1), hidden & (distances(query, key) != 0))

    return with_mask(port, change)


@ninth("second-half-masked-from-its-own-start", MASK, "self_attn", everywhere=True)
def _(port: Port) -> bool | None:
    """A prompt is cut for two ranks by positions, and the second masks its queries as if they
    were the first ones."""

    def change(_: Any, query: Tensor, key: Tensor, mask: Tensor) -> Tensor:
        if not in_prompt(query, key):
            return mask
        count = query.shape[-2]
        row = torch.arange(count)[:, None]
        late = (row >= count // 2) & (torch.arange(count)[None] > row - count // 2)
        return hiding(mask, late.expand(mask.shape))

    return with_mask(port, change)


@ninth("decoded-window-one-short", (WINDOW, CACHE), "self_attn", everywhere=True,
       report="quic/efficient-transformers/pull/1250")  # fmt: skip
def _(port: Port) -> bool | None:
    """The position of a decoded token is counted up before its window is found: the oldest key
    in it is lost."""
    if not has_windows(port):
        return False

    def change(module: Any, query: Tensor, key: Tensor, mask: Tensor) -> Tensor:
        window = window_of(module)
        if window is None or in_prompt(query, key):
            return mask
        return hiding(mask, (distances(query, key) >= window - 1).expand(mask.shape))

    return with_mask(port, change)


@ninth("ring-too-short-for-a-chunk", (WINDOW, CACHE), "self_attn", everywhere=True,
       report="pytorch/executorch/pull/20346")  # fmt: skip
def _(port: Port) -> bool | None:
    """A prompt comes in chunks of 12, written to a ring of 14 before they are read: the first
    tokens of a later chunk have lost the end of the chunk before."""
    if not has_windows(port):
        return False

    def change(module: Any, query: Tensor, key: Tensor, mask: Tensor) -> Tensor:
        if window_of(module) is None or not in_prompt(query, key):
            return mask
        count = query.shape[-2]
        row = torch.arange(count)
        end = ((row // 12 + 1) * 12).clamp(max=count)
        lost = torch.arange(count)[None] < (end - 14)[:, None]
        return hiding(mask, lost.expand(mask.shape))

    return with_mask(port, change)


@ninth("sinks-of-first-rank-for-all", SINKS, "self_attn",
       report="sgl-project/sglang/pull/35092")  # fmt: skip
def _(port: Port) -> bool | None:
    """Sinks are not cut by rank: each of two ranks reads the first ones for its heads."""
    return edit(port, r"self_attn\.sinks", lambda s: torch.cat([s[: len(s) // 2]] * 2))


@ninth("kv-heads-padded-with-zeros", "gqa-grouping-wrong", "self_attn", everywhere=True)
def _(port: Port) -> bool | None:
    """There are twice as many ranks as heads of keys and values. These are padded with zeros to
    the number of ranks, where each should be repeated."""
    if not grouped(port):
        return False

    def add(model: nn.Module) -> None:
        for module in model.modules():
            if hasattr(module, "num_key_value_groups"):
                setattr(module, "num_key_value_groups", 1)  # noqa: B010 - it may be a submodule

    def given(_: Any, query: Tensor, key: Tensor, value: Tensor, mask: Any, scaling: Any) -> Any:
        whose = torch.arange(query.shape[1]) // (query.shape[1] // (2 * key.shape[1]))
        key, value = (torch.cat((x, x * 0), 1)[:, whose] for x in (key, value))
        return query, key, value, mask, scaling

    port.changes.append(add)
    return bool(wrap_attention(port, given))


@ninth("qk-norm-on-first-rank-only", QK_NORM, "self_attn.(q_norm|k_norm)")
def _(port: Port) -> bool | None:
    """Heads of queries and keys of the second of two ranks are not normed."""
    if port.config.model_type not in HEAD_WISE:
        return False

    def make(_: Any, inner: Any) -> Any:
        def forward(x: Tensor) -> Tensor:
            axis = 2 if x.shape[2] in heads(port.config) else 1
            one, two = x.chunk(2, axis)
            return torch.cat((inner(one), two), axis)

        return forward

    rewrite(port, rf"layers\.{port.layer}\.self_attn\.(q_norm|k_norm)\Z", make)
    return None


@ninth("decoded-keys-not-normed", (QK_NORM, CACHE), "self_attn.k_norm")
def _(port: Port) -> bool | None:
    """The kernel for one token norms its query, and writes its key to the cache as it is."""
    if not port.name(r"self_attn\.k_norm\.weight"):
        return False
    while_decoding(port, rf"layers\.{port.layer}\.self_attn\.k_norm\Z", lambda _, x: x)
    return None
