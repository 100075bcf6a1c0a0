"""Seen faults that could be taken for each other: weights without their scale, shards that were not
loaded, factors that were folded in, parts that are counted twice."""

from collections.abc import Callable

import torch
from torch import Tensor

from .breaking import heads, width
from .faults_third_rest import block, by
from .port import Port, fault
from .sixth_making import Break, Causes, edit, of_logits, without_half

FACTOR, LOST, SCALE = "missing-multiplier", "weights-not-loaded", "attention-scale-wrong"
RESIDUAL, SUM = "residual-multiplier-wrong", "tp-reduction-missing"
MLP = "mlp"
ATTENTION = "(self_attn|attention)"


def alike(
    name: str, cause: Causes, part: str, everywhere: bool = False
) -> Callable[[Break], Break]:
    """A fault whose output another one could have."""
    return fault(f"seen-alike-{name}", cause, part, everywhere)  # type: ignore[no-any-return]


def whole(port: Port, ending: str, change: Callable[[Tensor], Tensor]) -> bool:
    """Weight and bias of a projection."""
    found = edit(port, rf"{ending}\.weight", change)
    edit(port, rf"{ending}\.bias", change)
    return found


def half(ending: str, axis: int = 0) -> Break:
    """The second shard of a weight is not loaded."""

    def break_it(port: Port) -> bool | None:
        if axis:
            return edit(port, rf"{ending}\.weight", lambda w: without_half(w, axis))
        return whole(port, ending, lambda w: without_half(w, 0))

    return break_it


def scaled(ending: str, factor: float) -> Break:
    """The scale of a quantised weight is not applied, or is that of another one."""
    return lambda port: edit(port, rf"{ending}\.weight", lambda w: w * factor)


for _name, _ending, _factor, _part in (
    ("queries-unscaled", r"self_attn\.q_proj", 3.7, "self_attn(.q_proj)?"),
    ("keys-unscaled", r"self_attn\.k_proj", 0.3, "self_attn(.k_proj)?"),
    ("values-unscaled", r"self_attn\.v_proj", 2.6, "self_attn(.v_proj)?"),
    ("gate-unscaled", r"mlp\.gate_proj", 2.3, "mlp(.gate_proj)?"),
    ("up-unscaled", r"mlp\.up_proj", 0.4, "mlp(.up_proj)?"),
    ("shared-down-unscaled", r"mlp\.shared_expert\.down_proj", 1.7, "mlp"),
):
    alike(_name, FACTOR, _part)(scaled(_ending, _factor))

for _name, _ending, _axis, _part in (
    ("values-half", r"self_attn\.v_proj", 0, "self_attn(.v_proj)?"),
    ("queries-half", r"self_attn\.q_proj", 0, "self_attn(.q_proj)?"),
    ("keys-half", r"self_attn\.k_proj", 0, "self_attn(.k_proj)?"),
    ("output-rows-half", r"self_attn\.o_proj", 0, "self_attn(.o_proj)?"),
    ("gate-half", r"mlp\.gate_proj", 0, "mlp(.gate_proj)?"),
    ("up-half", r"mlp\.up_proj", 0, "mlp(.up_proj)?"),
    ("up-columns-half", r"mlp\.up_proj", 1, "mlp(.up_proj)?"),
    ("norm-half", r"input_layernorm", 0, "input_layernorm"),
    ("router-rows-half", r"mlp\.(gate|router)", 0, "mlp(.(gate|router))?"),
):
    alike(_name, LOST, _part)(half(_ending, _axis))


@alike("bias-of-queries-half", "bias-missing", "self_attn(.q_proj)?")
def _(port: Port) -> bool | None:
    """The second rank has no bias."""
    return edit(port, r"self_attn\.q_proj\.bias", lambda b: without_half(b, 0))


@alike("norm-bias-half", "bias-missing", "input_layernorm")
def _(port: Port) -> bool | None:
    return edit(port, r"input_layernorm\.bias", lambda b: without_half(b, 0))


@alike("experts-gate-unscaled", FACTOR, MLP)
def _(port: Port) -> bool | None:
    """The scale of the gates of all experts is that of another part."""
    if port.config.model_type not in ("mixtral", "qwen3_moe", "qwen2_moe"):
        return False

    def change(w: Tensor) -> Tensor:
        gate, up = w.chunk(2, 1)
        return torch.cat((gate * 1.9, up), 1)

    return edit(port, r"mlp\.experts\.gate_up_proj", change)


@alike("experts-half", LOST, MLP)
def _(port: Port) -> bool | None:
    """The second file of the experts is not loaded."""
    found = [edit(port, rf"mlp\.experts\.{name}", lambda w: without_half(w, 0))
             for name in ("gate_up_proj", "down_proj")]  # fmt: skip
    return any(found)


