"""Norms, activations, biases, branches and experts of the tenth set."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from .breaking import has
from .fifth_making import has_experts, rewrite
from .port import Port
from .seventh_making import dealt
from .tenth_making import GEMMA, QK_NORM, every, of_family, tenth, with_router


@tenth("qk-norm-over-all-heads", QK_NORM, "self_attn.[qk]_norm", everywhere=True)
def qk_norm_over_all_heads(port: Port) -> bool | None:
    """Queries and keys are normalised over all heads at once, as OLMo 2 does it, not over each."""
    if not of_family(port, "qwen3", "qwen3_moe", "gemma3_text"):
        return False
    heads_axis = 1 if of_family(port, "gemma3_text") else 2

    def make(norm: Any, _: Callable[..., Any]) -> Callable[[Tensor], Tensor]:
        eps = port.config.rms_norm_eps

        def forward(x: Tensor) -> Tensor:
            square = x.float().pow(2).mean((heads_axis, -1), keepdim=True)
            found: Tensor = x.float() * torch.rsqrt(square + eps)
            if of_family(port, "gemma3_text"):
                found = found * (1.0 + norm.weight.float())
                return found.to(x.dtype)
            return norm.weight * found.to(x.dtype)  # type: ignore[no-any-return, unused-ignore]

        return forward

    rewrite(port, r"self_attn\.[qk]_norm\Z", make)
    return None


@tenth("rms-for-layer-norm", "norm-kind-wrong", "[a-z_]*norm", everywhere=True)
def rms_for_layer_norm(port: Port) -> bool | None:
    """Cohere's norms, which subtract the mean, are built as RMSNorm like those of Llama."""
    if not of_family(port, "cohere"):
        return False

    def make(norm: Any, _: Callable[..., Any]) -> Callable[[Tensor], Tensor]:
        def forward(x: Tensor) -> Tensor:
            square = x.float().pow(2).mean(-1, keepdim=True)
            found: Tensor = x.float() * torch.rsqrt(square + port.config.layer_norm_eps)
            found = norm.weight.float() * found
            return found.to(x.dtype)

        return forward

    rewrite(port, r"norm\Z", make)
    return None


@tenth("one-added-twice", "norm-weight-offset", "[a-z_]*norm", everywhere=True)
def one_added_twice(port: Port) -> bool | None:
    """Conversion adds one to weights of Gemma's norms, and the norm of the port adds one too."""
    if not of_family(port, *GEMMA):
        return False
    port.weights["model.norm.weight"] += 1.0
    return every(port, r"\w*norm\.weight", lambda w: w + 1.0)


@tenth("silu-for-gelu", "activation-mismatch", "mlp(.act)?", everywhere=True)
def silu_for_gelu(port: Port) -> bool | None:
    """The MLP of Llama is used for Gemma: it reads hidden_act, and Gemma has hidden_activation."""
    if not of_family(port, *GEMMA):
        return False
    port.config.hidden_activation = "silu"
    return None


@tenth("qkv-bias-dropped", "bias-missing", "self_attn.[qkv]_proj", everywhere=True)
def qkv_bias_dropped(port: Port) -> bool | None:
    """Qwen 2 has biases of queries, keys and values without saying so in its configuration; the
    port asks for attention_bias and has none."""
    if not of_family(port, "qwen2", "qwen2_moe"):
        return False
    return every(port, r"self_attn\.[qkv]_proj\.bias", torch.zeros_like)


@tenth("residual-multiplier-once", "residual-multiplier-wrong", "sum", everywhere=True)
def residual_multiplier_once(port: Port) -> bool | None:
    """Granite's residual_multiplier is applied to the MLP, and not to attention."""
    if not has(port, "residual_multiplier"):
        return False

    def make(layer: Any, _: Callable[..., Any]) -> Callable[..., Tensor]:
        def forward(hidden_states: Tensor, **given: Any) -> Tensor:
            found = layer.self_attn(hidden_states=layer.input_layernorm(hidden_states), **given)[0]
            between = hidden_states + found
            made = layer.mlp(layer.post_attention_layernorm(between))
            return between + made * layer.residual_multiplier  # type: ignore[no-any-return, unused-ignore]

        return forward

    rewrite(port, r"layers\.\d+\Z", make)
    return None


@tenth("experts-dealt-out", "expert-order-wrong", "mlp", everywhere=True)
def experts_dealt_out(port: Port) -> bool | None:
    """Experts are dealt to four ranks one by one, and each rank takes its own for those that follow
    each other."""
    if not has_experts(port):
        return False
    return every(port, r"mlp\.experts\.\w+", lambda w: dealt(w, ranks=4))


@tenth("router-not-renormalised", "router-normalisation-wrong", "mlp", everywhere=True)
def router_not_renormalised(port: Port) -> bool | None:
    """Weights of the chosen experts are those of the softmax over all, and are not divided by their
    sum."""
    if not of_family(port, "mixtral", "gpt_oss"):
        return False

    def change(logits: Tensor, _: Tensor, numbers: Tensor) -> Tensor:
        # Mixtral's router gives what its softmax made of them.
        shares = logits if of_family(port, "mixtral") else logits.float().softmax(-1)
        return shares.gather(-1, numbers)

    return with_router(port, change)


@tenth("router-bias-dropped", "router-bias-missing", "mlp(.router)?", everywhere=True)
def router_bias_dropped(port: Port) -> bool | None:
    """The router is built without a bias, as Mixtral's is."""
    return every(port, r"mlp\.router\.bias", torch.zeros_like)


@tenth("top-k-of-class-default", "router-top-k-wrong", "mlp", everywhere=True)
def top_k_of_class_default(port: Port) -> bool | None:
    """The number of experts for each token is looked for under another key, and so is the default
    of the configuration class."""
    if not has_experts(port):
        return False
    usual = type(port.config)().num_experts_per_tok
    if usual == port.config.num_experts_per_tok:
        return False
    port.config.num_experts_per_tok = usual
    return None
