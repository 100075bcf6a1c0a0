"""Finds out where a foreign update came from: compares it with the updates of other layers, other
modules of the layer and other experts.

The first such tensor of each name pattern (without numbers) is compared with all candidates, later
ones with earlier finds, neighbours and siblings, so that the work grows with the model, not with
its square.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ...reading.tensors import np
from ...reading.tensors.number_formats import as_float32
from ...reading.tensors.safetensors_files import Tensor
from .hypotheses import RIGHT, Updates
from .pairs import Block, Pair, ratio, row_numbers
from .targets import Target

# Cosine of a change and the update of another place from which on the one is the other.
SAME = 0.97
_ROWS = 16
_LAYER = re.compile(r"(?<=\blayers\.)\d+|(?<=\bh\.)\d+|(?<=\bblocks\.)\d+")
_EXPERT = re.compile(r"(?<=\bexperts\.)\d+")
MAX_TRIED = 512


class Origin(NamedTuple):
    """The tensor (and, of stacked experts, the matrix) whose update it is. ``kind`` is layer,
    module or expert; ``shift`` counts the layers from there to here; ``scale`` is its size over
    the right one."""

    tensor: str
    scale: float
    kind: str
    shift: int | None = None
    expert: int | None = None


class Search:
    """Looks for origins, and remembers where it has found them."""

    def __init__(self, targets: Mapping[str, Target]) -> None:
        self._targets = targets
        self._layers = sorted({int(match[0]) for name in targets
                               if (match := _LAYER.search(name))})  # fmt: skip
        self._experts = 1 + max((int(match[0]) for name in targets
                                 if (match := _EXPERT.search(name))), default=0)  # fmt: skip
        self._shifts: list[int] = []
        self._seen: set[str] = set()

    def origin(self, target: Target, merged: Tensor) -> Origin | None:
        """The origin of the update that a merged tensor carries, or None. Raises ``OSError`` or
        ``ValueError`` if a file cannot be read."""
        sample = _Sample(target, merged)
        if not sample.usable:
            return None
        for tensor, matrix in self._candidates(target, sample.block.matrix):
            scale = sample.scale_of(self._targets[tensor], matrix)
            if scale:
                return self._found(target.name, tensor, matrix, scale)
        return None

    def _found(self, here: str, there: str, matrix: int, scale: float) -> Origin:
        one, two = _LAYER.search(here), _LAYER.search(there)
        if one and two and _replaced(here, one, two[0]) == there and one[0] != two[0]:
            shift = int(one[0]) - int(two[0])
            if shift not in self._shifts:
                self._shifts.append(shift)
            return Origin(there, scale, "layer", shift)
        if here == there:
            return Origin(there, scale, "expert", None, matrix)
        kind = "expert" if _EXPERT.sub("*", here) == _EXPERT.sub("*", there) else "module"
        return Origin(there, scale, kind)

    def _candidates(self, target: Target, matrix: int) -> Iterator[tuple[str, int]]:
        name, match = target.name, _LAYER.search(target.name)
        pattern = re.sub(r"\d+", "*", name)
        first = pattern not in self._seen
        self._seen.add(pattern)
        near = self._near(match, first) if match else []
        names = [_replaced(name, match, str(layer)) for layer in near if match]
        places = [(each, matrix) for each in names] + [
            (each, 0) for each in self._siblings(name, first)
        ]
        yield from ((each, at) for each, at in places if self._fits(target, each))
        count = target.tensor.matrices[0]
        yield from ((name, other) for other in _experts(matrix, count, first) if other != matrix)

    def _near(self, match: re.Match[str], first: bool) -> list[int]:
        """Layers to try: all for the first tensor of a name pattern, else those of earlier finds,
        the neighbours, the first and the last."""
        own = int(match[0])
        if first:
            return [layer for layer in self._layers if layer != own][:MAX_TRIED]
        at = [own - shift for shift in (*self._shifts[:8], 1, -1)]
        ends = [self._layers[0], self._layers[-1]]
        return [layer for layer in dict.fromkeys([*at, *ends]) if layer != own]

    def _siblings(self, name: str, first: bool) -> list[str]:
        """Other tensors of the same block, and other experts of it."""
        head, _, leaf = name.removesuffix(".weight").rpartition(".")
        end = ".weight" if name.endswith(".weight") else ""
        others = [f"{head}.{each}{end}" for each in _LEAVES if each != leaf]
        expert = _EXPERT.search(name)
        if expert:
            own = int(expert[0])
            others += [_replaced(name, expert, str(each))
                       for each in _experts(own, self._experts, first) if each != own]  # fmt: skip
        return others

    def _fits(self, target: Target, name: str) -> bool:
        other = self._targets.get(name)
        return other is not None and other.tensor.shape == target.tensor.shape


_LEAVES = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")


def _experts(own: int, count: int, first: bool) -> list[int]:
    if first:
        return list(range(min(count, MAX_TRIED)))
    return sorted({count - 1 - own, (own + 1) % count, (own - 1) % count})


def _replaced(name: str, match: re.Match[str], number: str) -> str:
    return name[: match.start()] + number + name[match.end() :]


class _Sample:
    """Some rows of a change, in the first matrix that was changed at all."""

    def __init__(self, target: Target, merged: Tensor) -> None:
        _, height, _ = target.tensor.matrices
        rows = min(_ROWS, height)
        first = (height - rows) // 2
        self.block = Block(0, first, first + rows)
        pair = Pair(target, merged, self.block)
        base, _, stored = pair.read(self.block)
        self.change: Any = as_float32(stored, pair.dtype).astype(np.float64) - base
        self._size = float(np.sum(np.square(self.change)))
        self.usable = math.isfinite(self._size) and self._size > 0

    def scale_of(self, other: Target, matrix: int) -> float:
        """The factor of another update that gives these rows, but for rounding; 0 if none does."""
        update = Updates(other).update(RIGHT, matrix, row_numbers(self.block)).astype(np.float64)
        if update.shape != self.change.shape or not np.isfinite(update).all():
            return 0.0
        dot, size = float(np.sum(update * self.change)), float(np.sum(np.square(update)))
        return ratio(dot, size) if ratio(dot, math.sqrt(size * self._size)) > SAME else 0.0
