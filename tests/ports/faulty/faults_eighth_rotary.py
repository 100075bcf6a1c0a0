"""Faults of the eighth set: rotary embeddings and positions."""

from typing import Any

import torch
from torch import Tensor

from .breaking import rope_of, width, wrap_rotary, wrap_table
from .eighth_making import CACHE, PLACES, behind_prompt, eighth
from .fifth_making import of_frequencies, of_table, share
from .port import Port

LAYOUT, MISSING = "rope-layout-wrong", "rope-missing"
Two = tuple[Tensor, Tensor]


@eighth("rope-base-raised-as-for-long-prompts", "rope-theta-wrong", "rotary_emb", everywhere=True)
def _(port: Port) -> bool | None:
    """The base is raised as dynamic NTK scaling does beyond the trained length, always."""
    given = rope_of(port)
    if given is None:
        return False
    turned = width(port.config) * (share(port) or 1)
    if turned <= 4:
        return False
    given["rope_theta"] *= 8 ** (turned / (turned - 2))
    return None


@eighth("decoded-positions-advance-by-two", PLACES, "rotary_emb", everywhere=True)
def _(port: Port) -> bool | None:
    """Both the runner and the model count a decoded token."""
    wrap_table(port, behind_prompt(lambda decoded: decoded * 2))
    return None


@eighth("second-chunk-starts-at-zero", PLACES, "rotary_emb", everywhere=True)
def _(port: Port) -> bool | None:
    """A prompt is computed in chunks of 12, and each counts its positions from zero."""
    wrap_table(port, lambda places: places % 12 if places.shape[-1] > 1 else places)
    return None


@eighth("decoded-keys-written-unturned", (MISSING, CACHE), "self_attn", everywhere=True)
def _(port: Port) -> bool | None:
    """The kernel for one token turns the query and writes the key before it is turned."""

    def change(original: Any, q: Tensor, k: Tensor, cos: Tensor, sin: Tensor) -> Two:
        query, key = original(q, k, cos, sin)
        return query, k if q.shape[-2] == 1 else key

    return bool(wrap_rotary(port, change))


@eighth("decoded-positions-by-pairs", PLACES, "rotary_emb", everywhere=True)
def _(port: Port) -> bool | None:
    """Drafts are checked two at a time, and both have the position of the first."""
    wrap_table(port, behind_prompt(lambda decoded: decoded // 2 * 2))
    return None


@eighth("frequencies-quantised-with-weights", "rope-frequencies-rounded", "rotary_emb", True)
def _(port: Port) -> bool | None:
    """The quantiser goes over all tensors, and the frequencies have eight bits afterwards."""
    if port.config.model_type in ("stablelm", "gpt_neox", "gpt_oss"):  # theirs are nearly exact
        return False
    of_frequencies(port, lambda f: f.to(torch.float8_e4m3fn).float())
    return None


@eighth("text-without-positions-of-images", (PLACES, "rope-partial-wrong"), "rotary_emb", True)
def _(port: Port) -> bool | None:
    """All but the fastest quarter of the frequencies take positions in an image, as in a
    multimodal model: zero for text."""
    kind = port.config.model_type
    if "factor" in (rope_of(port) or {}):  # its slow frequencies hardly turn in a short prompt
        return False

    def change(cos: Tensor, sin: Tensor, places: Tensor, table: Any) -> Two:
        size = cos.shape[-1]
        number = torch.arange(size) // 2 if kind == "cohere" else torch.arange(size)
        if kind != "cohere":
            number = number % (size // 2)
        slow = number >= max(1, size // 8)
        still = table(places * 0)
        return torch.where(slow, still[0], cos), torch.where(slow, still[1], sin)

    of_table(port, change)
    return None


@eighth("channels-turned-with-their-padding", "rope-layout-wrong", "self_attn", everywhere=True)
def _(port: Port) -> bool | None:
    """Heads are padded to twice their width before they are turned in halves: each channel has a
    zero for its partner."""
    if port.config.model_type == "gpt_oss" or share(port) is not None:
        return False

    def change(_: Any, q: Tensor, k: Tensor, cos: Tensor, sin: Tensor) -> Two:
        cos, sin = cos.unsqueeze(1), sin.unsqueeze(1)
        query, key = (torch.cat((x * cos, x * sin), -1).to(x.dtype) for x in (q, k))
        return query, key

    return bool(wrap_rotary(port, change))


@eighth("decoded-without-length-of-prefix", PLACES, "rotary_emb", everywhere=True)
def _(port: Port) -> bool | None:
    """Positions of a prompt leave room for a prefix of 4 tokens, those of decoded ones do not."""
    wrap_table(port, lambda places: places + 4 if places.shape[-1] > 1 else places)
    return None
