"""Faults of the ninth set: norms, the residual stream, the MLP."""

import math
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from .breaking import is_rms
from .fifth_making import SEQUENTIAL, factor, first, has_experts, of_block, rewrite
from .ninth_making import (
    FACTOR,
    GEMMA,
    LOW,
    OF_MODULE,
    alien,
    eight_bits,
    final_norm,
    ninth,
    of_end,
)
from .port import Port
from .sixth_making import edit

RESIDUAL, ACTIVATION = "residual-multiplier-wrong", "activation-mismatch"
LAST_NORM = "norm|final_layer_norm"
BEHIND = ("post_attention_layernorm", "post_feedforward_layernorm")
BEHIND_BOTH = {
    "gemma2": BEHIND, "gemma3_text": BEHIND, "olmo2": BEHIND,
    "glm4": ("post_self_attn_layernorm", "post_mlp_layernorm"),
}  # fmt: skip


@ninth("norms-behind-without-offset", "norm-weight-offset", BEHIND[0],
       report="pytorch/executorch/pull/19901")  # fmt: skip
def _(port: Port) -> bool | None:
    """The converter adds one to the norms in front of branches, whose names it knows; those behind
    branches are used as they are stored."""
    if port.config.model_type not in GEMMA:
        return False
    return all(edit(port, rf"{name}\.weight", lambda w: w - 1) for name in BEHIND)


@ninth("norm-before-mlp-not-carried-over", ("norm-weight-missing", "weights-not-loaded"),
       "pre_feedforward_layernorm", report="NVIDIA-NeMo/Speech/issues/11951")  # fmt: skip
def _(port: Port) -> bool | None:
    """The norm in front of the MLP has a wrong name in the converter, and stays as it was made."""
    return edit(port, r"pre_feedforward_layernorm\.weight", torch.zeros_like)


@ninth("final-norm-bias-missing", "bias-missing", LAST_NORM, everywhere=True)
def _(port: Port) -> bool | None:
    """The last norm is made without a bias, which the other norms have."""
    return of_end(port, r"norm\.bias", torch.zeros_like)


@ninth("final-norm-subtracts-mean", ("norm-kind-wrong", "norm-type-mismatch"), LAST_NORM, True)
def _(port: Port) -> bool | None:
    """The norm in front of the head is the one of the library's base class, which subtracts the
    mean; those of layers do not."""
    if not is_rms(port):
        return False

    def make(norm: Any) -> Any:
        return lambda x: functional.layer_norm(x, x.shape[-1:], norm.weight, None, 1e-6)

    final_norm(port, make)
    return None


@ninth(
    "one-weight-for-both-norms-behind", OF_MODULE, "post_feedforward_layernorm|post_mlp_layernorm"
)
def _(port: Port) -> bool | None:
    """The loader finds the name of the norm behind attention in that of the norm behind the MLP,
    and gives both the same weight."""
    names = BEHIND_BOTH.get(port.config.model_type)
    if names is None:
        return False
    one, two = (port.name(rf"{name}\.weight") for name in names)
    port.weights[two] = port.weights[one].clone()
    return None


@ninth("branches-scaled-by-depth", RESIDUAL, "sum")
def _(port: Port) -> bool | None:
    """The block of another family is taken, which divides its branches by the root of how many
    branches there are."""
    if port.config.model_type not in SEQUENTIAL:
        return False
    share = factor(port) / math.sqrt(2 * port.config.num_hidden_layers)

    def forward(layer: Any, x: Tensor, attention: Any, mlp: Any) -> Any:
        hidden = x + attention(layer.input_layernorm(x)) * share
        return hidden + mlp(layer.post_attention_layernorm(hidden)) * share

    of_block(port, forward)
    return None


@ninth("final-norm-of-last-branch-only", ("wrong-input", RESIDUAL), "sum", everywhere=True)
def _(port: Port) -> bool | None:
    """Norms add the residual stream to what a branch gives; the last one is not given it."""
    if port.config.model_type not in SEQUENTIAL:
        return False

    def make(layer: Any, _: Any) -> Any:
        def forward(hidden_states: Tensor, **kwargs: Any) -> Any:
            found = layer.self_attn(hidden_states=layer.input_layernorm(hidden_states), **kwargs)
            hidden = hidden_states + found[0] * factor(port)
            return first(layer.mlp(layer.post_attention_layernorm(hidden))) * factor(port)

        return forward

    rewrite(port, rf"layers\.{port.config.num_hidden_layers - 1}\Z", make)
    return None


@ninth("norm-gives-eight-bits", LOW, "input_layernorm")
def _(port: Port) -> bool | None:
    """The norm in front of attention is fused with a cast to eight bits without a scale."""
    if not port.name(r"input_layernorm\.weight"):
        return False
    port.hook("input_layernorm", eight_bits)
    return None


@ninth("bias-of-up-not-loaded", "bias-missing", "mlp.(up_proj|c_fc|dense_h_to_4h)",
       report="vllm-project/vllm/pull/39666")  # fmt: skip
def _(port: Port) -> bool | None:
    """The online quantiser loads matrices and leaves out the bias of the one behind the gate."""
    return edit(port, r"mlp\.(up_proj|c_fc|dense_h_to_4h)\.bias", torch.zeros_like)


@ninth("gate-read-with-scale-of-up", FACTOR, "mlp.gate_proj",
       report="NVIDIA/TensorRT-LLM/pull/14199")  # fmt: skip
def _(port: Port) -> bool | None:
    """Gate and up are fused. Each was quantised with a scale for the whole of it, and the kernel
    takes one of the two for both."""
    up = port.name(r"mlp\.up_proj\.weight")
    if up is None:
        return False
    scale = port.weights[up].abs().max()
    return edit(port, r"mlp\.gate_proj\.weight", lambda w: w * scale / w.abs().max())


@alien("integers-wrap-around", "mlp")
def _(port: Port) -> bool | None:
    """The output of the MLP is cast to eight-bit integers with a scale that is too small, and
    values that are too large come out with the other sign."""
    if has_experts(port):
        return False

    def change(x: Tensor) -> Tensor:
        step = x.std() / 64
        return ((x / step).round() + 128).remainder(256).sub(128) * step

    port.hook("mlp", change)
    return None


@alien("control-vector-left-on", "layers", everywhere=False)
def _(port: Port) -> bool | None:
    """The same vector is added to what a layer gives for each token, as the server was started
    with a control vector."""
    made = torch.Generator().manual_seed(7)
    vector = torch.randn(port.config.hidden_size, generator=made)

    def change(x: Tensor) -> Tensor:
        return x + (0.3 * vector).to(x.dtype)

    port.hook("", change)
    return None
