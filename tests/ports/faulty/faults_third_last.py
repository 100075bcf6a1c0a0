"""Faults of the third set: experts, weights of other places, norms; and alien ones."""

import torch

from .breaking import (
    UNKNOWN,
    has,
    is_rms,
    normalises,
    of_other,
    pass_on,
    replace_norm,
    wrap_attention,
    wrap_router,
)
from .faults_third import PLACE, POST
from .faults_third_rest import DOWN, MIXED, OTHER, final_norm, gated, of_mlp, part
from .port import fault

ORDER, NORMAL = "expert-order-wrong", "router-normalisation-wrong"


def routed(port, change):
    """``change(logits, bias)`` gives weights and numbers, of routers with a bias too."""
    if port.config.model_type != "gpt_oss":
        return wrap_router(port, lambda logits: change(logits, torch.zeros(())))

    def add(model):
        router = part(model, f"layers.{port.layer}.mlp.router")
        inner = router.forward

        def forward(hidden):
            logits = inner(hidden)[0]
            values, numbers = change(logits.float(), router.bias.float())
            return logits, values.to(hidden.dtype), numbers

        router.forward = forward

    port.changes.append(add)
    return None


def chosen(port, logits):
    """The right weights and numbers."""
    values, numbers = logits.softmax(-1).topk(port.config.num_experts_per_tok, -1)
    return (values / values.sum(-1, keepdim=True) if normalises(port) else values), numbers


def whole(found, change):
    return (change(found[0]), *found[1:]) if isinstance(found, tuple) else change(found)


@fault("third-router-of-all-experts", NORMAL, "mlp(.gate|.router)?")
def _(port):
    """Softmax over all experts, and not normalised, of models that always do."""
    if port.config.model_type not in ("mixtral", "gpt_oss"):
        return False
    return routed(port, lambda logits, bias: logits.softmax(-1).topk(
        port.config.num_experts_per_tok, -1))  # fmt: skip


@fault("third-router-bias-for-choice-only", ("router-bias-missing", "router-score-wrong"),
       "mlp(.router)?")  # fmt: skip
def _(port):
    if port.config.model_type != "gpt_oss":
        return False

    def change(logits, bias):
        numbers = logits.topk(port.config.num_experts_per_tok, -1)[1]
        return (logits - bias).gather(-1, numbers).softmax(-1), numbers

    return routed(port, change)


@fault("third-experts-scaled-as-elsewhere", "missing-multiplier", "mlp")
def _(port):
    """The factor of other architectures upon what the experts give."""
    if port.config.model_type not in MIXED or port.name(r"shared_expert\.down_proj\.weight"):
        return False
    of_mlp(port, lambda mlp, x, inner: whole(inner(x), lambda found: found * 2.5))


@fault("third-experts-ranks-exchanged", ORDER, "mlp(.experts)?")
def _(port):
    found = [n for n in port.weights if f"layers.{port.layer}." in n and ".experts." in n]
    for name in found:
        port.weights[name] = port.weights[name].roll(4, 0)
    return bool(found)


@fault("third-experts-down-shifted", ORDER, "mlp(.experts)?")
def _(port):
    port.scale_rows(r"experts\.down_proj_bias", lambda b: b.roll(1, 0))
    return port.scale_rows(r"experts\.down_proj", lambda w: w.roll(1, 0))


@fault("third-experts-of-other-layer", OTHER, "mlp(.experts)?")
def _(port):
    found = [n for n in port.weights if f"layers.{port.layer}." in n and ".experts." in n]
    for name in found:
        other = name.replace(f"layers.{port.layer}.", f"layers.{1 - port.layer}.")
        port.weights[name] = port.weights[other].clone()
    return bool(found)


@fault("third-router-of-other-layer", OTHER, "mlp(.gate|.router)?")
def _(port):
    of_other(port, r"mlp\.router\.bias")
    return of_other(port, r"mlp\.(gate|router)\.weight")


@fault("third-norm-of-other-layer", OTHER, "input_layernorm")
def _(port):
    of_other(port, r"input_layernorm\.bias")
    return of_other(port, r"input_layernorm\.weight")


@fault("third-keys-of-other-layer", OTHER, "self_attn(.k_proj)?")
def _(port):
    of_other(port, r"self_attn\.k_proj\.bias")
    return of_other(port, r"self_attn\.k_proj\.weight")


@fault("third-down-read-transposed", "weights-untransposed", "mlp(.down_proj|.c_proj)?")
def _(port):
    """Stored with its axes exchanged, and read by its size alone."""
    return port.scale_rows(rf"{DOWN}\.weight", lambda w: w.T.reshape(w.shape))


@fault("third-shared-gate-no-sigmoid", "shared-expert-wrong", "mlp")
def _(port):
    if not port.name(r"shared_expert_gate\.weight"):
        return False

    def change(mlp, x, inner):
        flat = x.reshape(-1, x.shape[-1])
        gate = mlp.shared_expert_gate(flat)
        extra = (gate - gate.sigmoid()) * mlp.shared_expert(flat)
        return whole(inner(x), lambda found: found + extra.reshape(found.shape))

    of_mlp(port, change)


@fault("third-norm-mean-of-amounts", "norm-kind-wrong", "input_layernorm")
def _(port):
    """Divided by the mean of the amounts, not by the root of that of the squares."""
    if not is_rms(port):
        return False

    def make(norm):
        return lambda x: (
            norm.weight * (x.float() / x.float().abs().mean(-1, keepdim=True)).to(x.dtype)
        )

    return replace_norm(port, "input_layernorm", make)


