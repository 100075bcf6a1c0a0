"""The first rows of single tensors, from which the signatures of errors are read."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ...reading.tensors import np
from ...reading.tensors.captures import Name, is_logits
from ...reading.tensors.stored import Stored
from .comparison import Rows, align

MAX_NUMBERS = 1 << 21
"""Numbers of a tensor that are read: its first rows, 16 MB in float64."""
FEW_NUMBERS = 1 << 16
"""Count of numbers that are enough to determine the digits of a tensor."""
MAX_KEPT = 1 << 23
"""Numbers of each run that are kept, 200 MB in all."""


class Sample(NamedTuple):
    """The first rows of one tensor in all three runs, in float64; a row is one position of one
    batch (or head), and ``positions`` rows make a batch."""

    fp32: Any
    bf16: Any
    target: Any
    positions: int


class Samples:
    """The tensors of three runs by name, read on demand and kept while the same layer is
    examined."""

    def __init__(self, runs: Sequence[Mapping[Name, Stored]], names: Sequence[Name]) -> None:
        self._runs, self.names = runs, names
        self._kept: dict[Name, Sample | None] = {}

    def get(self, name: Name) -> Sample | None:
        """The sample of ``name``; None if the tensors do not fit together. Never raises over
        damaged files."""
        if name not in self._kept:
            if sum(s.fp32.size for s in self._kept.values() if s is not None) > MAX_KEPT:
                self._kept.clear()
            self._kept[name] = self._try(name, MAX_NUMBERS)
        return self._kept[name]

    def head(self, name: Name) -> Sample | None:
        """A sample of a few rows only, which is not kept."""
        return self._kept[name] if name in self._kept else self._try(name, FEW_NUMBERS)

    def _try(self, name: Name, numbers: int) -> Sample | None:
        try:
            return self._read(name, numbers)
        except (OSError, ValueError, EOFError, MemoryError, zipfile.BadZipFile, zlib.error):
            return None

    def shape(self, name: Name) -> tuple[int, ...]:
        """Shape in the reference."""
        return self._runs[0][name].shape

    def chosen(self, router: Name) -> int:
        """How many experts a router chooses for a position: the width of the narrowest of its
        outputs (weights or numbers of the chosen ones); 0 if that is not captured."""
        widths = [run[other].shape[-1] for run in self._runs[:1] for other in run
                  if other.module == router.module and run[other].shape
                  and (other.phase, other.step) == (router.phase, router.step)]  # fmt: skip
        return min(widths) if len(set(widths)) > 1 else 0

    def neighbours(self, name: Name) -> list[Name]:
        """Other tensors of the same layer and pass, in model order."""
        return [other for other in self.names if other != name and other.layer == name.layer
                and (other.phase, other.step) == (name.phase, name.step)]  # fmt: skip

    def _read(self, name: Name, numbers: int) -> Sample | None:
        tensors = [run[name] for run in self._runs]
        if tensors[0].shape != tensors[1].shape:
            return None
        shape = align(tensors[0].shape, tensors[2].shape, is_logits(name.module))
        if isinstance(shape, str) or shape.width > MAX_NUMBERS:
            return None
        rows = min(shape.batches * shape.positions, max(1, numbers // shape.width))
        found: list[Any] = []
        for at, stored in enumerate(tensors):
            first = shape.first if at < 2 else 0
            with stored.open() as reader:
                source = Rows(reader, stored, shape, first)
                parts = []
                for batch in range(0, rows, shape.positions):
                    count = min(shape.positions, rows - batch)
                    part = source.read(batch, count, 0, shape.width)
                    parts.append(np.array(part, dtype=np.float64))
                found.append(np.concatenate(parts))
        if not all(np.isfinite(values).all() for values in found):
            return None
        return Sample(found[0], found[1], found[2], shape.positions)
