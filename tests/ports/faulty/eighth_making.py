"""Building blocks for the faults of the eighth set."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from .breaking import wrap_attention
from .port import Port, fault
from .seventh_making import blank, grouped
from .sixth_making import Break, Causes

LAYOUT, ORDER, OF_MODULE = (
    "weight-layout-mismatch",
    "shard-order-wrong",
    "weights-of-another-module",
)
QK_NORM, SCALE, CACHE = "qk-norm-wrong", "attention-scale-wrong", "kv-cache-wrong"
MASK, WINDOW, GROUPS = "wrong-masking", "attention-window-wrong", "gqa-grouping-wrong"
PLACES, FACTOR = "rope-positions-wrong", "missing-multiplier"
QK_NORMS = r"self_attn\.(q_norm|k_norm)"
DOWN_NAME = r"mlp\.(down_proj|c_proj|dense_4h_to_h)"
OUT_NAME = r"(self_attn|attention)\.(o_proj|dense)"
END = "lm_head|embed_out|logits"
Given = tuple[Tensor, Tensor, Tensor]


def eighth(
    name: str, cause: Causes, part: str, everywhere: bool = False
) -> Callable[[Break], Break]:
    """A fault of this set; its causes were written down before any run of it."""
    return fault(f"eighth-{name}", cause, part, everywhere)  # type: ignore[no-any-return]


def alien(name: str, part: str, everywhere: bool = False) -> Callable[[Break], Break]:
    """A fault of this set that no diagnosis is about."""
    return fault(f"alien-eighth-{name}", "none", part, everywhere)  # type: ignore[no-any-return]


def cut_after_fusing(*parts: Tensor, axis: int = 0) -> tuple[Tensor, ...]:
    """The parts that two ranks take of matrices that were put one below the other before they were
    cut in two."""
    sizes = [part.shape[axis] // 2 for part in parts]
    ranks = [rank.split(sizes, axis) for rank in torch.cat(parts, axis).chunk(2, axis)]
    return tuple(torch.cat(each, axis) for each in zip(*ranks, strict=True))


def in_prompt(query: Tensor, key: Tensor) -> bool:
    """Whether attention is given a prompt, and all of it."""
    return bool(query.shape[-2] == key.shape[-2])


def distances(query: Tensor, key: Tensor) -> Tensor:
    """How far each key lies behind each query; the last query is at the place of the last key."""
    count, total = query.shape[-2], key.shape[-2]
    row: Tensor = torch.arange(total - count, total)[:, None]
    return row - torch.arange(total)[None]


def with_mask(port: Port, change: Callable[[Any, Tensor, Tensor, Tensor], Tensor]) -> bool:
    """``change(module, query, key, mask)`` is the mask that is added to the scores instead."""

    def given(
        module: Any, query: Tensor, key: Tensor, value: Tensor, mask: Any, scaling: Any
    ) -> Any:
        seen = blank(query, key) if mask is None else mask[..., : key.shape[-2]]
        return query, key, value, change(module, query, key, seen), scaling

    return bool(wrap_attention(port, given))


def with_scaling(port: Port, change: Callable[[float], float]) -> bool:
    """Multiply scores by ``change(scaling)`` in all layers."""

    def given(
        module: Any, query: Tensor, key: Tensor, value: Tensor, mask: Any, scaling: Any
    ) -> Any:
        return query, key, value, mask, change(scaling)

    return bool(wrap_attention(port, given))


def with_groups(port: Port, order: Callable[[int, int, bool], Tensor]) -> bool:
    """``order(heads, groups, prompt)`` says whose keys and values each head of queries reads."""
    if not grouped(port):
        return False

    def add(model: nn.Module) -> None:
        for module in model.modules():
            if hasattr(module, "num_key_value_groups"):
                setattr(module, "num_key_value_groups", 1)  # noqa: B010 - it may be a submodule

    def given(
        module: Any, query: Tensor, key: Tensor, value: Tensor, mask: Any, scaling: Any
    ) -> Any:
        whose = order(query.shape[1], key.shape[1], in_prompt(query, key))
        return query, key[:, whose], value[:, whose], mask, scaling

    port.changes.append(add)
    return bool(wrap_attention(port, given))


def behind_prompt(change: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    """Positions of prompts as they are, of decoded tokens by ``change`` of how many were decoded
    before."""
    prompt = {"length": 0}

    def positions(places: Tensor) -> Tensor:
        if places.shape[-1] > 1:
            prompt["length"] = int(places.max()) + 1
            return places
        return prompt["length"] + change(places - prompt["length"])

    return positions
