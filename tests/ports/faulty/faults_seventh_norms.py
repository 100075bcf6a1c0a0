"""Faults of the seventh set: norms and the residual stream."""

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from .breaking import is_rms, replace_norm
from .fifth_making import SEQUENTIAL, factor, of_block, rewrite
from .port import Port
from .seventh_making import seventh
from .sixth_making import edit, one_token, while_decoding

KIND, RESIDUAL = "norm-kind-wrong", "residual-multiplier-wrong"
BEFORE, LATER = "input_layernorm", "post_attention_layernorm"
POST = "post_(attention|self_attn)_layernorm"


@seventh("norm-divides-by-padded-width", ("missing-multiplier", KIND), LATER)
def _(port: Port) -> bool | None:
    """Channels are padded with zeros to twice as many, which the mean of squares counts."""
    if not is_rms(port):
        return False

    def make(norm: Any) -> Any:
        inner = norm.forward
        return lambda x: inner(x) * 2**0.5

    return replace_norm(port, LATER, make)  # type: ignore[no-any-return]


@seventh("norm-bias-summed-over-ranks", "bias-repeated", BEFORE)
def _(port: Port) -> bool | None:
    """Both ranks add the bias of the norm to what is then summed."""
    return edit(port, rf"{BEFORE}\.bias", lambda b: b * 2)


@seventh("norm-offset-also-in-checkpoint", "norm-weight-offset", BEFORE)
def _(port: Port) -> bool | None:
    """The converter adds one to the weight, and the norm adds it again."""
    if not port.config.model_type.startswith("gemma"):
        return False
    return edit(port, rf"{BEFORE}\.weight", lambda w: w + 1)


@seventh("post-norm-of-partial-sums", "tp-reduction-missing", POST)
def _(port: Port) -> bool | None:
    """The norm behind attention comes before the sum over ranks: each norms its own part."""
    norm = {"glm4": "post_self_attn_layernorm"}.get(port.config.model_type, LATER)
    if port.config.model_type not in ("gemma2", "gemma3_text", "olmo2", "glm4"):
        return False
    parts: list[Tensor] = []

    def project(module: Any, inner: Any) -> Any:
        def forward(x: Tensor) -> Any:
            pairs = zip(x.chunk(2, -1), module.weight.chunk(2, 1), strict=True)
            parts[:] = [functional.linear(half, weight) for half, weight in pairs]
            return inner(x)

        return forward

    here = rf"layers\.{port.layer}\."
    rewrite(port, rf"{here}self_attn\.o_proj\Z", project)
    rewrite(port, rf"{here}{norm}\Z", lambda m, inner: lambda x: inner(parts[0]) + inner(parts[1]))
    return None


@seventh("residual-stream-in-eight-bits", "precision-ordering", "sum")
def _(port: Port) -> bool | None:
    """The output of a layer is handed to the next one in eight bits."""
    port.hook("", lambda x: x.to(torch.float8_e4m3fn).to(x.dtype))
    return None


@seventh("decoded-without-residual", (RESIDUAL, "wrong-input"), "sum")
def _(port: Port) -> bool | None:
    """The fused block that decodes does not add its input to what attention gives."""
    if port.config.model_type not in SEQUENTIAL:
        return False
    share = factor(port)

    def forward(layer: Any, x: Tensor, attention: Any, mlp: Any) -> Tensor:
        found: Tensor = attention(layer.input_layernorm(x)) * share
        added = found if one_token(x) else x + found
        made: Tensor = added + mlp(layer.post_attention_layernorm(added)) * share
        return made

    of_block(port, forward)
    return None


@seventh("decoded-without-final-norm", KIND, "norm|final_layer_norm", everywhere=True)
def _(port: Port) -> bool | None:
    """The graph that decodes gives its hidden states to the head as they are."""
    while_decoding(port, r"\A[a-z_]+\.(norm|final_layer_norm)\Z", lambda module, x: x)
    return None
