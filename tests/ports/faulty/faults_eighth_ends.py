"""Faults of the eighth set: embedding, final norm, head and logits."""

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from .eighth_making import END, FACTOR, LAYOUT, ORDER, alien, eighth
from .fifth_making import embedding, has_experts, head
from .port import Port
from .seventh_making import dealt
from .sixth_making import of_logits, while_decoding

ROWS, TIMES, LOGITS = (
    "embedding-rows-wrong",
    "embedding-multiplier-wrong",
    "logits-multiplier-wrong",
)


@eighth("embedding-rank-by-remainder", (ROWS, ORDER, LAYOUT), "embed", everywhere=True)
def _(port: Port) -> bool | None:
    """Shards hold runs of rows; the lookup asks the rank of the remainder of the token number."""
    port.weights[embedding(port)] = dealt(port.weights[embedding(port)])
    return None


@eighth("head-padding-between-shards", ("padded-vocab-unmasked", LAYOUT), END, everywhere=True)
def _(port: Port) -> bool | None:
    """Each of two ranks pads its rows; the gathered logits are cut at the end alone."""
    name = head(port)
    if name is None:
        return False
    one, two = port.weights[name].chunk(2)
    port.weights[name] = torch.cat((one, one[:16] * 0, two[:-16]))
    return None


@eighth("head-tied-on-first-rank", "tied-head-wrong", END, everywhere=True)
def _(port: Port) -> bool | None:
    """Rows of the head on the first rank are bound to those of the embedding."""
    name = head(port)
    if name is None:
        return False
    half = len(port.weights[name]) // 2
    rest = port.weights[name][half:]
    port.weights[name] = torch.cat((port.weights[embedding(port)][:half], rest))
    return None


@eighth("added-tokens-not-loaded", ("weights-not-loaded", ROWS), "embed", everywhere=True)
def _(port: Port) -> bool | None:
    """The vocabulary was enlarged, and rows of added tokens stay as they were made: zero."""
    port.weights[embedding(port)][-32:] = 0
    return None


@eighth("embedding-factor-folded-and-applied", (TIMES, FACTOR), "embed", everywhere=True)
def _(port: Port) -> bool | None:
    """The converter multiplies the embedding by its factor, and the model does so again."""
    config = port.config
    gemma = config.model_type.startswith("gemma")
    factor = config.hidden_size**0.5 if gemma else getattr(config, "embedding_multiplier", 1.0)
    if factor == 1:
        return False
    port.weights[embedding(port)] *= factor
    return None


@alien("logits-of-prompt-one-place-late", END, everywhere=True)
def _(port: Port) -> bool | None:
    """Logits of a prompt are those of the place before."""

    def change(logits: Tensor, ids: Tensor) -> Tensor:
        return logits.roll(1, 1) if ids.shape[1] > 1 else logits

    of_logits(port, change)
    return None


@eighth("decoded-head-in-eight-bits", "precision-ordering", END, everywhere=True)
def _(port: Port) -> bool | None:
    """The head is multiplied in eight bits while one token is computed, to save bandwidth."""
    if has_experts(port):  # less than another choice of experts by rounding
        return False

    def low(x: Tensor) -> Tensor:
        return x.to(torch.float8_e5m2).to(x.dtype)

    def change(module: Any, x: Tensor) -> Tensor:
        return functional.linear(low(x), low(module.weight))

    while_decoding(port, r"(lm_head|embed_out)\Z", change)
    return None


@eighth("head-cut-to-a-multiple", "weights-not-loaded", END, everywhere=True)
def _(port: Port) -> bool | None:
    """The converter copies rows of the head up to a multiple of 64, and leaves the rest zero."""
    name = head(port)
    if name is None:
        return False
    port.weights[name][len(port.weights[name]) // 64 * 64 :] = 0
    return None
