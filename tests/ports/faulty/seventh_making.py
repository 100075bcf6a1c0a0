"""Building blocks for the faults of the seventh set."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from .breaking import heads, wrap_attention
from .fifth_making import decoding
from .port import Port, fault
from .sixth_making import Break, Causes

WINDOWED = ("mistral", "gemma2", "gemma3_text", "gpt_oss")
OUT = "self_attn.(o_proj|dense)"
DOWN = "mlp.(down_proj|c_proj|dense_4h_to_h)"
UP = r"mlp\.(up_proj|c_fc|dense_h_to_4h)\.weight"
Attend = Callable[[Any, Tensor, Tensor, Tensor, Tensor | None, float], Tensor]


def seventh(
    name: str, cause: Causes, part: str, everywhere: bool = False
) -> Callable[[Break], Break]:
    """A fault of this set; its causes were written down before any run of it."""
    return fault(f"seventh-{name}", cause, part, everywhere)  # type: ignore[no-any-return]


def alien(name: str, part: str, everywhere: bool = False) -> Callable[[Break], Break]:
    """A fault of this set that no diagnosis is about."""
    return fault(f"alien-seventh-{name}", "none", part, everywhere)  # type: ignore[no-any-return]


def has_windows(port: Port) -> bool:
    """Whether some layers of the model look back over a window only."""
    return port.config.model_type in WINDOWED


def window_of(module: Any) -> int | None:
    """The window of an attention module; None if it sees everything."""
    if module.config.model_type == "mistral":
        return int(module.config.sliding_window)
    found: int | None = getattr(module, "sliding_window", None)
    return found


def blank(query: Tensor, key: Tensor) -> Tensor:
    """A mask that hides nothing."""
    shape = (query.shape[0], 1, query.shape[-2], key.shape[-2])
    return torch.zeros(shape, dtype=query.dtype)


def hiding(mask: Tensor, hidden: Tensor) -> Tensor:
    """The mask with more positions hidden."""
    return mask.masked_fill(hidden, torch.finfo(mask.dtype).min)


def of_whole_cache(
    port: Port,
    change: Callable[[Tensor, Tensor, Tensor, int], tuple[Tensor, Tensor, Tensor]],
) -> bool:
    """Let a decoded token read ``change(key, value, mask, prompt)``, in layers whose cache holds
    all of the sequence."""
    if port.config.model_type == "mistral":
        return False
    prompt = {"length": 0}

    def given(
        module: Any, query: Tensor, key: Tensor, value: Tensor, mask: Any, scaling: Any
    ) -> Any:
        if not decoding(query, key):
            prompt["length"] = key.shape[-2]
        elif key.shape[-2] > prompt["length"]:
            seen = blank(query, key) if mask is None else mask[..., : key.shape[-2]]
            key, value, mask = change(key, value, seen, prompt["length"])
        return query, key, value, mask, scaling

    return bool(wrap_attention(port, given))


def scores_of(query: Tensor, key: Tensor, mask: Tensor | None, scaling: float) -> Tensor:
    """Scores of grouped heads, in FP32."""
    key = key.repeat_interleave(query.shape[1] // key.shape[1], 1)
    scores = (query @ key.transpose(2, 3)).float() * scaling
    return scores if mask is None else scores + mask[..., : key.shape[-2]].float()


def values_of(query: Tensor, value: Tensor) -> Tensor:
    """Values by head of queries."""
    return value.repeat_interleave(query.shape[1] // value.shape[1], 1)


def of_attention(port: Port, attend: Attend) -> bool:
    """Let heads give ``attend(module, query, key, value, mask, scaling)``, by head."""

    def around(_: Any) -> Any:
        def attention(
            module: Any, query: Tensor, key: Tensor, value: Tensor, mask: Any, scaling: Any = None,
            **_: Any,
        ) -> tuple[Tensor, None]:  # fmt: skip
            scale = query.shape[-1] ** -0.5 if scaling is None else scaling
            found = attend(module, query, key, value, mask, scale)
            return found.to(query.dtype).transpose(1, 2).contiguous(), None

        return attention

    return bool(port.wrap("eager_attention_forward", around))


def grouped(port: Port) -> bool:
    """Whether several heads of queries share keys and values."""
    count, groups = heads(port.config)
    return bool(count != groups)


def dealt(x: Tensor, axis: int = 0, ranks: int = 2) -> Tensor:
    """Blocks of ranks, read as if they had been dealt out one by one."""
    return torch.stack(x.chunk(ranks, axis), axis + 1).flatten(axis, axis + 1)
