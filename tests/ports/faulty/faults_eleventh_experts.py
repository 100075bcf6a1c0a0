"""Experts and routers of the eleventh set."""

from typing import Any

import torch
from torch import Tensor

from .breaking import of_other
from .eleventh_making import eleventh
from .fifth_making import has_experts, rewrite
from .port import Port
from .seventh_making import dealt

PARTS = ("gate_up_proj", "down_proj", "gate_up_proj_bias", "down_proj_bias")
ROUTERS = r"layers\.\d+\.mlp\.(gate|router)\Z"


def _logits(router: Any, x: Tensor) -> Tensor:
    """The logits of the router, before any softmax."""
    flat = x.reshape(-1, x.shape[-1])
    return torch.nn.functional.linear(flat, router.weight, getattr(router, "bias", None))


@eleventh("experts-down-bias-per-rank", "bias-repeated", "mlp")
def _(port: Port) -> bool | None:
    """Each of eight ranks adds the bias of the experts' second layer before the sum over ranks."""
    return bool(port.scale_rows(r"experts\.down_proj_bias", lambda bias: bias * 8))


@eleventh("experts-dealt-to-ranks", "expert-order-wrong", "mlp")
def _(port: Port) -> bool | None:
    """Four ranks hold every fourth expert, and the router takes them to hold two neighbours
    each."""
    done = [port.scale_rows(rf"mlp\.experts\.{end}", lambda w: dealt(w, 0, 4)) for end in PARTS]
    return any(done)


@eleventh(
    "router-without-normalisation",
    "router-normalisation-wrong",
    "mlp(.gate|.router)?",
    everywhere=True,
)
def _(port: Port) -> bool | None:
    """Softmax over all experts, then the best ones, as they are: the reference has weights that add
    up to one."""
    if port.config.model_type not in ("mixtral", "gpt_oss"):
        return False

    def make(router: Any, inner: Any) -> Any:
        def forward(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
            told, scores, numbers = inner(x)
            shares = _logits(router, x).float().softmax(-1)
            return told, shares.gather(-1, numbers).to(scores.dtype), numbers

        return forward

    rewrite(port, ROUTERS, make)
    return None


@eleventh("router-bias-in-choice-only", "router-bias-missing", "mlp(.router)?", everywhere=True)
def _(port: Port) -> bool | None:
    """The bias of the router decides which experts are chosen, as with DeepSeek, and is left out of
    their weights."""
    if not port.name(r"mlp\.router\.bias"):
        return False

    def make(router: Any, inner: Any) -> Any:
        def forward(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
            told, scores, numbers = inner(x)
            plain = _logits(router, x) - router.bias
            return told, plain.gather(-1, numbers).softmax(-1).to(scores.dtype), numbers

        return forward

    rewrite(port, ROUTERS, make)
    return None


@eleventh("router-top-k-default", "router-top-k-wrong", "mlp", everywhere=True)
def _(port: Port) -> bool | None:
    """The number of experts of each token is that of the library's default for the family: four."""
    if port.config.model_type not in ("qwen2_moe", "gpt_oss"):
        return False
    port.config.num_experts_per_tok = 4
    return None


@eleventh("experts-of-other-layer", "weights-of-another-layer", "mlp(.experts)?")
def _(port: Port) -> bool | None:
    """The loop that stacks experts keeps the number of a layer from outside of it, and so loads
    those of another layer; the router is right."""
    done = [of_other(port, rf"mlp\.experts\.{end}") for end in PARTS]
    return any(done)


@eleventh("experts-reduction-missing", "tp-reduction-missing", "mlp")
def _(port: Port) -> bool | None:
    """Experts are cut in four along their inner width, and the sum over ranks is left out."""
    if not has_experts(port):
        return False
    axis = 1 if port.config.model_type == "gpt_oss" else 2

    def change(w: Tensor) -> Tensor:
        found = w.clone()
        share = w.shape[axis] // 4
        found.narrow(axis, share, w.shape[axis] - share).zero_()
        return found

    return bool(port.scale_rows(r"mlp\.experts\.down_proj", change))
