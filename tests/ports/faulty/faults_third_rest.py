"""Faults of the third set: activations, layouts, shards, logits and the order of a block."""

import torch

from .breaking import (
    has,
    heads,
    set_activation,
    width,
)
from .faults_third import POST
from .port import fault

LAYOUT, OTHER, INPUT = "weight-layout-mismatch", "weights-of-another-layer", "wrong-input"
RESIDUAL, ROWS, SUM = "residual-multiplier-wrong", "embedding-rows-wrong", "tp-reduction-missing"
LOGITS, CAPPED = "logits-multiplier-wrong", "logits-softcap-wrong"
DOWN = r"mlp\.(down_proj|c_proj|dense_4h_to_h)"
PLAIN = ("llama", "mistral", "qwen2", "qwen3", "phi3", "starcoder2", "granite")
MIXED = ("mixtral", "qwen2_moe", "qwen3_moe", "gpt_oss")  # of experts


def part(model, ending):
    """A module by the end of its name; None if there is none."""
    return next((m for n, m in model.named_modules() if n.endswith(ending)), None)


def block(port, forward):
    """Let a layer compute ``forward(layer, hidden, attention)`` instead."""
    if port.config.model_type not in PLAIN:
        return False

    def add(model):
        layer = part(model, f"layers.{port.layer}")
        layer.forward = lambda hidden_states, **kwargs: forward(
            layer, hidden_states, lambda x: layer.self_attn(hidden_states=x, **kwargs)[0]
        )

    port.changes.append(add)
    return None


def final_norm(port):
    names = ("model.norm.weight", "gpt_neox.final_layer_norm.weight")
    return next((name[:-7] for name in port.weights if name in names), None)


def by(port):
    return getattr(port.config, "residual_multiplier", 1.0)


def after_logits(port, change):
    def add(model):
        inner = model.forward

        def forward(*args, **kwargs):
            output = inner(*args, **kwargs)
            output.logits = change(output.logits)
            return output

        model.forward = forward

    port.changes.append(add)


def of_mlp(port, change):
    """Another function for the MLP: ``change(mlp, x, its own function)``."""

    def add(model):
        mlp = part(model, f"layers.{port.layer}.mlp")
        inner = mlp.forward
        mlp.forward = lambda x: change(mlp, x, inner)

    port.changes.append(add)


def gated(port):
    return bool(port.name(r"mlp\.gate_proj\.weight")) and port.config.model_type not in MIXED


@fault("third-activation-sigmoid", "activation-mismatch", "mlp(.act)?", everywhere=True)
def _(port):
    return set_activation(port, "sigmoid")


@fault("third-activation-none", "activation-mismatch", "mlp(.act)?", everywhere=True)
def _(port):
    return set_activation(port, "linear")


@fault("third-activation-alpha-and-limit-exchanged", "activation-mismatch", "mlp(.experts)?")
def _(port):
    def add(model):
        experts = part(model, f"layers.{port.layer}.mlp.experts")
        experts.alpha, experts.limit = experts.limit, experts.alpha

    if port.config.model_type != "gpt_oss":
        return False
    port.changes.append(add)


@fault("third-activation-alpha-one", "activation-mismatch", "mlp(.experts)?")
def _(port):
    """The usual SiLU where its argument is to be multiplied by 1.702."""
    if port.config.model_type != "gpt_oss":
        return False
    port.changes.append(
        lambda model: setattr(part(model, f"layers.{port.layer}.mlp.experts"), "alpha", 1.0)
    )


@fault("third-experts-halves-for-pairs", LAYOUT, "mlp(.experts)?")
def _(port):
    """Gates and the rest lie in halves in the port, but were stored alternating."""
    if port.config.model_type != "gpt_oss":
        return False

    def halves(w):
        return torch.stack(w.chunk(2, -1), -1).flatten(-2)

    port.scale_rows(r"experts\.gate_up_proj_bias", halves)
    return port.scale_rows(r"experts\.gate_up_proj", halves)


