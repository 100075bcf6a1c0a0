"""Faults of the eighth set: rotary embeddings and positions."""

from typing import Any

import torch
from torch import Tensor

from .breaking import rope_of, width, wrap_rotary, wrap_table
from .eighth_making import CACHE, PLACES, behind_prompt, eighth
from .fifth_making import of_partial_heads, of_table, rewrite, share
from .port import Port
from .seventh_making import of_whole_cache

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


@eighth("rope-scaling-read-as-linear", "rope-scaling-missing", "rotary_emb", everywhere=True)
def _(port: Port) -> bool | None:
    """The port reads the factor of the scaling and not its kind: all frequencies are divided."""
    given = rope_of(port)
    if given is None or "factor" not in given:
        return False
    port.config.rope_parameters = {
        "rope_type": "linear", "factor": given["factor"], "rope_theta": given["rope_theta"],
    }  # fmt: skip
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


@eighth("last-channels-turned", ("rope-partial-wrong", LAYOUT), "self_attn", everywhere=True)
def _(port: Port) -> bool | None:
    """Of heads of which a part is turned, the last channels are turned in place of the first."""

    def change(original: Any, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        rest, turned = x[..., : -cos.shape[-1]], x[..., -cos.shape[-1] :]
        return torch.cat((rest, original(turned, turned, cos, sin)[0]), -1)

    return bool(of_partial_heads(port, change))


@eighth("rope-table-of-the-other-form", LAYOUT, "rotary_emb", everywhere=True)
def _(port: Port) -> bool | None:
    """The table is made for neighbouring channels and used on halves, or conversely."""
    if port.config.model_type == "gpt_oss":
        return False

    def other(x: Tensor) -> Tensor:
        if port.config.model_type == "cohere":
            return torch.cat((x[..., ::2], x[..., ::2]), -1)
        return x[..., : x.shape[-1] // 2].repeat_interleave(2, -1)

    of_table(port, lambda cos, sin, *_: (other(cos), other(sin)))
    return None


@eighth("layer-taken-for-one-without-rope", MISSING, "self_attn")
def _(port: Port) -> bool | None:
    """A pattern of layers without rotary embeddings is read for a model that has none."""

    def make(_: Any, inner: Any) -> Any:
        def forward(*args: Any, position_embeddings: Two, **kwargs: Any) -> Any:
            cos, sin = position_embeddings
            still = (torch.ones_like(cos), torch.zeros_like(sin))
            return inner(*args, position_embeddings=still, **kwargs)

        return forward

    rewrite(port, rf"layers\.{port.layer}\.(self_attn|attention)\Z", make)
    return None


@eighth("decoded-keys-written-unturned", (MISSING, CACHE), "self_attn", everywhere=True)
def _(port: Port) -> bool | None:
    """The kernel for one token turns the query and writes the key before it is turned."""

    def change(original: Any, q: Tensor, k: Tensor, cos: Tensor, sin: Tensor) -> Two:
        query, key = original(q, k, cos, sin)
        return query, k if q.shape[-2] == 1 else key

    return bool(wrap_rotary(port, change))


@eighth("cached-keys-turned-again", (CACHE, PLACES), "self_attn", everywhere=True)
def _(port: Port) -> bool | None:
    """Keys are cached turned; what is read of the prompt is turned once more."""
    kept: dict[str, Any] = {}

    def note(original: Any, q: Tensor, k: Tensor, cos: Tensor, sin: Tensor) -> Any:
        if q.shape[-2] > 1:
            kept["turn"] = lambda x: original(x, x, cos, sin)[0]
            kept["size"] = cos.shape[-1] * (2 if port.config.model_type == "gpt_oss" else 1)
        return original(q, k, cos, sin)

    def read(key: Tensor, value: Tensor, mask: Tensor, prompt: int) -> tuple[Tensor, ...]:
        old, new = key[:, :, :prompt], key[:, :, prompt:]
        size = kept["size"]
        old = torch.cat((kept["turn"](old[..., :size]), old[..., size:]), -1)
        return torch.cat((old, new), 2), value, mask

    wrap_rotary(port, note)
    return of_whole_cache(port, read)  # type: ignore[arg-type]
