"""Building blocks for the faults of the ninth set."""

import re
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from .breaking import wrap_attention
from .fifth_making import decoding, rewrite
from .port import Port, fault
from .sixth_making import Break, Causes

LAYOUT, ORDER, OF_MODULE = (
    "weight-layout-mismatch",
    "shard-order-wrong",
    "weights-of-another-module",
)
CACHE, MASK, WINDOW = "kv-cache-wrong", "wrong-masking", "attention-window-wrong"
QK_NORM, SCALE, SINKS = "qk-norm-wrong", "attention-scale-wrong", "attention-sinks-wrong"
FACTOR, OTHER_LAYER = "missing-multiplier", "weights-of-another-layer"
LOW = "precision-ordering"
HEAD_WISE = ("qwen3", "qwen3_moe", "gemma3_text")
GEMMA = ("gemma2", "gemma3_text")
OUT_NAME = r"(self_attn|attention)\.(o_proj|dense)"
END = "lm_head|embed_out|logits"
HALVED = ("llama", "mistral", "qwen2", "qwen3", "phi3", "granite", "olmo2", "gemma2", "starcoder2",
          "mixtral", "qwen2_moe", "qwen3_moe")  # fmt: skip
"""Families whose table has each angle twice, for the two halves of a head."""


def ninth(
    name: str, cause: Causes, part: str, everywhere: bool = False, report: str | None = None
) -> Callable[[Break], Break]:
    """A fault of this set; its causes were written down before any run of it. ``report`` is where
    on GitHub such a mistake was reported or mended."""
    return _noted(f"ninth-{name}", cause, part, everywhere, report)


def alien(
    name: str, part: str, everywhere: bool = False, report: str | None = None
) -> Callable[[Break], Break]:
    """A fault of this set that no diagnosis is about."""
    return _noted(f"alien-ninth-{name}", "none", part, everywhere, report)


def _noted(
    name: str, cause: Causes, part: str, everywhere: bool, report: str | None
) -> Callable[[Break], Break]:
    def register(function: Break) -> Break:
        if report is not None:
            vars(function)["link"] = f"https://github.com/{report}"
        return fault(name, cause, part, everywhere)(function)  # type: ignore[no-any-return]

    return register


def eight_bits(x: Tensor) -> Tensor:
    """The nearest numbers of eight bits."""
    return x.to(torch.float8_e4m3fn).to(x.dtype)


def within_layer(port: Port) -> Callable[[], bool]:
    """Whether the attention of the layer of the port is being computed."""
    inside = {"on": False}

    def make(_: nn.Module, inner: Callable[..., Any]) -> Callable[..., Any]:
        def forward(*args: Any, **kwargs: Any) -> Any:
            inside["on"] = True
            try:
                return inner(*args, **kwargs)
            finally:
                inside["on"] = False

        return forward

    rewrite(port, rf"layers\.{port.layer}\.(self_attn|attention)\Z", make)
    return lambda: inside["on"]


def noting_ids(port: Port) -> list[Tensor]:
    """A list that has the numbers of all tokens so far as its only entry."""
    seen: list[Tensor] = []

    def add(model: nn.Module) -> None:
        inner = model.forward

        def forward(input_ids: Tensor, *args: Any, **kwargs: Any) -> Any:
            fresh = input_ids.shape[1] > 1 or not seen
            seen[:] = [input_ids if fresh else torch.cat((seen[0], input_ids), 1)]
            return inner(input_ids, *args, **kwargs)

        model.forward = forward

    port.changes.append(add)
    return seen


def of_end(port: Port, ending: str, change: Callable[[Tensor], Tensor]) -> bool:
    """Replace a weight outside of the layers."""
    names = [name for name in port.weights if re.search(rf"{ending}\Z", name)]
    names = [name for name in names if ".layers." not in name]
    for name in names:
        port.weights[name] = change(port.weights[name]).contiguous()
    return bool(names)


def final_norm(port: Port, make: Callable[[Any], Callable[[Tensor], Tensor]]) -> None:
    """``make(norm)`` is the forward pass of the norm in front of the head."""
    rewrite(port, r"(?<!layer)(?<!\w)(norm|final_layer_norm)\Z", lambda norm, _: make(norm))


def decoded_table(port: Port, angles: Callable[[Tensor, Tensor], Tensor]) -> None:
    """``angles(frequencies, places)`` are those of the table of a decoded token, for heads that
    turn in halves."""

    def make(module: Any, inner: Callable[..., Any]) -> Callable[..., Any]:
        def forward(x: Tensor, position_ids: Tensor, *args: Any, **kwargs: Any) -> Any:
            if position_ids.shape[-1] > 1:
                return inner(x, position_ids, *args, **kwargs)
            found = angles(module.inv_freq.float(), position_ids[..., None].float())
            found = torch.cat((found, found), -1)
            factor = module.attention_scaling
            return (found.cos() * factor).to(x.dtype), (found.sin() * factor).to(x.dtype)

        return forward

    rewrite(port, r"rotary_emb\Z", make)


def of_decoded(port: Port, change: Callable[[Any, Tensor, Tensor], tuple[Tensor, Tensor]]) -> bool:
    """Let attention get ``change(module, key, value)`` for a decoded token."""

    def given(
        module: Any, query: Tensor, key: Tensor, value: Tensor, mask: Any, scaling: Any
    ) -> Any:
        if decoding(query, key):
            key, value = change(module, key, value)
        return query, key, value, mask, scaling

    return bool(wrap_attention(port, given))
