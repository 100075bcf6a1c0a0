"""Faults of the eighth set: routers and experts."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from .breaking import normalises, wrap_router
from .eighth_making import FACTOR, eighth
from .fifth_making import has_experts, of_experts, rewrite
from .port import Port
from .sixth_making import edit

SCORE, SUM, IGNORED = "router-score-wrong", "router-normalisation-wrong", "routing-ignored"
EXPERTS, INSIDE = r"mlp\.experts", "mlp.experts"


def routed(port: Port, shares: Callable[[Tensor], Tensor]) -> bool:
    """``shares(logits)`` gives the shares of all experts; the largest are chosen."""

    def change(logits: Tensor) -> tuple[Tensor, Tensor]:
        chosen, numbers = shares(logits).topk(port.config.num_experts_per_tok, -1)
        if normalises(port):
            chosen = chosen / chosen.sum(-1, keepdim=True)
        return chosen, numbers

    return wrap_router(port, change) is not False


@eighth("each-rank-takes-its-own-best", "router-top-k-wrong", "mlp")
def _(port: Port) -> bool | None:
    """Each of two ranks chooses the wanted number among its own experts, and all are added."""
    count = port.config.num_experts_per_tok if has_experts(port) else 0

    def change(logits: Tensor) -> tuple[Tensor, Tensor]:
        halves = [half.topk(count, -1) for half in logits.softmax(-1).chunk(2, -1)]
        chosen = torch.cat([half.values for half in halves], -1)
        if normalises(port):
            chosen = chosen / chosen.sum(-1, keepdim=True)
        offset = logits.shape[-1] // 2
        return chosen, torch.cat((halves[0].indices, halves[1].indices + offset), -1)

    return wrap_router(port, change) is not False and count > 0


@eighth("router-logits-scaled-by-width", SCORE, "mlp")
def _(port: Port) -> bool | None:
    """Logits of the router are divided by the root of the width, as scores of attention are."""
    return routed(port, lambda logits: (logits / port.config.hidden_size**0.5).softmax(-1))


@eighth("router-softmax-over-local-experts", (SCORE, SUM, "tp-reduction-missing"), "mlp")
def _(port: Port) -> bool | None:
    """Two ranks compute the softmax over their own experts, and the shares are gathered."""

    def shares(logits: Tensor) -> Tensor:
        return torch.cat([half.softmax(-1) for half in logits.chunk(2, -1)], -1)

    return routed(port, shares)


@eighth("routed-factor-of-another-model", (FACTOR, SUM), INSIDE)
def _(port: Port) -> bool | None:
    """The code of a model that scales what its experts give by 2.5 is used for one without."""

    def change(experts: Any, x: Tensor, numbers: Tensor, weights: Tensor) -> Any:
        return experts(x, numbers, weights) * 2.5

    return of_experts(port, change)  # type: ignore[no-any-return]


@eighth("experts-of-second-rank-by-local-number", "expert-order-wrong", INSIDE)
def _(port: Port) -> bool | None:
    """The second rank loads its experts by their local numbers, which are those of the first."""
    ends = ("gate_up_proj", "gate_up_proj_bias", "down_proj", "down_proj_bias")

    def first(w: Tensor) -> Tensor:
        return torch.cat((w[: len(w) // 2], w[: len(w) // 2]))

    found = [edit(port, rf"{EXPERTS}\.{end}", first) for end in ends]
    return any(found)


@eighth("tokens-over-capacity-dropped", IGNORED, INSIDE)
def _(port: Port) -> bool | None:
    """Experts take an equal share of the tokens each, in their order, and drop what is over."""

    def change(experts: Any, x: Tensor, numbers: Tensor, weights: Tensor) -> Any:
        if len(x) < 8:
            return experts(x, numbers, weights)
        total = experts.__self__.num_experts
        marks = functional.one_hot(numbers.flatten(), total)
        place = (marks.cumsum(0) * marks).sum(-1).reshape(numbers.shape)
        return experts(x, numbers, weights * (place <= numbers.numel() // total))

    return of_experts(port, change)  # type: ignore[no-any-return]


@eighth("decoded-without-shared-expert", "shared-expert-wrong", "mlp.shared_expert")
def _(port: Port) -> bool | None:
    """The kernel for a few tokens computes the routed experts only."""
    if not port.name(r"mlp\.shared_expert\.down_proj\.weight"):
        return False

    def make(_: Any, inner: Any) -> Any:
        return lambda x: inner(x) * (x.numel() // x.shape[-1] >= 8)

    rewrite(port, rf"layers\.{port.layer}\.mlp\.shared_expert\Z", make)
    return None


@eighth("routes-in-another-order-of-tokens", IGNORED, INSIDE)
def _(port: Port) -> bool | None:
    """Tokens go to the experts by rows of the batch, and their routes by positions."""

    def other(x: Tensor) -> Any:
        return x.unflatten(0, (2, -1)).transpose(0, 1).flatten(0, 1)

    def change(experts: Any, x: Tensor, numbers: Tensor, weights: Tensor) -> Any:
        return experts(x, other(numbers), other(weights))

    return of_experts(port, change)  # type: ignore[no-any-return]
