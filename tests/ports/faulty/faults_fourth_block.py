"""Faults of the fourth set: norms, sums, the MLP, embeddings and logits."""

import torch

from .breaking import alternating, exchange, has, is_rms, replace_norm, set_activation
from .faults_third import POST
from .faults_third_rest import (
    CAPPED,
    DOWN,
    INPUT,
    LAYOUT,
    MIXED,
    RESIDUAL,
    ROWS,
    SUM,
    after_logits,
    block,
    by,
    final_norm,
    gated,
    of_mlp,
    part,
)
from .port import fault

KIND, SHARDS, MODULE = "norm-kind-wrong", "shard-order-wrong", "weights-of-another-module"
ACTIVATION = "activation-mismatch"
HEAD = "lm_head.weight"


def embedding(port):
    return next(n for n in port.weights if n.endswith(("embed_tokens.weight", "embed_in.weight")))


def of_head(port, change):
    if HEAD not in port.weights:
        return False
    port.weights[HEAD] = change(port.weights[HEAD]).contiguous()
    return None


def rms(x):
    return x * (x.pow(2).mean(-1, keepdim=True) + 1e-6).rsqrt()


@fault("fourth-norm-of-each-rank", (KIND, SUM), "input_layernorm")
def _(port):
    """Each rank has a part of the channels, and takes the mean of that."""
    if not is_rms(port):
        return False
    return replace_norm(port, "input_layernorm", lambda norm: lambda x: (
        norm.weight * rms(x.float().unflatten(-1, (4, -1))).flatten(-2).to(x.dtype)))  # fmt: skip


@fault("fourth-norm-weight-inside", KIND, "input_layernorm")
def _(port):
    """Weights are multiplied before the mean is taken."""
    if not is_rms(port):
        return False
    return replace_norm(port, "input_layernorm", lambda norm: lambda x: (
        rms(x.float() * norm.weight.float()).to(x.dtype)))  # fmt: skip


@fault("fourth-norm-weight-and-bias-exchanged", (MODULE, LAYOUT), "input_layernorm")
def _(port):
    one, two = port.name(r"input_layernorm\.weight"), port.name(r"input_layernorm\.bias")
    if two is None:
        return False
    port.weights[one], port.weights[two] = port.weights[two], port.weights[one]


@fault("fourth-norm-behind-sum", (INPUT, RESIDUAL), "post_[a-z_]*norm")
def _(port):
    """The norm behind a branch is applied to the sum with the residual."""
    kind = port.config.model_type
    if kind not in ("olmo2", "glm4"):
        return False

    def add(model):
        layer = part(model, f"layers.{port.layer}")

        def forward(hidden_states, **kwargs):
            x = hidden_states
            if kind == "olmo2":
                x = layer.post_attention_layernorm(x + layer.self_attn(x, **kwargs)[0])
                return layer.post_feedforward_layernorm(x + layer.mlp(x))
            found = layer.self_attn(hidden_states=layer.input_layernorm(x), **kwargs)[0]
            x = layer.post_self_attn_layernorm(x + found)
            return layer.post_mlp_layernorm(x + layer.mlp(layer.post_attention_layernorm(x)))

        layer.forward = forward

    port.changes.append(add)


@fault("fourth-norm-behind-taken-for-norm-before", MODULE, "post_[a-z_]*norm")
def _(port):
    """Names of other architectures: the norm behind attention is taken for that of the MLP."""
    if port.config.model_type == "glm4":
        return exchange(port, "post_attention_layernorm", "post_self_attn_layernorm")
    return exchange(port, "post_attention_layernorm", "pre_feedforward_layernorm")


@fault("fourth-final-norm-of-a-layer", MODULE, "norm|final_layer_norm", everywhere=True)
def _(port):
    name, other = final_norm(port), port.name(r"input_layernorm\.weight")
    if name is None or other is None:
        return False
    port.weights[f"{name}.weight"] = port.weights[other].clone()


@fault("fourth-norm-of-branch-only", (INPUT, RESIDUAL), "post_attention_layernorm")
def _(port):
    """The kernel that adds and norms forgets to add: the norm gets what attention gives."""

    def forward(layer, x, attention):
        found = attention(layer.input_layernorm(x)) * by(port)
        made = layer.mlp(layer.post_attention_layernorm(found)) * by(port)
        return x + found + made

    return block(port, forward)


@fault("fourth-residual-behind-norm", (RESIDUAL, INPUT), "sum")
def _(port):
    """The normed input of a branch is added to it."""

    def forward(layer, x, attention):
        x = layer.input_layernorm(x)
        x = x + attention(x) * by(port)
        return x + layer.mlp(layer.post_attention_layernorm(x)) * by(port)

    return block(port, forward)


@fault("fourth-residual-of-layer-for-mlp", (RESIDUAL, INPUT), "sum")
def _(port):
    """To the MLP the input of the layer is added, and attention is lost."""

    def forward(layer, x, attention):
        found = x + attention(layer.input_layernorm(x)) * by(port)
        return x + layer.mlp(layer.post_attention_layernorm(found)) * by(port)

    return block(port, forward)


@fault("fourth-residual-multiplier-on-sum", RESIDUAL, "sum")
def _(port):
    if not has(port, "residual_multiplier"):
        return False

    def forward(layer, x, attention):
        x = (x + attention(layer.input_layernorm(x))) * by(port)
        return (x + layer.mlp(layer.post_attention_layernorm(x))) * by(port)

    return block(port, forward)


