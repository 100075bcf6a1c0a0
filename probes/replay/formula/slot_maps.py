"""The key in each slot of the cache when a token is decoded, for maps that change with the
token."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....reading.tensors import np


def slot_map(how: str, start: int, count: int) -> Any:
    """(positions, slots): the position whose key or value is in each slot. ``how`` is a name and a
    number of slots."""
    name, _, by = how.partition(" ")
    found = np.tile(np.arange(count), (count, 1))
    for row, slots in _KINDS[name](start, count, int(by or 0)):
        found[row, : len(slots)] = slots
    return found


def _past(start: int, count: int, by: int) -> Any:
    """The keys before the new token are moved on cyclically."""
    for row in range(start, count):
        yield row, np.roll(np.arange(row), by)


def _all(start: int, count: int, by: int) -> Any:
    for row in range(start, count):
        yield row, np.roll(np.arange(row + 1), by)


def _turned(start: int, count: int, by: int) -> Any:
    for row in range(start, count):
        yield row, np.arange(row)[::-1]


def _again(start: int, count: int, by: int) -> Any:
    """Move the slots on once more with each token: before the new one is stored, or after it
    (``by`` has the opposite sign then)."""
    held = np.arange(start)
    for row in range(start, count):
        held = np.append(np.roll(held, by), row)
        yield row, held


def _again_with_new(start: int, count: int, by: int) -> Any:
    held = np.arange(start)
    for row in range(start, count):
        held = np.roll(np.append(held, row), by)
        yield row, held


def _prompt_again(start: int, count: int, by: int) -> Any:
    for row in range(start, count):
        yield row, np.roll(np.arange(start), by * (row - start + 1))


def _kept(start: int, count: int, by: int) -> Any:
    """Move the slots on; slots that nothing moves to keep their values."""
    for row in range(start, count):
        moved = np.arange(row) - by
        yield row, np.where((moved >= 0) & (moved < row), moved, np.arange(row))


_KINDS: dict[str, Callable[[int, int, int], Any]] = {
    "past": _past, "all": _all, "turned": _turned, "again": _again, "prompt-again": _prompt_again,
    "again-with-new": _again_with_new, "kept": _kept,
}  # fmt: skip


def moved_shares(shares: Any, found: Any) -> Any:
    """Convert shares of slots to shares of the positions whose values are in them."""
    moved = np.zeros_like(shares)
    rows = np.arange(found.shape[0])[:, None]
    flat = moved.reshape(-1, *shares.shape[-2:])
    for target, source in zip(flat, shares.reshape(flat.shape), strict=True):
        np.add.at(target, (rows, found), source)
    return moved
