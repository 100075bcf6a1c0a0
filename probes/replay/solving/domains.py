"""Parts of a value that a change may be limited to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ....reading.tensors import np
from .relations import MOST_PLACES
from .values import Value

Domain = tuple[str, Any]


def domains(value: Value, wanted: str, failing: Any) -> Iterator[Domain]:
    """Words and a mask (as wide as the value, or of width one) for each part along the axes in
    ``wanted``. ``failing`` are the rows and positions at which the output is wrong."""
    for at, letter in enumerate(value.axes):
        count = value.array.shape[at]
        if letter not in wanted or count < 2:
            continue
        shape = [1] * value.array.ndim
        shape[at] = count
        for words, mask in _of(letter, count, value.spec.get("decode_from")):
            if mask.any() and not mask.all():
                yield f"{NAMES[letter]} {words}", mask.reshape(shape)
    if "f" in wanted and failing is not None and value.axes[:1] == "n":
        if failing.size == len(value.array):
            yield "the positions that fail", failing.reshape(-1, *[1] * (value.array.ndim - 1))
        return
    if "f" in wanted and failing is not None and {"b", "p"} <= set(value.axes):
        shape = [1] * value.array.ndim
        for at, letter in enumerate(value.axes):
            if letter in "bp":
                shape[at] = value.array.shape[at]
        if failing.size == np.prod(shape):  # rows come before positions in all values
            yield "the positions that fail", failing.reshape(shape)


NAMES = {"b": "rows of the batch", "p": "positions", "k": "keys", "h": "heads", "c": "channels",
          "r": "rows", "e": "experts"}  # fmt: skip


def _of(letter: str, count: int, start: int | None) -> Iterator[Domain]:
    own = np.arange(count)
    if letter in "pk":
        yield from _of_positions(own, start)
    if letter in "bhe" and count <= MOST_PLACES:
        for at in range(count):
            yield f"at {at}", own == at
            yield f"but {at}", own != at
    for parts in (2, 4, 8):
        if (count % parts == 0 and count > parts) or (letter in "hbe" and count == parts):
            size = count // parts
            for at in range(parts):
                yield f"in part {at} of {parts}", own // size == at
                if parts > 2:
                    yield f"but for part {at} of {parts}", own // size != at
    yield "of even number", own % 2 == 0
    yield "of odd number", own % 2 == 1
    for share in (4,):
        yield f"every {share}", own % share == 0
        yield f"last of every {share}", own % share == share - 1


def _of_positions(own: Any, start: int | None) -> Iterator[Domain]:
    count = len(own)
    if start and start < count:
        yield "of the prompt", own < start
        yield "that are decoded", own >= start
        yield f"at {start - 1}", own == start - 1
        yield f"at {start}", own == start
    for most in (1, 2, 4, 8, 16):
        yield f"before {most}", own < most
        yield f"from {most} on", own >= most
    for size in (2, 3, 5, 6, 8, 16, 32):
        if size < count:
            yield f"last of every {size}", own % size == size - 1
            yield f"first of every {size}", own % size == 0