@fault("third-fused-qkv-values-before-keys", LAYOUT, "self_attn(.qkv_proj)?")
def _(port):
    count, groups = (each * width(port.config) for each in heads(port.config))

    def change(w):
        q, k, v = w.split((count, groups, groups))
        return torch.cat((q, v, k))

    return port.scale_rows(r"qkv_proj\.weight", change)


@fault("third-fused-qkv-in-blocks", LAYOUT, "attention(.query_key_value)?")
def _(port):
    """Queries, keys and values of each head lie together; read as all queries, all keys, ..."""
    count, size = heads(port.config)[0], width(port.config)

    def change(w):
        rest = w.shape[1:]
        return w.reshape(3, count, size, *rest).transpose(0, 1).reshape(w.shape)

    port.scale_rows(r"query_key_value\.bias", change)
    return port.scale_rows(r"query_key_value\.weight", change)


@fault("third-values-bias-dropped", "bias-missing", "(self_attn|attention)(.v_proj)?")
def _(port):
    return port.scale_rows(r"self_attn\.v_proj\.bias", lambda b: b * 0)


@fault("third-down-bias-per-rank", "bias-repeated", "mlp(.down_proj|.c_proj|.dense_4h_to_h)?")
def _(port):
    return port.scale_rows(rf"{DOWN}\.bias", lambda b: b * 4)


@fault("third-down-last-rank-lost", SUM, "mlp(.down_proj|.c_proj|.dense_4h_to_h)?")
def _(port):
    def change(w):
        return torch.cat((*w.chunk(4, 1)[:3], w.chunk(4, 1)[3] * 0), 1)

    return port.scale_rows(rf"{DOWN}\.weight", change)


@fault("third-down-averaged-over-ranks", ("missing-multiplier", SUM), "mlp(.down_proj|.c_proj)?")
def _(port):
    if port.name(rf"{DOWN}\.bias") or port.config.model_type in POST:
        return False
    return port.scale_rows(rf"{DOWN}\.weight", lambda w: w / 4)


@fault("third-experts-of-other-ranks-lost", SUM, "mlp(.experts)?")
def _(port):
    def change(w):
        return torch.cat((w[:4], w[4:] * 0))

    port.scale_rows(r"experts\.down_proj_bias", change)
    return port.scale_rows(r"experts\.down_proj", change)