@fault("fourth-parallel-shares-norm", (INPUT, MODULE), "post_attention_layernorm|mlp")
def _(port):
    """Both branches get what the first norm gives."""
    if port.config.model_type != "gpt_neox":
        return False

    def add(model):
        layer = part(model, f"layers.{port.layer}")
        layer.post_attention_layernorm.forward = layer.input_layernorm.forward

    port.changes.append(add)


@fault("fourth-activation-silu", ACTIVATION, "mlp", everywhere=True)
def _(port):
    key = "hidden_activation" if hasattr(port.config, "hidden_activation") else "hidden_act"
    return False if getattr(port.config, key) == "silu" else set_activation(port, "silu")


@fault("fourth-activation-squared", ACTIVATION, "mlp", everywhere=True)
def _(port):
    return set_activation(port, "relu2")


@fault("fourth-activation-of-both", ACTIVATION, "mlp")
def _(port):
    """The activation is applied to the whole of a fused projection."""
    if not gated(port):
        return False
    of_mlp(port, lambda mlp, x, inner: (
        mlp.down_proj(mlp.act_fn(mlp.gate_proj(x)) * mlp.act_fn(mlp.up_proj(x)))))  # fmt: skip


@fault("fourth-gate-loaded-from-up", MODULE, "mlp.gate_proj")
def _(port):
    if not gated(port):
        return False
    for kind in ("weight", "bias"):
        one, two = port.name(rf"mlp\.up_proj\.{kind}"), port.name(rf"mlp\.gate_proj\.{kind}")
        if two:
            port.weights[two] = port.weights[one].clone()


@fault("fourth-gate-up-of-ranks", (LAYOUT, SHARDS), "mlp.(gate_up_proj|gate_proj)")
def _(port):
    """Stored rank by rank, gate and up of each; read as all gates and all ups."""

    def mixed(w):
        return torch.cat([w.chunk(4)[each] for each in (0, 2, 1, 3)])

    if port.name(r"mlp\.gate_up_proj\.weight"):
        return port.scale_rows(r"mlp\.gate_up_proj\.weight", mixed)
    gate, up = port.name(r"mlp\.gate_proj\.weight"), port.name(r"mlp\.up_proj\.weight")
    if not gated(port) or port.name(r"mlp\.gate_proj\.bias"):
        return False
    both = mixed(torch.cat((port.weights[gate], port.weights[up])))
    port.weights[gate], port.weights[up] = (each.contiguous() for each in both.chunk(2))


@fault("fourth-down-inner-order", (LAYOUT, SHARDS), "mlp.(down_proj|c_proj|dense_4h_to_h)")
def _(port):
    """Inner channels are shared out in turn, and the columns behind them in blocks."""
    return port.scale_rows(rf"{DOWN}\.weight", lambda w: alternating(w.T).T)


@fault("fourth-embedding-not-reduced", (ROWS, SUM), "embed", everywhere=True)
def _(port):
    """Tokens of the other rank's part of the vocabulary have no embedding."""
    name = embedding(port)
    port.weights[name][len(port.weights[name]) // 2 :] = 0


@fault("fourth-embedding-shards-exchanged", (SHARDS, ROWS), "embed", everywhere=True)
def _(port):
    """The two halves of the channels are exchanged."""
    name = embedding(port)
    port.weights[name] = port.weights[name].roll(port.config.hidden_size // 2, 1)


@fault("fourth-embedding-multiplier-twice", ("embedding-multiplier-wrong", RESIDUAL),
       "embed", everywhere=True)  # fmt: skip
def _(port):
    """Folded into the weights, and multiplied again."""
    if has(port, "embedding_multiplier"):
        factor = port.config.embedding_multiplier
    elif port.config.model_type.startswith("gemma"):
        factor = port.config.hidden_size**0.5
    else:
        return False
    port.weights[embedding(port)] *= factor


@fault("fourth-embedding-loaded-from-head", (MODULE, "tied-head-wrong", ROWS), "embed",
       everywhere=True)  # fmt: skip
def _(port):
    if HEAD not in port.weights:
        return False
    port.weights[embedding(port)] = port.weights[HEAD].clone()


@fault("fourth-head-padded-in-each-rank", (ROWS, SHARDS), "lm_head", everywhere=True)
def _(port):
    """Rows of padding lie between the parts of the vocabulary."""
    return of_head(port, lambda w: (
        torch.cat((w[: len(w) // 2], w[:8] * 0, w[len(w) // 2 : -8]))))  # fmt: skip


@fault("fourth-head-last-rank-not-gathered", (SUM, ROWS), "lm_head", everywhere=True)
def _(port):
    return of_head(port, lambda w: torch.cat((w[: -len(w) // 4], w[-len(w) // 4 :] * 0)))


@fault("fourth-head-of-half-the-channels", SUM, "lm_head", everywhere=True)
def _(port):
    return of_head(port, lambda w: w * (torch.arange(w.shape[1]) < w.shape[1] // 2))


@fault("fourth-head-one-position-behind", (INPUT, "lm-head-last-position"), "lm_head",
       everywhere=True)  # fmt: skip
def _(port):
    """Each logit is that of the token before."""

    def add(model):
        inner = model.lm_head.forward
        model.lm_head.forward = lambda x: inner(x.roll(1, 1))

    if HEAD not in port.weights or has(port, "final_logit_softcapping"):
        return False
    port.changes.append(add)


@fault("fourth-logits-cap-foreign", CAPPED, "logits", everywhere=True)
def _(port):
    plain = (*MIXED, *POST, "llama", "qwen2")
    if has(port, "final_logit_softcapping") or port.config.model_type not in plain:
        return False
    after_logits(port, lambda logits: (logits / 3).tanh() * 3)
