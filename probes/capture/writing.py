"""Writes tensors to safetensors files as they come, so that memory stays bounded."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

PART_BYTES = 128 << 20
"""Bytes that are held before a file is written."""


class Writer:
    """A folder of ``NAME-00001.safetensors`` and so on; used as a context."""

    def __init__(self, folder: Path, name: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        for old in sorted(folder.glob(f"{name}-*.safetensors")):
            old.unlink()  # of an earlier capture: its tensors would be mistaken for ours
        self._folder, self._name = folder, name
        self._held: dict[str, Any] = {}
        self._bytes = 0
        self.hashes: dict[str, str] = {}
        self.tensors = 0

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self._flush()

    def add(self, key: str, tensor: Any) -> None:
        """Keep a tensor: in float32 if it is captured, unchanged if it is a weight."""
        self._held[key] = tensor
        self._bytes += tensor.numel() * tensor.element_size()
        self.tensors += 1
        if self._bytes >= PART_BYTES:
            self._flush()

    def _flush(self) -> None:
        if not self._held:
            return
        from safetensors.torch import save_file

        file = self._folder / f"{self._name}-{len(self.hashes) + 1:05}.safetensors"
        save_file(self._held, str(file))
        with file.open("rb") as opened:
            self.hashes[file.name] = hashlib.file_digest(opened, "sha256").hexdigest()
        self._held, self._bytes = {}, 0
