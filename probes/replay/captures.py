"""What went into and came out of the modules of one run, prefill and decoding joined."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...reading.tensors import np
from ...reading.tensors.stored import Stored, numbers
from ..tensors.naming import Name

MAX_NUMBERS = 1 << 26
"""Numbers of a run that are kept."""


class Run:
    """The captures of one run. Names of tensors are (module, side, element)."""

    def __init__(self, tensors: Mapping[Name, Stored]) -> None:
        self._steps: dict[tuple[str, str, int], list[tuple[Name, Stored]]] = {}
        for name in sorted(tensors, key=lambda each: (each.phase, each.step)):
            key = name.module, name.side, name.element
            self._steps.setdefault(key, []).append((name, tensors[name]))
        self._kept: dict[tuple[str, str, int], Any] = {}

    def modules(self) -> set[str]:
        """All that was captured."""
        return {module for module, _, _ in self._steps}

    def has(self, module: str, side: str, element: int = 0) -> bool:
        return (module, side, element) in self._steps

    def prompt(self, module: str) -> int:
        """Positions of the prefill."""
        steps = self._steps[module, "out", 0]
        return int(steps[0][1].shape[1]) if len(steps[0][1].shape) > 1 else 0

    def get(self, module: str, side: str, element: int = 0) -> Any:
        """The numbers, in float32; None where the module was not captured so. Raises ``OSError``
        or ``ValueError`` over damaged files."""
        key = module, side, element
        if key not in self._steps:
            return None
        if key not in self._kept:
            if sum(values.size for values in self._kept.values()) > MAX_NUMBERS:
                self._kept.clear()
            self._kept[key] = self._read(key)
        return self._kept[key]

    def _read(self, key: tuple[str, str, int]) -> Any:
        parts = [numbers(stored) for _, stored in self._steps[key]]
        first = parts[0]
        # Decoding adds positions behind those of the prompt: the axis on which it has only one.
        for axis in range(first.ndim):
            if all(part.ndim == first.ndim and part.shape[axis] == 1
                   and part.shape[:axis] == first.shape[:axis]
                   and part.shape[axis + 1 :] == first.shape[axis + 1 :]
                   for part in parts[1:]):  # fmt: skip
                return np.concatenate(parts, axis=axis) if len(parts) > 1 else first
        return first
