"""Faults of the sixth set: weights, biases, norms, ranks, activations, experts."""

from typing import Any

import torch
from torch import Tensor

from .breaking import exchange, is_rms, of_other, replace_norm
from .fifth_making import has_experts, of_experts, quantised, rewrite
from .port import Port
from .sixth_making import alien, edit, exchange_halves, sixth, without_half

LAYOUT, SHARDS, SUM = "weight-layout-mismatch", "shard-order-wrong", "tp-reduction-missing"
KIND, OTHER = "norm-kind-wrong", "weights-of-another-layer"
DOWN, OUT = "mlp.(down_proj|c_proj|dense_4h_to_h)", "self_attn.(o_proj|dense)"
QKV = "self_attn.(q_proj|k_proj|v_proj)"
BEFORE = r"input_layernorm\.weight"
EXPERTS = r"mlp\.experts\."


@sixth("norm-weight-half-loaded", "norm-weight-missing", "input_layernorm")
def _(port: Port) -> bool | None:
    """The second half of the weight stays as it was made."""
    usual = 0.0 if port.config.model_type.startswith("gemma") else 1.0
    return edit(port, BEFORE, lambda w: without_half(w - usual, 0) + usual)


@sixth("norm-weight-shards-exchanged", (SHARDS, LAYOUT), "post_attention_layernorm")
def _(port: Port) -> bool | None:
    """The halves of the weight are in the order of the other rank."""
    return edit(port, r"post_attention_layernorm\.weight", exchange_halves)


@sixth("norm-over-tokens", KIND, "input_layernorm")
def _(port: Port) -> bool | None:
    """The mean of squares is over the tokens, whose axis is in the place of the channels."""

    def make(norm: Any) -> Any:
        def forward(x: Tensor) -> Tensor:
            mean = x.float().pow(2).mean(1, keepdim=True)
            scaled: Tensor = norm.weight * (x.float() * (mean + 1e-6).rsqrt()).to(x.dtype)
            return scaled

        return forward

    if not is_rms(port):
        return False
    return replace_norm(port, "input_layernorm", make)  # type: ignore[no-any-return]


@sixth("norm-bias-before-weight", KIND, "input_layernorm")
def _(port: Port) -> bool | None:
    """The bias is added before the multiplication by the weight."""
    name = port.name(BEFORE)
    if name is None:
        return False
    weight = port.weights[name]
    return edit(port, r"input_layernorm\.bias", lambda bias: bias * weight)


@alien("norm-folded-and-kept", QKV)
def _(port: Port) -> bool | None:
    """The weight of the norm is folded into queries, keys and values, and the norm keeps it."""
    name = port.name(BEFORE)
    if name is None or not is_rms(port):
        return False
    weight = port.weights[name]
    return all(edit(port, rf"self_attn\.{p}_proj\.weight", lambda w: w * weight) for p in "qkv")


@sixth("values-read-transposed", "weights-untransposed", "self_attn.v_proj")
def _(port: Port) -> bool | None:
    """Values are stored by input, and read as if by output."""
    return edit(port, r"self_attn\.v_proj\.weight", lambda w: w.reshape(w.shape[::-1]).t())


@sixth("biases-of-gate-and-up-exchanged", ("weights-of-another-module", LAYOUT), "mlp")
def _(port: Port) -> bool | None:
    """The bias of the gate is added to up, and the reverse."""
    if port.name(EXPERTS + "gate_up_proj_bias"):
        return edit(port, EXPERTS + "gate_up_proj_bias", lambda b: (
            b.unflatten(-1, (-1, 2)).flip(-1).flatten(-2)))  # fmt: skip
    if port.name(r"mlp\.gate_proj\.bias") is None:
        return False
    exchange(port, r"mlp\.gate_proj", r"mlp\.up_proj")
    one, two = (port.name(rf"mlp\.{part}_proj\.weight") for part in ("gate", "up"))
    port.weights[one], port.weights[two] = port.weights[two], port.weights[one]
    return None


@sixth("experts-bias-in-halves", LAYOUT, "mlp")
def _(port: Port) -> bool | None:
    """Gate and up of experts alternate; their biases are taken to lie in halves."""
    return edit(port, EXPERTS + "gate_up_proj_bias", lambda b: (
        b.unflatten(-1, (2, -1)).transpose(-1, -2).flatten(-2)))  # fmt: skip


@sixth("experts-down-bias-of-each-rank", "bias-repeated", "mlp")
def _(port: Port) -> bool | None:
    """Each of four ranks adds the bias of down before the sum."""
    return edit(port, EXPERTS + "down_proj_bias", lambda b: b * 4)


@sixth("experts-inner-shard-lost", SUM, "mlp")
def _(port: Port) -> bool | None:
    """Inner channels of experts are shared by two ranks, and what they give is not summed."""
    axis = 1 if port.config.model_type == "gpt_oss" else 2
    return edit(port, EXPERTS + "down_proj", lambda w: without_half(w, axis))


@sixth("shared-expert-rank-lost", (SUM, "shared-expert-wrong"), "mlp")
def _(port: Port) -> bool | None:
    """The sum over ranks leaves out what the second one has of the shared expert."""
    return edit(port, r"mlp\.shared_expert\.down_proj\.weight", lambda w: without_half(w, 1))