@fault("third-gate-shards-rotated", "shard-order-wrong", "mlp(.gate_proj)?")
def _(port):
    """The rows of the gate, but not those beside them, come from the rank before."""
    if not gated(port) or port.name(r"mlp\.gate_proj\.bias"):
        return False
    return port.scale_rows(r"mlp\.gate_proj\.weight", lambda w: w.roll(w.shape[0] // 4, 0))


@fault("third-head-shards-reversed", ("shard-order-wrong", ROWS), "lm_head", everywhere=True)
def _(port):
    if "lm_head.weight" not in port.weights:
        return False
    parts = port.weights["lm_head.weight"].chunk(4)
    port.weights["lm_head.weight"] = torch.cat(parts[::-1])


@fault("third-embedding-rank-offset-missing", ROWS, "embed", everywhere=True)
def _(port):
    """The second rank of the vocabulary reads the rows of the first."""
    name = next(n for n in port.weights if n.endswith(("embed_tokens.weight", "embed_in.weight")))
    if has(port, "tie_word_embeddings"):
        return False
    port.weights[name] = port.weights[name].chunk(2)[0].repeat(2, 1)


@fault("third-embedding-multiplier-foreign", "embedding-multiplier-wrong",
       "(embed|layers.0 .input)", everywhere=True)  # fmt: skip
def _(port):
    """The root of the hidden size, of an architecture that has no such multiplier."""
    if port.config.model_type not in PLAIN + MIXED or has(port, "embedding_multiplier"):
        return False
    port.weights["model.embed_tokens.weight"] *= port.config.hidden_size**0.5


@fault("third-embedding-multiplier-inverse", ("embedding-multiplier-wrong", RESIDUAL),
       "(embed|layers.0 .input)", everywhere=True)  # fmt: skip
def _(port):
    if not has(port, "embedding_multiplier"):
        return False
    port.config.embedding_multiplier = 1 / port.config.embedding_multiplier


@fault("third-logits-multiplied-for-divided", LOGITS, "logits", everywhere=True)
def _(port):
    for key in ("logit_scale", "logits_scaling"):
        if hasattr(port.config, key):
            setattr(port.config, key, 1 / getattr(port.config, key))
            return None
    return False


@fault("third-logits-scaled-by-hidden", LOGITS, "logits", everywhere=True)
def _(port):
    """The logits are scaled as in T5, in an architecture that does not do this."""
    if port.config.model_type not in PLAIN[:-1] + MIXED:
        return False
    after_logits(port, lambda logits: logits * port.config.hidden_size**-0.5)


@fault("third-logits-clamped-for-capped", CAPPED, "logits", everywhere=True)
def _(port):
    cap = getattr(port.config, "final_logit_softcapping", None)
    if cap is None:
        return False
    port.config.final_logit_softcapping = None
    after_logits(port, lambda logits: logits.clamp(-cap, cap))


@fault("third-logits-cap-not-multiplied-back", (CAPPED, LOGITS), "logits", everywhere=True)
def _(port):
    cap = getattr(port.config, "final_logit_softcapping", None)
    if cap is None:
        return False
    after_logits(port, lambda logits: logits / cap)


@fault("third-head-before-final-norm", INPUT, "lm_head", everywhere=True)
def _(port):
    name = final_norm(port)
    if name is None or "lm_head.weight" not in port.weights or has(port, "final_logit_softcapping"):
        return False

    def add(model):
        norm, head, kept = model.get_submodule(name), model.lm_head, {}
        inner, last = norm.forward, head.forward

        def forward(x):
            kept["x"] = x
            return inner(x)

        norm.forward = forward
        head.forward = lambda x: last(kept["x"][:, -x.shape[1] :])

    port.changes.append(add)


@fault("third-residual-multiplier-of-one-branch", RESIDUAL, "sum")
def _(port):
    if not has(port, "residual_multiplier"):
        return False

    def forward(layer, x, attention):
        x = x + attention(layer.input_layernorm(x)) * by(port)
        return x + layer.mlp(layer.post_attention_layernorm(x))

    return block(port, forward)


@fault("third-residual-added-twice", RESIDUAL, "sum")
def _(port):
    def forward(layer, x, attention):
        x = 2 * x + attention(layer.input_layernorm(x)) * by(port)
        return x + layer.mlp(layer.post_attention_layernorm(x)) * by(port)

    return block(port, forward)


@fault("third-attention-before-norm", INPUT, "self_attn")
def _(port):
    def forward(layer, x, attention):
        layer.input_layernorm(x)
        x = x + attention(x) * by(port)
        return x + layer.mlp(layer.post_attention_layernorm(x)) * by(port)

    return block(port, forward)


@fault("third-parallel-for-serial", INPUT, "(post_attention_layernorm|mlp)")
def _(port):
    if has(port, "residual_multiplier"):  # so small that hardly anything changes
        return False

    def forward(layer, x, attention):
        found = attention(layer.input_layernorm(x))
        return x + (found + layer.mlp(layer.post_attention_layernorm(x))) * by(port)

    return block(port, forward)


@fault("third-serial-for-parallel", INPUT, "(post_attention_layernorm|mlp)", everywhere=True)
def _(port):
    if not has(port, "use_parallel_residual") or port.config.model_type != "gpt_neox":
        return False
    port.config.use_parallel_residual = False


@fault("third-router-before-norm", INPUT, "mlp(.gate|.router)?")
def _(port):
    if port.config.model_type not in MIXED:
        return False

    def add(model):
        norm = part(model, f"layers.{port.layer}.post_attention_layernorm")
        gate = part(model, f"{port.layer}.mlp.gate") or part(model, f"{port.layer}.mlp.router")
        first, second, kept = norm.forward, gate.forward, {}

        def forward(x):
            kept["x"] = x
            return first(x)

        norm.forward = forward
        gate.forward = lambda x: second(kept["x"].reshape(x.shape))

    port.changes.append(add)
