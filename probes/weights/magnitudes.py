"""DoRA: a trained length for each row of a weight, whose direction is that of base and update."""

from __future__ import annotations

from typing import Any

from ...reading.tensors import np
from ...reading.tensors.number_formats import as_float32
from ...reading.tensors.safetensors_files import Tensor


def lengthened(base: Tensor, magnitude: Tensor, update: Any, rows: Any) -> Any:
    """The whole change of some consecutive rows of a matrix, ``update`` being that of its
    direction. Raises ``OSError`` or ``ValueError`` if a file cannot be read."""
    first, last = int(rows[0]), int(rows[-1]) + 1
    start = as_float32(base.rows(0, first, last), base.dtype).astype(np.float64)
    sizes = magnitude._replace(shape=(1, magnitude.size)).rows(0, 0, 1)
    wanted = as_float32(sizes, magnitude.dtype).reshape(-1)[rows]
    direction = start + update
    lengths = np.linalg.norm(direction, axis=1)
    factor = wanted / np.where(lengths > 0, lengths, 1)
    return (direction * factor[:, None] - start).astype(np.float32)
