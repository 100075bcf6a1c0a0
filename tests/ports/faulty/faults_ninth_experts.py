"""Faults of the ninth set: routers and experts."""

from typing import Any

import torch
from torch import Tensor, nn

from .breaking import normalises, of_other, wrap_router
from .fifth_making import of_experts
from .ninth_making import (
    LOW,
    OTHER_LAYER,
    alien,
    eight_bits,
    ninth,
)
from .port import Port
from .sixth_making import edit, without_half

SCORE, SUM, IGNORED = "router-score-wrong", "router-normalisation-wrong", "routing-ignored"
EXPERTS, INSIDE = r"mlp\.experts", "mlp.experts"


def chosen_of(port: Port, shares: Tensor) -> tuple[Tensor, Tensor]:
    """Weights and numbers of the best experts, as the model takes them."""
    chosen, numbers = shares.topk(port.config.num_experts_per_tok, -1)
    if normalises(port):
        chosen = chosen / chosen.sum(-1, keepdim=True)
    return chosen, numbers


@ninth("routing-weights-on-both-sides", (IGNORED, "wrong-input", SCORE), INSIDE,
       report="vllm-project/vllm/pull/43694")  # fmt: skip
def _(port: Port) -> bool | None:
    """Weights of the router multiply what goes into the experts, and what comes out as well."""

    def change(experts: Any, x: Tensor, numbers: Tensor, weights: Tensor) -> Any:
        each = zip(numbers.split(1, -1), weights.split(1, -1), strict=True)
        return sum(experts((x * w).to(x.dtype), n, w) for n, w in each)

    return of_experts(port, change)  # type: ignore[no-any-return]


@ninth("router-logits-in-eight-bits", (LOW, SCORE), "mlp",
       report="AI-Hypercomputer/maxtext/pull/5293")  # fmt: skip
def _(port: Port) -> bool | None:
    """The router is quantised with the other matrices, and its logits have eight bits."""
    return (
        wrap_router(port, lambda logits: chosen_of(port, eight_bits(logits).softmax(-1)))
        is not False
    )


@ninth("padded-experts-chosen", (SCORE, "router-top-k-wrong"), "mlp")
def _(port: Port) -> bool | None:
    """Experts are padded from 8 to 12 for three ranks. Logits of those that are not there are
    zero, where they should be as low as can be: they are chosen, and give nothing."""

    def change(logits: Tensor) -> tuple[Tensor, Tensor]:
        count = logits.shape[-1]
        padded = nn.functional.pad(logits, (0, 4))
        chosen, numbers = chosen_of(port, padded.softmax(-1))
        return chosen * (numbers < count), numbers.where(numbers < count, torch.zeros(()).long())

    return wrap_router(port, change) is not False


@ninth("experts-gate-and-up-read-transposed", "weights-untransposed", INSIDE,
       report="huggingface/transformers/issues/47031")  # fmt: skip
def _(port: Port) -> bool | None:
    """Gate and up of experts are stored by input. They make a square here, and no shape tells."""
    name = port.name(rf"{EXPERTS}\.gate_up_proj")
    if name is None or port.weights[name].shape[1] != port.weights[name].shape[2]:
        return False
    return edit(port, rf"{EXPERTS}\.gate_up_proj", lambda w: w.transpose(1, 2))


@ninth("shared-gate-applied-twice", "shared-expert-wrong", "mlp.shared_expert")
def _(port: Port) -> bool | None:
    """The fused shared expert applies its gate, and the block applies it to the result."""
    if not port.name(r"shared_expert_gate\.weight"):
        return False

    def add(model: nn.Module) -> None:
        block: Any = model.get_submodule(f"model.layers.{port.layer}.mlp")
        inner = block.shared_expert.forward
        block.shared_expert.forward = lambda x: inner(x) * block.shared_expert_gate(x).sigmoid()

    port.changes.append(add)
    return None


@ninth("shared-gate-of-other-layer", ("shared-expert-wrong", OTHER_LAYER), "mlp.shared_expert_gate")
def _(port: Port) -> bool | None:
    """The gate of the shared expert is that of another layer."""
    return bool(of_other(port, r"shared_expert_gate\.weight"))


@ninth("weights-normalised-on-each-rank", SUM, "mlp")
def _(port: Port) -> bool | None:
    """Each of two ranks divides the weights of its chosen experts by their sum, and knows nothing
    of those on the other rank."""
    if not normalises(port):
        return False

    def change(logits: Tensor) -> tuple[Tensor, Tensor]:
        chosen, numbers = chosen_of(port, logits.softmax(-1))
        late = numbers >= logits.shape[-1] // 2
        here = (chosen * ~late).sum(-1, keepdim=True)
        there = (chosen * late).sum(-1, keepdim=True)
        return chosen / torch.where(late, there, here), numbers

    return wrap_router(port, change) is not False


@ninth("router-bias-of-first-rank-only", "router-bias-missing", "mlp.router")
def _(port: Port) -> bool | None:
    """The bias of the router is cut as its rows are, and is zero for experts of the second
    rank."""
    return edit(port, r"mlp\.router\.bias", lambda b: without_half(b, 0))


@ninth("experts-combined-in-eight-bits", LOW, INSIDE)
def _(port: Port) -> bool | None:
    """The output of each expert goes back to the rank of the token in eight bits."""

    def change(experts: Any, x: Tensor, numbers: Tensor, weights: Tensor) -> Any:
        each = zip(numbers.split(1, -1), weights.split(1, -1), strict=True)
        return sum(eight_bits(experts(x, n, w)) for n, w in each)

    return of_experts(port, change)  # type: ignore[no-any-return]


@alien("scale-of-first-expert-for-all", INSIDE, report="vllm-project/vllm-ascend/pull/16806")
def _(port: Port) -> bool | None:
    """Each expert was quantised with its own scale, and all are read with that of the first."""

    def change(w: Tensor) -> Tensor:
        scale = w.abs().amax((1, 2), keepdim=True)
        return w * scale[:1] / scale

    done = [edit(port, rf"{EXPERTS}\.{end}_proj", change) for end in ("gate_up", "down")]
    return all(done)
