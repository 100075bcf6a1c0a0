"""Building blocks for the faults of the tenth set."""

import re
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from .fifth_making import rewrite
from .port import Port, fault
from .sixth_making import Break, Causes

LAYOUT, ORDER, PAIRS = "weight-layout-mismatch", "shard-order-wrong", "rope-layout-wrong"
CACHE, MASK, WINDOW = "kv-cache-wrong", "wrong-masking", "attention-window-wrong"
QK_NORM, SCALE, SINKS = "qk-norm-wrong", "attention-scale-wrong", "attention-sinks-wrong"
LOW = "precision-ordering"
DOWN = "mlp.(down_proj|c_proj|dense_4h_to_h)"
DOWN_NAME = r"mlp\.(down_proj|c_proj|dense_4h_to_h)\.weight"
GEMMA = ("gemma2", "gemma3_text")
BUCKET = 32


def tenth(
    name: str, cause: Causes, part: str, everywhere: bool = False
) -> Callable[[Break], Break]:
    """A fault of this set; its causes were written down before any run of it."""
    return fault(f"tenth-{name}", cause, part, everywhere)  # type: ignore[no-any-return]


def alien(name: str, part: str, everywhere: bool = False) -> Callable[[Break], Break]:
    """A fault of this set that no diagnosis is about."""
    return fault(f"alien-tenth-{name}", "none", part, everywhere)  # type: ignore[no-any-return]


def of_family(port: Port, *families: str) -> bool:
    """Whether the model is one of these."""
    return port.config.model_type in families


def every(port: Port, ending: str, change: Callable[[Tensor], Tensor]) -> bool:
    """Replace the weights that end so in all layers."""
    inside = re.compile(rf"layers\.\d+\.(.*\.)?{ending}\Z")
    names = [name for name in port.weights if inside.search(name)]
    for name in names:
        port.weights[name] = change(port.weights[name]).contiguous()
    return bool(names)


def layers_of(port: Port) -> range:
    """The numbers of the layers."""
    return range(port.config.num_hidden_layers)


def padded(length: int) -> int:
    """The length of the bucket that a prompt is padded to."""
    return -(-length // BUCKET) * BUCKET


def with_router(port: Port, change: Callable[[Tensor, Tensor, Tensor], Tensor]) -> bool:
    """``change(logits, weights, numbers)`` are the weights of the chosen experts, in all layers."""

    def make(_: nn.Module, inner: Callable[..., Any]) -> Callable[..., Any]:
        def forward(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
            logits, weights, numbers = inner(x)
            return logits, change(logits, weights, numbers).to(weights.dtype), numbers

        return forward

    if not any(re.search(r"mlp\.(gate|router)\.weight\Z", name) for name in port.weights):
        return False
    rewrite(port, r"mlp\.(gate|router)\Z", make)
    return True


def dealt_back(numbers: Tensor, ranks: int = 2) -> Tensor:
    """Every second one first, then those between: what ranks hold that were dealt to one by one."""
    return torch.cat([numbers[rank::ranks] for rank in range(ranks)])


def by_node(w: Tensor, ranks: int, nodes: int) -> Tensor:
    """Columns in blocks of ranks that were counted across nodes, read rank by rank."""
    order = dealt_back(torch.arange(ranks), nodes)
    return torch.cat([w.chunk(ranks, 1)[int(rank)] for rank in order], 1)
