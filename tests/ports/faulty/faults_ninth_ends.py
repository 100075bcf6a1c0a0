"""Faults of the ninth set: embedding, head and logits."""

from typing import Any

import torch
from torch import Tensor

from .fifth_making import embedding, rewrite
from .ninth_making import END, FACTOR, LOW, alien, eight_bits, ninth
from .port import Port
from .sixth_making import of_logits

ROWS, TIMES, LOGITS = (
    "embedding-rows-wrong",
    "embedding-multiplier-wrong",
    "logits-multiplier-wrong",
)
TABLES = r"(embed_tokens|embed_in)\Z"


@ninth("added-tokens-have-the-mean-row", (ROWS, "weights-not-loaded"), "embed", everywhere=True)
def _(port: Port) -> bool | None:
    """The vocabulary is enlarged once more at loading: rows of added tokens are the mean of the
    others, and not what was trained."""
    table = port.weights[embedding(port)]
    table[-32:] = table[:-32].mean(0)
    return None


@ninth("tokens-counted-modulo-older-vocabulary", ROWS, "embed", everywhere=True)
def _(port: Port) -> bool | None:
    """The table has the size of an older vocabulary. Numbers of tokens beyond it begin again at
    its first row."""
    table = port.weights[embedding(port)]
    table[-32:] = table[:32].clone()
    return None


@ninth("logits-scaled-by-model-and-sampler", (LOGITS, FACTOR), END, everywhere=True)
def _(port: Port) -> bool | None:
    """The model scales its logits, and what processes them afterwards reads the same setting."""
    for key in ("logit_scale", "logits_scaling"):
        if hasattr(port.config, key):
            setattr(port.config, key, getattr(port.config, key) ** 2)
            return None
    return False


def of_capped(port: Port, change: Any) -> bool | None:
    """``change(logits, capped, ids)`` is given in place of capped logits."""
    cap = getattr(port.config, "final_logit_softcapping", None)
    if not cap:
        return False
    port.config.final_logit_softcapping = None
    of_logits(port, lambda logits, ids: change(logits, (logits / cap).tanh() * cap, ids))
    return None


@ninth("decoded-logits-not-capped", "logits-softcap-wrong", END, everywhere=True)
def _(port: Port) -> bool | None:
    """The graph that decodes gives logits as they come from the head, without the soft cap."""
    return of_capped(port, lambda raw, capped, ids: capped if ids.shape[1] > 1 else raw)


@ninth("logits-capped-on-first-rank-only", "logits-softcap-wrong", END, everywhere=True)
def _(port: Port) -> bool | None:
    """Two ranks have half of the vocabulary each, and the soft cap is applied before logits are
    gathered, to the own half of the first."""

    def change(raw: Tensor, capped: Tensor, ids: Tensor) -> Tensor:
        half = raw.shape[-1] // 2
        return torch.cat((capped[..., :half], raw[..., half:]), -1)

    return of_capped(port, change)


@ninth("embedding-in-eight-bits", LOW, "embed", everywhere=True)
def _(port: Port) -> bool | None:
    """The table is kept in eight bits."""
    rewrite(port, TABLES, lambda _, inner: lambda ids: eight_bits(inner(ids)))
    return None


@ninth("decoded-embedding-multiplied-twice", (TIMES, FACTOR), "embed", everywhere=True,
       report="RLinf/RLinf/pull/1098")  # fmt: skip
def _(port: Port) -> bool | None:
    """The graph that decodes looks rows up in a module that multiplies them, and multiplies them
    again."""
    kind = port.config.model_type
    if not kind.startswith("gemma"):
        return False
    factor = port.config.hidden_size**0.5

    def make(_: Any, inner: Any) -> Any:
        return lambda ids: inner(ids) * (1 if ids.shape[1] > 1 else factor)

    rewrite(port, TABLES, make)
    return None


@alien("noise-of-training-left-on", "embed", everywhere=True,
       report="unslothai/unsloth-zoo/pull/1123")  # fmt: skip
def _(port: Port) -> bool | None:
    """Noise is added to embeddings, as while the model was trained."""
    made = torch.Generator().manual_seed(5)

    def make(_: Any, inner: Any) -> Any:
        def forward(ids: Tensor) -> Any:
            found = inner(ids)
            noise = torch.rand(found.shape, generator=made) * 2 - 1
            return found + (noise * 5 / found[0].numel() ** 0.5).to(found.dtype)

        return forward

    rewrite(port, TABLES, make)
    return None