@fault("third-norm-root-forgotten", "norm-kind-wrong", "post_attention_layernorm")
def _(port):
    if not is_rms(port):
        return False

    def make(norm):
        def forward(x):
            wide = x.float()
            made = wide / (wide.pow(2).mean(-1, keepdim=True) + 1e-6)
            return norm.weight * made.to(x.dtype)

        return forward

    return replace_norm(port, "post_attention_layernorm", make)


@fault("third-norm-sum-for-mean", ("norm-kind-wrong", "missing-multiplier"), "input_layernorm")
def _(port):
    if not is_rms(port):
        return False
    return replace_norm(port, "input_layernorm", lambda norm: lambda x: norm.weight * (
        torch.nn.functional.normalize(x.float(), dim=-1)).to(x.dtype))  # fmt: skip


@fault("third-final-norm-offset", "norm-weight-offset", "norm", everywhere=True)
def _(port):
    name = final_norm(port)
    gemma = port.config.model_type.startswith("gemma")
    if name is None or not (is_rms(port) or gemma):
        return False
    port.weights[f"{name}.weight"] = port.weights[f"{name}.weight"] + (-1 if gemma else 1)


@fault("third-final-norm-skipped", "missing-algorithm", "norm", everywhere=True)
def _(port):
    name = final_norm(port)
    if name is None or has(port, "final_logit_softcapping"):
        return False
    port.changes.append(lambda model: pass_on(model.get_submodule(name)))


@fault("third-post-norm-skipped", "missing-algorithm", "post_[a-z_]*norm")
def _(port):
    """The norm behind a branch, of architectures that have one, is left out."""
    kind = port.config.model_type
    ending = "post_self_attn_layernorm" if kind == "glm4" else "post_attention_layernorm"
    if kind not in POST:
        return False
    return replace_norm(port, ending, lambda norm: lambda x: x)


@fault("alien-third-values-rotated", UNKNOWN, PLACE, everywhere=True)
def _(port):
    """Values get the rotary embedding of their place too."""
    if port.config.model_type not in ("llama", "mistral", "qwen2", "qwen3", "granite", "phi3"):
        return False
    kept = {}

    def rotary(original):
        def apply(q, k, cos, sin, *args, **kwargs):
            kept["turn"] = lambda v: original(v, v, cos, sin)[0]
            return original(q, k, cos, sin, *args, **kwargs)

        return apply

    def change(module, query, key, value, mask, scaling):
        number, count = module.layer_idx, query.shape[-2]
        new = kept["turn"](value[..., -count:, :])
        value = new if count > 1 else torch.cat((kept[number], new), -2)
        kept[number] = value
        return query, key, value, mask, scaling

    if has(port, "sliding_window"):
        return False
    port.wrap("apply_rotary_pos_emb", rotary)
    return wrap_attention(port, change)


@fault("alien-third-activation-of-product", UNKNOWN, "mlp")
def _(port):
    if not gated(port):
        return False
    of_mlp(port, lambda mlp, x, inner: mlp.down_proj(mlp.act_fn(mlp.gate_proj(x) * mlp.up_proj(x))))


@fault("alien-third-router-weights-exchanged", UNKNOWN, "mlp")
def _(port):
    """The best expert gets the weight of the second one."""

    def change(logits, bias):
        values, numbers = chosen(port, logits)
        return values.flip(-1), numbers

    return routed(port, change)


@fault("alien-third-capacity", UNKNOWN, "mlp")
def _(port):
    """An expert takes so many tokens, and those behind are left out."""

    def change(logits, bias):
        values, numbers = chosen(port, logits)
        hot = torch.nn.functional.one_hot(numbers, logits.shape[-1]).flatten(0, 1)
        before = (hot.cumsum(0) * hot).sum(-1).reshape(numbers.shape)
        room = max(2, len(logits) // logits.shape[-1])
        return values * (before <= room), numbers

    return routed(port, change)


@fault("alien-third-group-limited", UNKNOWN, "mlp")
def _(port):
    """All experts are chosen from the one group whose best is best."""

    def change(logits, bias):
        groups = logits.unflatten(-1, (2, -1))
        best = groups.amax(-1).argmax(-1)
        out = torch.arange(2) != best[:, None]
        return chosen(port, groups.masked_fill(out[..., None], -1e9).flatten(-2))

    return routed(port, change)


@fault("alien-third-dropout", UNKNOWN, "mlp")
def _(port):
    def change(mlp, x, inner):
        torch.manual_seed(3)
        return whole(inner(x), lambda found: torch.nn.functional.dropout(found, 0.2))

    of_mlp(port, change)


@fault("alien-third-saturated", UNKNOWN, "mlp")
def _(port):
    """A number format of eight bits, without a factor: what is large is cut off."""
    of_mlp(port, lambda mlp, x, inner: whole(inner(x), lambda found: found.clamp(-0.4, 0.4)))


@fault("alien-third-rows-of-batch-first", UNKNOWN, PLACE, everywhere=True)
def _(port):
    """All rows of the batch get the values of the first."""
    return wrap_attention(port, lambda module, q, k, v, mask, s: (
        q, k, v[:1].expand_as(v), mask, s))  # fmt: skip


@fault("alien-third-tail-of-tile", UNKNOWN, "mlp")
def _(port):
    """Tokens behind the last whole tile of eight are not computed."""

    def cut(found):
        count = found.shape[1]
        if count < 8:
            return found
        made = found.clone()
        made[:, count // 8 * 8 :] = 0
        return made

    of_mlp(port, lambda mlp, x, inner: whole(inner(x), cut))
