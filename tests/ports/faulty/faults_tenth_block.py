"""Norms, activations, biases, branches and experts of the tenth set."""

from .port import Port
from .tenth_making import QK_NORM, tenth


@tenth("qk-norm-over-all-heads", QK_NORM, "self_attn.[qk]_norm", everywhere=True)
def qk_norm_over_all_heads(port: Port) -> bool | None:
    """Queries and keys are normalised over all heads at once, as OLMo 2 does it, not over each."""
    raise NotImplementedError


@tenth("rms-for-layer-norm", "norm-kind-wrong", "[a-z_]*norm", everywhere=True)
def rms_for_layer_norm(port: Port) -> bool | None:
    """Cohere's norms, which subtract the mean, are built as RMSNorm like those of Llama."""
    raise NotImplementedError


@tenth("one-added-twice", "norm-weight-offset", "[a-z_]*norm", everywhere=True)
def one_added_twice(port: Port) -> bool | None:
    """Conversion adds one to the weights of Gemma's norms, and the norm of the port adds one too."""
    raise NotImplementedError


@tenth("silu-for-gelu", "activation-mismatch", "mlp(.act)?", everywhere=True)
def silu_for_gelu(port: Port) -> bool | None:
    """The MLP of Llama is used for Gemma: it reads hidden_act, and Gemma has hidden_activation."""
    raise NotImplementedError


@tenth("qkv-bias-dropped", "bias-missing", "self_attn.[qkv]_proj", everywhere=True)
def qkv_bias_dropped(port: Port) -> bool | None:
    """Qwen 2 has biases of queries, keys and values without saying so in its configuration; the port
    asks for attention_bias and has none."""
    raise NotImplementedError


@tenth("residual-multiplier-once", "residual-multiplier-wrong", "sum", everywhere=True)
def residual_multiplier_once(port: Port) -> bool | None:
    """Granite's residual_multiplier is applied to the MLP, and not to attention."""
    raise NotImplementedError


@tenth("experts-dealt-out", "expert-order-wrong", "mlp", everywhere=True)
def experts_dealt_out(port: Port) -> bool | None:
    """Experts are dealt to four ranks one by one, and each rank takes its own for consecutive ones."""
    raise NotImplementedError


@tenth("router-not-renormalised", "router-normalisation-wrong", "mlp", everywhere=True)
def router_not_renormalised(port: Port) -> bool | None:
    """Weights of the chosen experts are those of the softmax over all, and are not divided by their
    sum."""
    raise NotImplementedError


@tenth("router-bias-dropped", "router-bias-missing", "mlp(.router)?", everywhere=True)
def router_bias_dropped(port: Port) -> bool | None:
    """The router is built without a bias, as Mixtral's is."""
    raise NotImplementedError


@tenth("top-k-of-class-default", "router-top-k-wrong", "mlp", everywhere=True)
def top_k_of_class_default(port: Port) -> bool | None:
    """The number of experts for each token is looked for under another key, and so is the default
    of the configuration class."""
    raise NotImplementedError
