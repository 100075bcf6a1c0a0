"""Faults of the eighth set: norms, the residual stream, the MLP."""

from typing import Any

from torch import Tensor, nn

from .breaking import exchange, is_rms, replace_norm
from .eighth_making import OF_MODULE, alien, eighth
from .fifth_making import SEQUENTIAL, factor, has_experts, of_block
from .port import Port
from .sixth_making import while_decoding

KIND, TYPE, RESIDUAL = "norm-kind-wrong", "norm-type-mismatch", "residual-multiplier-wrong"
BEFORE, LATER = "input_layernorm", "post_attention_layernorm"
EXCHANGED = {
    "gemma2": ("pre_feedforward_layernorm", "post_feedforward_layernorm"),
    "gemma3_text": ("pre_feedforward_layernorm", "post_feedforward_layernorm"),
    "glm4": ("post_self_attn_layernorm", "post_mlp_layernorm"),
    "olmo2": ("post_attention_layernorm", "post_feedforward_layernorm"),
}


@eighth("norm-width-given-as-epsilon", ("norm-eps-wrong", "norm-epsilon-mismatch"), BEFORE)
def _(port: Port) -> bool | None:
    """The norm of the library takes its epsilon first, and is given the width there."""
    if not port.name(rf"{BEFORE}\.weight"):
        return False

    def add(model: nn.Module) -> None:
        for name, module in model.named_modules():
            if name.endswith(f"layers.{port.layer}.{BEFORE}"):
                for each in ("variance_epsilon", "eps"):
                    if hasattr(module, each):
                        setattr(module, each, float(port.config.hidden_size))

    port.changes.append(add)
    return None


@eighth(
    "norms-of-the-block-exchanged",
    OF_MODULE,
    "pre_feedforward_layernorm|post_self_attn_layernorm|post_attention_layernorm",
)
def _(port: Port) -> bool | None:
    """The converter exchanges two of the four norms of a block."""
    names = EXCHANGED.get(port.config.model_type)
    return bool(exchange(port, *names)) if names else False


@eighth("decoded-through-rms-kernel", (KIND, TYPE), BEFORE)
def _(port: Port) -> bool | None:
    """The kernel for one token does not subtract the mean, which the norm of a prompt does."""
    if port.config.model_type not in ("cohere", "stablelm", "starcoder2", "gpt_neox"):
        return False

    def change(norm: Any, x: Tensor) -> Any:
        whole = x.float()
        whole = whole * (whole.pow(2).mean(-1, keepdim=True) + 1e-5).rsqrt() * norm.weight.float()
        bias = getattr(norm, "bias", None)
        return (whole if bias is None else whole + bias.float()).to(x.dtype)

    while_decoding(port, rf"layers\.{port.layer}\.{BEFORE}\Z", change)
    return None


@eighth("norm-of-each-shard", ("tp-reduction-missing", KIND, TYPE), LATER)
def _(port: Port) -> bool | None:
    """Two ranks hold half of the channels each, and squares are not summed over the ranks."""
    if not is_rms(port):
        return False

    def make(norm: Any) -> Any:
        def forward(x: Tensor) -> Any:
            parts = x.float().unflatten(-1, (2, -1))
            parts = parts * (parts.pow(2).mean(-1, keepdim=True) + 1e-6).rsqrt()
            return (parts.flatten(-2) * norm.weight.float()).to(x.dtype)

        return forward

    return replace_norm(port, LATER, make)  # type: ignore[no-any-return]


@eighth("result-of-norm-dropped", "wrong-input", "self_attn")
def _(port: Port) -> bool | None:
    """The norm before attention is called, and attention is given what the norm was given."""
    if port.config.model_type not in SEQUENTIAL:
        return False

    def forward(layer: Any, x: Tensor, attention: Any, mlp: Any) -> Any:
        layer.input_layernorm(x)
        hidden = x + attention(x) * factor(port)
        return hidden + mlp(layer.post_attention_layernorm(hidden)) * factor(port)

    of_block(port, forward)
    return None


@alien("first-token-blanked-in-mlp", "mlp")
def _(port: Port) -> bool | None:
    """The first token of a prompt is taken for padding, and the MLP gives zero for it."""
    if has_experts(port):  # less than another choice of experts by rounding
        return False

    def change(x: Tensor) -> Tensor:
        found = x.clone()
        if x.shape[1] > 1:
            found[:, 0] = 0
        return found

    port.hook("mlp", change)
    return None


@eighth("decoded-norm-weightless", "norm-weight-missing", LATER)
def _(port: Port) -> bool | None:
    """The kernel for one token norms and leaves the weight to a matrix, where it is not."""
    if not is_rms(port):
        return False

    def change(_: Any, x: Tensor) -> Any:
        whole = x.float()
        return (whole * (whole.pow(2).mean(-1, keepdim=True) + 1e-6).rsqrt()).to(x.dtype)

    while_decoding(port, rf"layers\.{port.layer}\.{LATER}\Z", change)
    return None


@alien("norm-figure-of-token-before", BEFORE)
def _(port: Port) -> bool | None:
    """The norm divides each token of a prompt by the figure of the token before it."""
    if not is_rms(port):
        return False

    def make(norm: Any) -> Any:
        def forward(x: Tensor) -> Any:
            whole = x.float()
            figure = (whole.pow(2).mean(-1, keepdim=True) + 1e-6).rsqrt()
            return (whole * figure.roll(1, 1) * norm.weight.float()).to(x.dtype)

        return forward

    return replace_norm(port, BEFORE, make)  # type: ignore[no-any-return]


@alien("mlp-output-saturates", "mlp")
def _(port: Port) -> bool | None:
    """The MLP's output is written in eight bits with a fixed scale, and larger values are cut."""
    port.hook("mlp", lambda x: x.clamp(-0.25, 0.25))
    return None


@eighth("later-norm-with-weight-of-the-first", OF_MODULE, LATER)
def _(port: Port) -> bool | None:
    """The fused kernel of sum and norm is given the weight of the norm before attention."""
    names = [port.name(rf"{each}\.weight") for each in (BEFORE, LATER)]
    if None in names:
        return False
    port.weights[names[1]] = port.weights[names[0]].clone()
    return None
