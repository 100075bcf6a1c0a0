"""Faults of the sixth set: embeddings, heads and logits, multipliers, the order in a block."""

from typing import Any

import torch
from torch import Tensor

from .breaking import has, wrap_rotary
from .fifth_making import SEQUENTIAL, embedding, factor, head, of_block, rewrite
from .port import Port
from .sixth_making import alien, of_logits, sixth

LOGITS, RESIDUAL, INPUT = "logits-multiplier-wrong", "residual-multiplier-wrong", "wrong-input"
ROWS = "embedding-rows-wrong"
HEAD = "lm_head"
KNOWN = 128


def has_head(port: Port) -> bool:
    return (head(port) or "").endswith("lm_head.weight")


@sixth("embedding-ids-clamped", ROWS, "embed", everywhere=True)
def _(port: Port) -> bool | None:
    """Tokens that were added to the vocabulary later get the last row of the older table."""
    name = embedding(port)
    rows = torch.arange(len(port.weights[name])).clamp(max=KNOWN - 1)
    port.weights[name] = port.weights[name][rows]
    return None


@sixth("head-scaled-as-embedding", (LOGITS, "missing-multiplier"), HEAD, everywhere=True)
def _(port: Port) -> bool | None:
    """The multiplier of the embedding is folded into its table, from which the head is copied."""
    kind = port.config.model_type
    if not has_head(port) or not (kind.startswith("gemma") or has(port, "embedding_multiplier")):
        return False
    scale = getattr(port.config, "embedding_multiplier", port.config.hidden_size**0.5)
    port.weights[head(port)] = port.weights[head(port)] * scale
    return None


@sixth("head-gathered-in-turn", ("shard-order-wrong", ROWS), HEAD, everywhere=True)
def _(port: Port) -> bool | None:
    """Logits of two ranks are gathered so that they alternate."""
    if not has_head(port):
        return False
    rows = port.weights[head(port)]
    port.weights[head(port)] = torch.stack(rows.chunk(2), 1).flatten(0, 1)
    return None


@sixth("head-of-first-sequence", INPUT, HEAD, everywhere=True)
def _(port: Port) -> bool | None:
    """The rows that are gathered for the head are those of the first sequence for all."""
    if not has_head(port):
        return False
    rewrite(port, r"\Alm_head\Z", lambda _, inner: lambda x: inner(x[:1].expand_as(x)))
    return None


@sixth("head-of-last-but-one", INPUT, "norm|final_layer_norm", everywhere=True)
def _(port: Port) -> bool | None:
    """The list of hidden states is read one too early: what the last layer gives is not used."""
    kept: dict[str, Tensor] = {}

    def note(_: Any, inner: Any) -> Any:
        def forward(*args: Any, **kwargs: Any) -> Any:
            found = inner(*args, **kwargs)
            kept["x"] = found[0] if isinstance(found, tuple) else found
            return found

        return forward

    rewrite(port, r"\.layers\.0\Z", note)
    rewrite(port, r"\A(model|gpt_neox)\.(norm|final_layer_norm)\Z", lambda _, inner: (
        lambda x: inner(kept["x"])))  # fmt: skip
    return None


@sixth("logits-cap-twice", "logits-softcap-wrong", "logits", everywhere=True)
def _(port: Port) -> bool | None:
    """Logits are capped by the model, and by what samples from them."""
    if not has(port, "final_logit_softcapping"):
        return False
    cap = port.config.final_logit_softcapping
    of_logits(port, lambda logits, ids: torch.tanh(logits / cap) * cap)
    return None


@sixth("logits-by-temperature", LOGITS, "logits", everywhere=True)
def _(port: Port) -> bool | None:
    """Logits come back divided by the temperature of the sampling."""
    of_logits(port, lambda logits, ids: logits / 0.7)
    return None


@sixth("logits-by-embedding-multiplier", LOGITS, "logits", everywhere=True)
def _(port: Port) -> bool | None:
    """Logits are divided by the multiplier of the embedding."""
    if not has(port, "logits_scaling"):
        return False
    port.config.logits_scaling = port.config.embedding_multiplier
    return None


@sixth("multipliers-exchanged", ("attention-scale-wrong", RESIDUAL), "self_attn", everywhere=True)
def _(port: Port) -> bool | None:
    """The multiplier of attention is read for that of the residual stream, and the reverse."""
    if not has(port, "residual_multiplier"):
        return False
    one, two = port.config.attention_multiplier, port.config.residual_multiplier
    port.config.attention_multiplier, port.config.residual_multiplier = two, one
    return None


@sixth("residual-multiplier-twice", RESIDUAL, "sum", everywhere=True)
def _(port: Port) -> bool | None:
    """The multiplier is folded into what branches give, and applied to it again."""
    if not has(port, "residual_multiplier"):
        return False
    port.config.residual_multiplier = port.config.residual_multiplier**2
    return None


@sixth("norms-before-for-norms-behind", INPUT, "self_attn|post_attention_layernorm")
def _(port: Port) -> bool | None:
    """The block has its norms in front of attention and of the MLP, not behind them."""
    if port.config.model_type != "olmo2":
        return False

    def forward(layer: Any, x: Tensor, attention: Any, mlp: Any) -> Tensor:
        x = x + attention(layer.post_attention_layernorm(x))
        x = x + mlp(layer.post_feedforward_layernorm(x))
        return x

    of_block(port, forward)
    return None


@sixth("norms-behind-for-norms-before", INPUT, "self_attn")
def _(port: Port) -> bool | None:
    """The block has its norms behind attention and the MLP, not in front of them."""
    if port.config.model_type not in SEQUENTIAL:
        return False
    by = factor(port)

    def forward(layer: Any, x: Tensor, attention: Any, mlp: Any) -> Tensor:
        x = x + layer.input_layernorm(attention(x)) * by
        x = x + layer.post_attention_layernorm(mlp(x)) * by
        return x

    of_block(port, forward)
    return None


@alien("logits-penalised", "logits", everywhere=True)
def _(port: Port) -> bool | None:
    """Logits come back with the penalty for tokens that were given already."""

    def change(logits: Tensor, ids: Tensor) -> Tensor:
        given = torch.zeros(len(ids), logits.shape[-1], dtype=torch.bool).scatter(1, ids, True)
        smaller = torch.where(logits > 0, logits / 1.5, logits * 1.5)
        return torch.where(given[:, None], smaller, logits)

    of_logits(port, change)
    return None


@alien("bias-behind-rotation", "self_attn.(q_proj|k_proj)", everywhere=True)
def _(port: Port) -> bool | None:
    """Biases of queries and keys are added once these have been turned."""
    if port.config.model_type not in ("llama", "qwen2", "starcoder2", "gpt_oss"):
        return False
    if port.name(r"self_attn\.q_proj\.bias") is None:
        return False
    kept: dict[str, Tensor] = {}

    def make(part: str) -> Any:
        def forward(module: Any, _: Any) -> Any:
            def run(x: Tensor) -> Tensor:
                kept[part] = module.bias
                return torch.nn.functional.linear(x, module.weight)

            return run

        return forward

    def rotary(original: Any, q: Tensor, k: Tensor, cos: Tensor, sin: Tensor) -> Any:
        turned = original(q, k, cos, sin)
        return tuple(
            x + kept[part].view(x.shape[1], 1, -1) for part, x in zip("qk", turned, strict=True)
        )

    for part in "qk":
        rewrite(port, rf"self_attn\.{part}_proj\Z", make(part))
    return bool(wrap_rotary(port, rotary))
