"""Faults of the seventh set: routers and experts."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from .breaking import of_other, wrap_router
from .fifth_making import has_experts, of_experts, rewrite
from .making import BATCH
from .port import Port
from .seventh_making import seventh
from .sixth_making import edit, exchange_halves

NORMALISED, SCORE = "router-normalisation-wrong", "router-score-wrong"
IGNORED, SHARED, BIAS = "routing-ignored", "shared-expert-wrong", "router-bias-missing"


def of_weights(port: Port, change: Any) -> bool | None:
    """Weight the chosen experts with ``change(weights)``."""

    def given(inner: Any, x: Tensor, numbers: Tensor, weights: Tensor) -> Any:
        return inner(x, numbers, change(weights))

    return of_experts(port, given)  # type: ignore[no-any-return]


@seventh("router-normalised-by-largest", NORMALISED, "mlp")
def _(port: Port) -> bool | None:
    """Weights of the chosen experts are divided by the largest one, and not by their sum."""
    return of_weights(port, lambda weights: weights / weights.amax(-1, keepdim=True))


@seventh("router-softmax-of-chosen-probabilities", (SCORE, NORMALISED), "mlp")
def _(port: Port) -> bool | None:
    """Probabilities of the chosen experts go through a softmax in place of the division."""
    count = getattr(port.config, "num_experts_per_tok", 1)

    def change(logits: Tensor) -> tuple[Tensor, Tensor]:
        chosen, numbers = logits.softmax(-1).topk(count, -1)
        return chosen.softmax(-1), numbers

    return bool(wrap_router(port, change))


@seventh("experts-largest-weight-for-all", (NORMALISED, IGNORED), "mlp")
def _(port: Port) -> bool | None:
    """The weight is read once for each token: that of the first expert counts for all."""
    return of_weights(port, lambda weights: weights[:, :1].expand_as(weights))


@seventh("router-bias-of-each-rank", (BIAS, "bias-repeated"), "mlp")
def _(port: Port) -> bool | None:
    """Scores are summed over two ranks, and each adds the bias."""
    return edit(port, r"mlp\.router\.bias", lambda b: b * 2)


@seventh("router-bias-of-other-layer", (BIAS, "weights-of-another-layer"), "mlp")
def _(port: Port) -> bool | None:
    """The bias of the router is that of the next layer, its weight is not."""
    return bool(of_other(port, r"mlp\.router\.bias"))


@seventh("decoded-routing-kept-from-prompt", (IGNORED, "wrong-input"), "mlp")
def _(port: Port) -> bool | None:
    """Decoded tokens are routed as the last token of the prompt was: the buffer is not renewed."""
    last: dict[str, tuple[Tensor, Tensor]] = {}

    def change(inner: Any, x: Tensor, numbers: Tensor, weights: Tensor) -> Any:
        if len(x) == BATCH:
            return inner(x, *last["choice"])
        ends = [each.unflatten(0, (BATCH, -1))[:, -1] for each in (numbers, weights)]
        last["choice"] = (ends[0], ends[1])
        return inner(x, numbers, weights)

    return of_experts(port, change)  # type: ignore[no-any-return]


@seventh("decoded-by-every-expert", ("router-top-k-wrong", IGNORED), "mlp")
def _(port: Port) -> bool | None:
    """The kernel for few tokens runs all experts, with the probabilities of all."""
    if not has_experts(port):
        return False

    def make(module: Any, inner: Any) -> Any:
        def forward(x: Tensor) -> Any:
            scores, weights, numbers = inner(x)
            if len(numbers) != BATCH:
                return scores, weights, numbers
            count = scores.shape[-1]
            logits = functional.linear(x, module.weight, getattr(module, "bias", None))
            every = torch.arange(count).expand(BATCH, count)
            return scores, logits.float().softmax(-1).to(weights.dtype), every

        return forward

    rewrite(port, rf"layers\.{port.layer}\.mlp\.(gate|router)\Z", make)
    return None


@seventh("routed-output-counted-twice", ("missing-multiplier", NORMALISED), "mlp")
def _(port: Port) -> bool | None:
    """Routed experts are summed over two groups that hold the same; the shared one is not."""
    if port.name(r"mlp\.shared_expert\.down_proj\.weight") is None:
        return False
    return of_experts(port, lambda inner, *given: inner(*given) * 2)  # type: ignore[no-any-return]


@seventh("shared-gate-before-norm", (SHARED, "wrong-input"), "mlp")
def _(port: Port) -> bool | None:
    """The gate of the shared expert sees what has not been normed."""
    if port.name(r"mlp\.shared_expert_gate\.weight") is None:
        return False
    kept: dict[str, Tensor] = {}
    here = rf"layers\.{port.layer}\."

    def note(module: nn.Module, inner: Any) -> Any:
        def forward(x: Tensor) -> Any:
            kept["x"] = x
            return inner(x)

        return forward

    rewrite(port, rf"{here}post_attention_layernorm\Z", note)
    rewrite(port, rf"{here}mlp\.shared_expert_gate\Z", lambda module, inner: (
        lambda x: inner(kept["x"].reshape(x.shape))))  # fmt: skip
    return None


@seventh("shared-gate-on-the-sum", SHARED, "mlp")
def _(port: Port) -> bool | None:
    """The gate is for the shared expert, and is applied to what routed ones give as well."""
    name = port.name(r"mlp\.shared_expert_gate\.weight")
    if name is None:
        return False
    weight = port.weights[name]

    def change(inner: Any, x: Tensor, numbers: Tensor, weights: Tensor) -> Any:
        gate = functional.linear(x.float(), weight.float()).sigmoid()
        return inner(x, numbers, weights) * gate.to(x.dtype)

    return of_experts(port, change)  # type: ignore[no-any-return]


@seventh("experts-down-halves-exchanged", ("shard-order-wrong", "weight-layout-mismatch"), "mlp")
def _(port: Port) -> bool | None:
    """Inner channels of down are those of the other rank, gate and up are not."""
    axis = 1 if port.config.model_type == "gpt_oss" else 2
    return edit(port, r"mlp\.experts\.down_proj", lambda w: exchange_halves(w, axis))


@seventh("experts-gate-of-next-expert", ("expert-order-wrong", "weight-layout-mismatch"), "mlp")
def _(port: Port) -> bool | None:
    """Gate and up are stacked with an offset: each up comes with the gate of the expert behind."""
    inner = port.config.model_type == "gpt_oss"

    def change(w: Tensor) -> Tensor:
        found = w.clone()
        part = (..., slice(0, None, 2)) if inner else (slice(None), slice(0, w.shape[1] // 2))
        found[part] = w[part].roll(-1, 0)
        return found

    return edit(port, r"mlp\.experts\.gate_up_proj", change)


@seventh("experts-biases-of-next-expert", ("expert-order-wrong", "weight-layout-mismatch"), "mlp")
def _(port: Port) -> bool | None:
    """Biases of experts are stacked with an offset: each expert has those of the one behind."""
    for part in ("gate_up_proj_bias", "down_proj_bias"):
        done = edit(port, rf"mlp\.experts\.{part}", lambda b: b.roll(-1, 0))
    return done
