"""Faults of the eighth set: embedding, final norm, head and logits."""

import torch
from torch import Tensor

from .breaking import has
from .eighth_making import END, FACTOR, LAYOUT, OF_MODULE, ORDER, alien, eighth
from .fifth_making import embedding, head
from .port import Port
from .seventh_making import dealt
from .sixth_making import of_logits

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


@eighth("final-norm-from-last-layer", OF_MODULE, "norm|final_layer_norm", everywhere=True)
def _(port: Port) -> bool | None:
    """A pattern of names takes the last norm of the last layer for the final one."""
    last = f"layers.{port.config.num_hidden_layers - 1}."
    ends = ("post_feedforward_layernorm", "post_mlp_layernorm", "post_attention_layernorm",
            "input_layernorm")  # fmt: skip
    for name in [name for name in port.weights if "layers." not in name and "norm." in name]:
        kind = name.rpartition(".")[2]
        found = (n for end in ends for n in port.weights if n.endswith(f"{last}{end}.{kind}"))
        port.weights[name] = port.weights[next(found)].clone()
    return None


@eighth(
    "final-cap-not-scaled-back",
    ("logits-softcap-wrong", LOGITS),
    END,
    everywhere=True,
)
def _(port: Port) -> bool | None:
    """The logits are divided by the cap and go through tanh, and stay there."""
    if not has(port, "final_logit_softcapping"):
        return False
    of_logits(port, lambda logits, ids: logits / port.config.final_logit_softcapping)
    return None


@alien("logits-of-prompt-one-place-late", END, everywhere=True)
def _(port: Port) -> bool | None:
    """Logits of a prompt are those of the place before."""

    def change(logits: Tensor, ids: Tensor) -> Tensor:
        return logits.roll(1, 1) if ids.shape[1] > 1 else logits

    of_logits(port, change)
    return None
