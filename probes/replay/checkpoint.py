"""The weights of the reference: safetensors files, read tensor by tensor."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...facts.problems import Problem
from ...reading.tensors.stored import Stored, list_stored, numbers

MAX_NUMBERS = 1 << 28
"""Numbers of one weight that are read; larger ones are left out."""


class Checkpoint:
    """Weights by the names of their modules, without a leading ``model.``."""

    def __init__(self, path: Path, problems: list[Problem]) -> None:
        self._stored: dict[str, Stored] = {}
        for stored in list_stored(path, problems):
            self._stored.setdefault(plain_name(stored.key), stored)

    def __len__(self) -> int:
        return len(self._stored)

    def names(self, module: str) -> dict[str, Stored]:
        """The stored tensors of a module, by their names inside it."""
        start = f"{module}."
        return {name.removeprefix(start): stored for name, stored in self._stored.items()
                if name.startswith(start)}  # fmt: skip

    def read(self, module: str) -> dict[str, Any]:
        """All weights of a module in float32, without buffers. Raises ``OSError`` or
        ``ValueError`` if a file is damaged."""
        found = {}
        for name, stored in self.names(module).items():
            if stored.size <= MAX_NUMBERS and "rotary" not in name and stored.size:
                found[name] = numbers(stored)
        return found

    def find(self, name: str) -> Any:
        """One weight, or None."""
        stored = self._stored.get(name)
        return None if stored is None or stored.size > MAX_NUMBERS else numbers(stored)

    def like(self, ending: str) -> list[str]:
        """Names with this ending, sorted."""
        return sorted(name for name in self._stored if name.endswith(ending))

    @property
    def shapes(self) -> Mapping[str, tuple[int, ...]]:
        """The shape of each weight."""
        return {name: stored.shape for name, stored in self._stored.items()}


def plain_name(name: str) -> str:
    """A name in the form that captures use."""
    while name.startswith("model."):
        name = name[6:]
    return name