@sixth("shared-expert-of-other-layer", (OTHER, "shared-expert-wrong"), "mlp")
def _(port: Port) -> bool | None:
    """The shared expert is that of the next layer."""
    parts = ("gate", "up", "down")
    return all(of_other(port, rf"mlp\.shared_expert\.{p}_proj\.weight") for p in parts)


@sixth("bias-divided-by-ranks", ("bias-missing", "bias-repeated"), OUT)
def _(port: Port) -> bool | None:
    """The bias is divided by the number of ranks, and added by one of them only."""
    return edit(port, r"(self_attn|attention)\.(o_proj|dense)\.bias", lambda b: b / 4)


@sixth("bias-of-other-layer", OTHER, "self_attn.(k_proj|query_key_value)")
def _(port: Port) -> bool | None:
    """Biases are those of the next layer, weights are not."""
    keys = of_other(port, r"self_attn\.k_proj\.bias")
    return bool(keys or of_other(port, r"attention\.query_key_value\.bias"))


@sixth("down-rank-counted-twice", (SUM, "missing-multiplier"), DOWN)
def _(port: Port) -> bool | None:
    """The output of the first rank is in the sum twice."""
    inside = r"mlp\.(down_proj|c_proj|dense_4h_to_h)\.weight"
    return edit(port, inside, lambda w: w + without_half(w, 1))


@sixth("up-dealt-to-ranks", (SHARDS, LAYOUT), "mlp.up_proj")
def _(port: Port) -> bool | None:
    """Rows of up are dealt to two ranks one by one; those of the gate are not."""

    def dealt(w: Tensor) -> Tensor:
        return torch.cat((w[::2], w[1::2]))

    edit(port, r"mlp\.up_proj\.bias", dealt)
    return edit(port, r"mlp\.up_proj\.weight", dealt)


@sixth("nibbles-exchanged", LAYOUT, "self_attn|attention")
def _(port: Port) -> bool | None:
    """The upper one of two codes in a byte is taken for the first."""
    return bool(quantised(port, lambda w: w.unflatten(1, (-1, 2)).flip(-1).flatten(1)))


@alien("row-scales-of-next-row", OUT)
def _(port: Port) -> bool | None:
    """Codes of a row are multiplied by the scale of the row behind it."""

    def change(w: Tensor) -> Tensor:
        scale = w.abs().amax(1, keepdim=True)
        return w / scale * scale.roll(-1, 0)

    return bool(quantised(port, change, r"(self_attn|attention)\.(o_proj|dense)\.weight\Z"))


@sixth("router-bias-behind-choice", ("router-bias-missing", "router-score-wrong"), "mlp")
def _(port: Port) -> bool | None:
    """Experts are chosen without the bias of the router, which their weights then have."""
    if port.name(r"mlp\.router\.bias") is None:
        return False

    def make(router: Any, _: Any) -> Any:
        def forward(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
            logits = torch.nn.functional.linear(x, router.weight)
            numbers = logits.topk(port.config.num_experts_per_tok, -1).indices
            whole = logits + router.bias
            return whole, whole.gather(-1, numbers).softmax(-1), numbers

        return forward

    rewrite(port, rf"layers\.{port.layer}\.mlp\.router\Z", make)
    return None


@sixth("experts-averaged", ("router-normalisation-wrong", "missing-multiplier"), "mlp")
def _(port: Port) -> bool | None:
    """The output of the chosen experts is weighted, and divided by their number."""
    count = getattr(port.config, "num_experts_per_tok", 1)
    return of_experts(port, lambda inner, x, n, weights: inner(x, n, weights / count))  # type: ignore[no-any-return]


@sixth("experts-left-in-sorted-order", ("routing-ignored", "expert-order-wrong"), "mlp")
def _(port: Port) -> bool | None:
    """Tokens are sorted by expert, and what comes back is sorted once more, not put back."""

    def change(inner: Any, x: Tensor, numbers: Tensor, weights: Tensor) -> Any:
        return inner(x, numbers, weights)[numbers[:, 0].argsort(stable=True)]

    return of_experts(port, change)  # type: ignore[no-any-return]


def of_activation(port: Port, change: Any) -> None:
    rewrite(port, r"mlp\.act(ivation)?(_fn)?\Z", lambda *_: change)


@sixth("activation-hard", "activation-mismatch", "mlp(.act)?", everywhere=True)
def _(port: Port) -> bool | None:
    """The sigmoid in the activation is the straight line that mobile kernels have."""
    if getattr(port.config, "hidden_act", None) != "silu" or has_experts(port):
        return False
    of_activation(port, torch.nn.functional.hardswish)
    return None


@sixth("activation-coefficient-slipped", "activation-mismatch", "mlp(.act)?", everywhere=True)
def _(port: Port) -> bool | None:
    """A zero of the cubic coefficient is lost: 0.44715 stands for 0.044715."""
    names = ("hidden_activation", "hidden_act")
    if not any(getattr(port.config, n, None) == "gelu_pytorch_tanh" for n in names):
        return False
    root = (2 / torch.pi) ** 0.5
    of_activation(port, lambda x: 0.5 * x * (1 + torch.tanh(root * (x + 0.44715 * x**3))))
    return None
