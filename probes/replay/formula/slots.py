"""Possible faults of keys or values in the cache, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....reading.tensors import np
from .few_bits import in_format


def slots(how: str, part: Any, start: int, step: float = 0) -> Any:
    """``part`` (batches, heads, positions, channels) as the cache gives it back; decoding begins
    at ``start``. What begins with ``prompt`` happens to the prompt alone. ``step`` is that of whole
    numbers of a fixed size."""
    name, _, word = how.partition(" ")
    if name == "prompt":
        found = part.copy()
        found[:, :, :start] = slots(word, part[:, :, :start], start, step)
        return found
    if name == "fixed":
        most = 2.0 ** (int(word) - 1)
        return np.round(part / step).clip(-most, most - 1) * np.float32(step)
    word = {"prompt": str(start - 1), "new": str(start)}.get(word, word)
    return _CHANGES[name](part, word)


def as_newest(part: Any, start: int) -> Any:
    """(batches, heads, positions, slots): by how much each key or value is too large if all slots
    are read with the scale of the token that is decoded, and each was stored with its own."""
    scale = np.maximum(np.abs(part).max(axis=-1), 1e-20)
    by = scale[..., :, None] / scale[..., None, :]
    at = np.arange(part.shape[2])
    there = (at[:, None] >= start) & (at[None] <= at[:, None])
    return np.where(there, by, np.float32(1))


def _row(part: Any, word: str) -> Any:
    if len(part) < 2:
        raise ValueError("there is no other row")
    return np.repeat(part[int(word) : int(word) + 1], len(part), axis=0)


def _rows(part: Any, word: str) -> Any:
    if len(part) < 2:
        raise ValueError("there is no other row")
    return part[::-1] if word == "reversed" else np.roll(part, int(word), axis=0)


def _moved(part: Any, word: str) -> Any:
    """Move each key ``word`` slots on; the slots before the first key are empty."""
    by = int(word)
    found = np.zeros_like(part)
    if by > 0:
        found[:, :, by:] = part[:, :, :-by]
    else:
        found[:, :, :by] = part[:, :, -by:]
    return found


def _rounded(part: Any, word: str) -> Any:
    return in_format(in_format(part, "BF16"), word)


def _whole_numbers(part: Any, word: str) -> Any:
    """One step for each token and head (or for all), of so many bits."""
    bits, _, of = word.partition(" ")
    most = 2.0 ** (int(bits) - 1) - 1
    step = np.abs(part).max(axis=-1 if of == "token" else None, keepdims=True) / most
    return np.round(part / np.maximum(step, 1e-30)) * step


def _one(part: Any, word: str) -> Any:
    """Fill all slots with the value of one of them."""
    at = int(word)
    return np.broadcast_to(part[:, :, at : at + 1], part.shape)


def _kept(part: Any, by: int) -> Any:
    """Shift keys or values by ``by`` slots; slots that nothing shifts into keep their values."""
    found = np.roll(part, by, axis=2)
    ends = slice(0, by) if by > 0 else slice(by, None)
    found[:, :, ends] = part[:, :, ends]
    return found


def _blocks(part: Any, size: int) -> Any:
    """Exchange pairs of pages of so many slots."""
    count = part.shape[2] // (2 * size) * 2 * size
    if not count:
        raise ValueError("there are no two pages")
    found = part.copy()
    pages = part[:, :, :count].reshape(*part.shape[:2], -1, 2, size, part.shape[3])
    found[:, :, :count] = pages[:, :, :, ::-1].reshape(*part.shape[:2], count, part.shape[3])
    return found


def _over(part: Any, chunks: int) -> Any:
    """Write all chunks from the first slot on: only the last one remains, and nothing after it."""
    size = part.shape[2] // chunks
    if size < 1 or chunks * size == size:
        raise ValueError("there are no chunks")
    found = part.copy()
    found[:, :, :size] = part[:, :, (chunks - 1) * size : chunks * size]
    found[:, :, size : chunks * size] = 0
    return found


def _mixed(part: Any) -> Any:
    """Exchange heads and positions, as if the buffer had the other layout."""
    return part.swapaxes(1, 2).reshape(part.shape)


_CHANGES: dict[str, Callable[[Any, str], Any]] = {
    "row": _row, "rows": _rows, "slots": _moved, "rounded": _rounded,
    "bits": _whole_numbers, "one": _one,
    "zero": lambda part, word: np.zeros_like(part),
    "heads": lambda part, word: np.roll(part, int(word), axis=1),
    "reversed": lambda part, word: part[:, :, ::-1],
    "channels": lambda part, word: np.roll(part, int(word), axis=3),
    "halves": lambda part, word: np.roll(part, part.shape[3] // 2, axis=3),
    "kept": lambda part, word: _kept(part, int(word)),
    "blocks": lambda part, word: _blocks(part, int(word)),
    "mixed": lambda part, word: _mixed(part),
    "over": lambda part, word: _over(part, int(word)),
    "positions": lambda part, word: np.roll(part, int(word), axis=2),
}  # fmt: skip