@alike("shared-expert-of-first-rank", ("shared-expert-wrong", SUM), MLP)
def _(port: Port) -> bool | None:
    """The results of ranks for the shared expert are not added."""
    return edit(port, r"shared_expert\.down_proj\.weight", lambda w: without_half(w, 1))


@alike("embedding-half", LOST, "embed", everywhere=True)
def _(port: Port) -> bool | None:
    """The second file of the embedding is not loaded."""
    name = next((n for n in port.weights if "embed_tokens.weight" in n or "embed_in" in n), None)
    if name is None:
        return False
    port.weights[name] = without_half(port.weights[name], 0)
    return None


@alike("head-half", LOST, "lm_head|logits", everywhere=True)
def _(port: Port) -> bool | None:
    """The second file of the output head is not loaded."""
    if "lm_head.weight" not in port.weights:
        return False
    port.weights["lm_head.weight"] = without_half(port.weights["lm_head.weight"], 0)
    return None


@alike("scale-folded-and-applied", SCALE, "self_attn(.q_proj)?")
def _(port: Port) -> bool | None:
    """The converter multiplies queries by the factor of the softmax, and so does the port."""
    by = width(port.config) ** -0.5
    if port.name(r"self_attn\.q_norm\.weight"):
        return False
    return whole(port, r"self_attn\.q_proj", lambda w: w * by)


@alike("scale-folded-in-both", SCALE, "self_attn(.[qk]_proj)?")
def _(port: Port) -> bool | None:
    """The converter multiplies queries and keys by the root of the factor, the port by all."""
    by = width(port.config) ** -0.25
    if port.name(r"self_attn\.q_norm\.weight"):
        return False
    return all(whole(port, rf"self_attn\.{part}_proj", lambda w: w * by) for part in "qk")


@alike("scale-folded-in-norm", (SCALE, "qk-norm-wrong"), "self_attn(.q_norm)?")
def _(port: Port) -> bool | None:
    by = width(port.config) ** -0.5
    return edit(port, r"self_attn\.q_norm\.weight", lambda w: w * by)


@alike("branch-folded-and-applied", (RESIDUAL, FACTOR), "(self_attn.o_proj|self_attn|sum)")
def _(port: Port) -> bool | None:
    """The factor of the branch is in its weights, and applied."""
    if by(port) == 1:
        return False
    return whole(port, r"self_attn\.o_proj", lambda w: w * by(port))


@alike("attention-summed-with-itself", (FACTOR, "bias-repeated"), f"{ATTENTION}(.(o_proj|dense))?")
def _(port: Port) -> bool | None:
    """Both ranks hold the whole projection, and what they give is added."""
    return whole(port, r"(self_attn|attention)\.(o_proj|dense)", lambda w: w * 2)


@alike("residual-of-half-the-channels", (RESIDUAL, SUM), "sum")
def _(port: Port) -> bool | None:
    """Attention is added in the channels of the first rank only."""

    def forward(layer, x, attention):
        x = x + without_half(attention(layer.input_layernorm(x)), 2) * by(port)
        return x + layer.mlp(layer.post_attention_layernorm(x)) * by(port)

    return block(port, forward)  # type: ignore[no-any-return]


@alike("layer-input-added-twice", RESIDUAL, "sum")
def _(port: Port) -> bool | None:
    """The MLP's sum takes what came into the layer as well."""

    def forward(layer, x, attention):
        y = x + attention(layer.input_layernorm(x)) * by(port)
        return x + y + layer.mlp(layer.post_attention_layernorm(y)) * by(port)

    return block(port, forward)  # type: ignore[no-any-return]


@alike("logits-by-temperature", ("logits-multiplier-wrong", FACTOR), "lm_head|logits", True)
def _(port: Port) -> bool | None:
    of_logits(port, lambda logits, ids: logits / 0.7)
    return None


@alike("norm-over-padded-width", (FACTOR, "norm-kind-wrong"), "input_layernorm")
def _(port: Port) -> bool | None:
    """The mean of squares is that of 128 channels; the last of them are zero."""
    from .breaking import is_rms, replace_norm

    if not is_rms(port):
        return False

    def make(norm):
        def forward(x: Tensor) -> Tensor:
            low = x.dtype
            x = x.float()
            x = x * torch.rsqrt(x.pow(2).sum(-1, keepdim=True) / 128 + norm.variance_epsilon)
            found: Tensor = norm.weight * x.to(low)
            return found

        return forward

    return replace_norm(port, "input_layernorm", make)  # type: ignore[no-any-return]


@alike("queries-of-first-rank-unscaled", FACTOR, "self_attn(.q_proj)?")
def _(port: Port) -> bool | None:
    """The scale of one rank's rows is that of the other's."""
    rows = heads(port.config)[0] * width(port.config)

    def change(w: Tensor) -> Tensor:
        by = torch.ones(rows)
        by[: rows // 2] = 2.9
        return w * by.reshape(-1, *[1] * (w.ndim - 1))

    return edit(port, r"self_attn\.q_proj\.weight", change)
