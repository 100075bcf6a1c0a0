"""Weights, blocks and the ends of the model, of the eleventh set."""

from typing import Any

import torch
from torch import Tensor

from .breaking import by_head, has, heads, set_activation, width
from .eighth_making import DOWN_NAME
from .eleventh_making import LAYOUT, ORDER, eleventh
from .fifth_making import embedding, first, head, rewrite, to_halves, to_pairs
from .port import Port


@eleventh("layer-norm-as-rms", "norm-kind-wrong", "[a-z_]*norm", everywhere=True)
def _(port: Port) -> bool | None:
    """The library has RMS norms only: weight and bias are loaded, the mean is not subtracted."""
    if port.config.model_type not in ("starcoder2", "stablelm", "gpt_neox", "cohere"):
        return False

    def make(norm: Any, _: Any) -> Any:
        eps = norm.variance_epsilon if hasattr(norm, "variance_epsilon") else norm.eps
        bias = getattr(norm, "bias", None)

        def forward(x: Tensor) -> Tensor:
            wide = x.float()
            even = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + eps)
            found: Tensor = even * norm.weight.float() + (0.0 if bias is None else bias.float())
            return found.to(x.dtype)

        return forward

    rewrite(port, r"(layernorm|layer_norm|\.norm)\Z", make)
    return None


@eleventh("gate-up-cut-per-rank", (LAYOUT, ORDER), "mlp.(gate_up_proj|experts)")
def _(port: Port) -> bool | None:
    """The fused matrix of gate and up is cut in four as it lies, and each rank takes the first half
    of what it has for gate."""

    def change(w: Tensor) -> Tensor:
        axis = w.ndim - 2
        ranks = [rank.chunk(2, axis) for rank in w.chunk(4, axis)]
        return torch.cat([rank[part] for part in (0, 1) for rank in ranks], axis)

    if port.config.model_type == "gpt_oss":
        return False
    return bool(port.scale_rows(r"mlp\.(experts\.gate_up_proj|gate_up_proj\.weight)", change))


@eleventh("activation-default-silu", "activation-mismatch", "mlp(.act)?", everywhere=True)
def _(port: Port) -> bool | None:
    """The activation is looked up under a key that the configuration does not have, and the library
    falls back on SiLU."""
    key = "hidden_activation" if hasattr(port.config, "hidden_activation") else "hidden_act"
    if getattr(port.config, key, "silu") == "silu":
        return False
    set_activation(port, "silu")
    return None


@eleventh("q-transposed", "weights-untransposed", "self_attn.q_proj")
def _(port: Port) -> bool | None:
    """The converter transposes query weights for a layer that takes them as they are; they are
    square."""
    name = port.name(r"self_attn\.q_proj\.weight")
    if name is None or port.weights[name].shape[0] != port.weights[name].shape[1]:
        return False
    return bool(port.scale_rows(r"self_attn\.q_proj\.weight", lambda w: w.T))


@eleventh("k-permuted-by-query-heads", LAYOUT, "self_attn.k_proj")
def _(port: Port) -> bool | None:
    """The converter from Meta's layout permutes the rows of keys by the number of heads of
    queries."""
    if port.config.model_type not in ("llama", "mistral", "mixtral"):
        return False
    count, groups = heads(port.config)
    if count == groups or port.name(r"self_attn\.k_proj\.bias"):
        return False

    def change(w: Tensor) -> Tensor:
        found: Tensor = to_halves(to_pairs(w, groups), count)
        return found

    return bool(port.scale_rows(r"self_attn\.k_proj\.weight", change))


@eleventh("o-heads-dealt", ("head-order-wrong", ORDER), "self_attn.o_proj")
def _(port: Port) -> bool | None:
    """The output projection is reordered for heads that are dealt one from each group in turn;
    queries stay in their order."""
    count, groups = heads(port.config)
    if count == groups:
        return False
    order = torch.arange(count).view(groups, -1).T.flatten()
    size = width(port.config)
    return bool(
        port.scale_rows(
            r"self_attn\.o_proj\.weight", lambda w: by_head(w.T, size, lambda _: order).T
        )
    )


@eleventh("down-shards-of-mesh", ORDER, "mlp.(down_proj|c_proj|dense_4h_to_h)")
def _(port: Port) -> bool | None:
    """Four ranks form a mesh of two by two, and shards of the row-parallel layer are read by
    column."""

    def change(w: Tensor) -> Tensor:
        shards = w.chunk(4, 1)
        return torch.cat([shards[rank] for rank in (0, 2, 1, 3)], 1)

    return bool(port.scale_rows(rf"{DOWN_NAME}\.weight", change))


@eleventh("residual-multiplier-one-branch", "residual-multiplier-wrong", "sum", everywhere=True)
def _(port: Port) -> bool | None:
    """The residual multiplier is applied to the MLP branch alone, and attention is added as it
    is."""
    if not has(port, "residual_multiplier"):
        return False
    factor = port.config.residual_multiplier

    def make(layer: Any, _: Any) -> Any:
        def forward(hidden_states: Tensor, **kwargs: Any) -> Tensor:
            x = layer.input_layernorm(hidden_states)
            middle: Tensor = hidden_states + first(layer.self_attn(hidden_states=x, **kwargs))
            made: Tensor = first(layer.mlp(layer.post_attention_layernorm(middle)))
            found: Tensor = middle + made * factor
            return found

        return forward

    rewrite(port, r"layers\.\d+\Z", make)
    return None


@eleventh("embedding-multiplier-forgotten", "embedding-multiplier-wrong", "sum", everywhere=True)
def _(port: Port) -> bool | None:
    """The port of Granite is made from that of Llama, which does not multiply embeddings."""
    if not has(port, "embedding_multiplier"):
        return False
    port.config.embedding_multiplier = 1.0
    return None


@eleventh("logits-scaling-inverted", "logits-multiplier-wrong", "logits", everywhere=True)
def _(port: Port) -> bool | None:
    """Logits are multiplied where this family divides them, or divided where it multiplies."""
    for key in ("logit_scale", "logits_scaling"):
        if hasattr(port.config, key):
            setattr(port.config, key, 1 / getattr(port.config, key))
            return None
    return False


@eleventh("logits-softcap-other-key", "logits-softcap-wrong", "logits", everywhere=True)
def _(port: Port) -> bool | None:
    """The cap of logits is read from a key that the configuration does not have, and the usual 30
    is taken."""
    if not has(port, "final_logit_softcapping"):
        return False
    port.config.final_logit_softcapping = 30.0
    return None


@eleventh("tied-head-by-default", "tied-head-wrong", "lm_head|embed_out", everywhere=True)
def _(port: Port) -> bool | None:
    """The library ties the head to the embedding unless it is told otherwise, and skips its
    weight."""
    name = head(port)
    if name is None:
        return False
    port.weights[name] = port.weights[embedding(port)].clone()
    return None
