"""Building blocks for the faults of the sixth set."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from .breaking import wrap_attention
from .fifth_making import decoding, rewrite
from .port import Port, fault

Causes = str | tuple[str, ...]
Break = Callable[[Port], bool | None]


def sixth(
    name: str, cause: Causes, part: str, everywhere: bool = False
) -> Callable[[Break], Break]:
    """A fault of this set; its causes were written down before any run of it."""
    return fault(f"sixth-{name}", cause, part, everywhere)  # type: ignore[no-any-return]


def alien(name: str, part: str, everywhere: bool = False) -> Callable[[Break], Break]:
    """A fault of this set that no diagnosis is about."""
    return fault(f"alien-sixth-{name}", "none", part, everywhere)  # type: ignore[no-any-return]


def one_token(x: Tensor, axis: int = 1) -> bool:
    """Whether a module is given a decoded token, and not a prompt."""
    return bool(x.shape[axis] == 1)


def while_decoding(
    port: Port, pattern: str, change: Callable[[Any, Tensor], Tensor], axis: int = 1
) -> None:
    """Let modules of such names give ``change(module, x)`` for a decoded token."""

    def make(module: nn.Module, inner: Callable[..., Any]) -> Callable[..., Any]:
        return lambda x, *rest: change(module, x) if one_token(x, axis) else inner(x, *rest)

    rewrite(port, pattern, make)


def of_read(port: Port, change: Callable[[Any, Tensor, Tensor], tuple[Tensor, Tensor]]) -> bool:
    """``change(module, key, value)`` is read from the cache for a decoded token."""

    def given(
        module: Any, query: Tensor, key: Tensor, value: Tensor, *rest: Any
    ) -> tuple[Any, ...]:
        if decoding(query, key):
            key, value = change(module, key, value)
        return query, key, value, *rest

    return bool(wrap_attention(port, given))


def of_logits(port: Port, change: Callable[[Tensor, Tensor], Tensor]) -> None:
    """Let the model give ``change(logits, ids)``."""

    def add(model: nn.Module) -> None:
        inner = model.forward

        def forward(input_ids: Tensor, *args: Any, **kwargs: Any) -> Any:
            found = inner(input_ids, *args, **kwargs)
            found.logits = change(found.logits, input_ids)
            return found

        model.forward = forward

    port.changes.append(add)


def edit(port: Port, ending: str, change: Callable[[Tensor], Tensor]) -> bool:
    """Replace a weight of the layer of the port."""
    return bool(port.scale_rows(ending, change))


def exchange_halves(x: Tensor, axis: int = 0) -> Tensor:
    """The parts of two ranks, the wrong way round."""
    return torch.cat(x.chunk(2, axis)[::-1], axis)


def without_half(x: Tensor, axis: int) -> Tensor:
    """Zero in what the second of two ranks holds."""
    found = x.clone()
    found.narrow(axis, x.shape[axis] // 2, x.shape[axis] - x.shape[axis] // 2).zero_()
    return found
