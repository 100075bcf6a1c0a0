"""Finds the parts of an output in which a module fails: rows of the batch, positions, channels of a
rank, or heads.

A mistake on one rank, for one sequence or in one tile is the same as a mistake everywhere, so each
hypothesis is also tried on that part alone, with the rest of the module correct.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from ...reading.tensors import np

FAILS, SOUND = 3.0, 2.0
"""R from which on a place fails, and up to which it is sound."""
OFF, NEAR = 0.08, 0.03
"""The same for the output of a head, relative to it: its rounding is unknown."""
LEAST = 0.5
"""Least share of the usual rounding at any place."""
FLOOR = 5e-4
BLOCKS = (2, 4, 8)
MOST_HEADS = 64
MOST_STRIDE = 8


class Part(NamedTuple):
    """The part of an output in which a module fails: its description, and a mask over the output or
    over the heads."""

    words: str
    mask: Any
    heads: bool = False


def of_output(off: Any, rounding: Any, output: Any, rows: slice) -> Iterator[Part]:
    """Parts of an output (rows of the batch, positions, channels) with the error ``off``, compared
    with the error that ``rounding`` makes; ``rows`` are the positions that count."""
    if off.ndim != 3:
        return
    for axis in (0, 1, 2):
        ratios = _ratios(off[:, rows], rounding[:, rows], output[:, rows], axis)
        places = _of_channels(ratios) if axis == 2 else _of_places(ratios, axis == 0)
        if places is None:
            continue
        if axis == 1:
            places = places + int(rows.start or 0)
        mask = np.zeros(off.shape[axis], bool)
        mask[places] = True
        shape = [1, 1, 1]
        shape[axis] = len(mask)
        yield Part(f"{_NAMES[axis]} {_shown(places)} only", mask.reshape(shape))


_NAMES = ("in rows of the batch", "at positions", "in channels")


def of_heads(mixed: Any, wanted: Any, rows: slice) -> Part | None:
    """The heads whose output differs (batches, heads, positions, channels)."""
    count = mixed.shape[1]
    if not 1 < count <= MOST_HEADS:
        return None
    off = _sizes(wanted[:, :, rows] - mixed[:, :, rows])
    ratio = off / np.maximum(_sizes(mixed[:, :, rows]), 1e-20)
    if not (ratio < NEAR).any() or not (ratio > OFF).any():
        return None
    mask = ratio >= (NEAR * OFF) ** 0.5
    return Part(f"in heads {_shown(np.flatnonzero(mask))} only", mask, True)


def _sizes(values: Any) -> Any:
    return np.sqrt((values.astype(np.float64) ** 2).sum(axis=(0, 2, 3)))


def _ratios(off: Any, rounding: Any, output: Any, axis: int) -> Any:
    others = tuple(each for each in range(3) if each != axis)
    found, noise, whole = (
        np.sqrt((each.astype(np.float64) ** 2).mean(axis=others))
        for each in (off, rounding, output)
    )
    usual = float(np.sqrt((noise * noise).mean()))
    return found / np.maximum(np.maximum(noise, LEAST * usual), np.maximum(FLOOR * whole, 1e-20))


def _of_places(ratios: Any, any_order: bool) -> Any | None:
    """The places that fail, if others are sound: side by side, or at equal distances."""
    fails, sound = ratios > FAILS, ratios < SOUND
    if not fails.any() or not sound.any():
        return None
    at = np.flatnonzero(fails)
    if any_order:
        return at if (fails | sound).all() else None
    block = np.arange(at[0], at[-1] + 1)
    if not sound[block].any():
        return block
    for step in range(2, MOST_STRIDE + 1):
        if len(set(at % step)) == 1 and not sound[at[0] % step :: step].any():
            return np.arange(at[0] % step, len(ratios), step)
    return None


def _of_channels(ratios: Any) -> Any | None:
    """Select the channels of whole ranks; ranks with only a few wrong channels do not count."""
    for count in BLOCKS:
        if len(ratios) % count or len(ratios) < 4 * count:
            continue
        fails = (ratios.reshape(count, -1) > FAILS).mean(axis=1)
        if ((fails > 0.5) | (fails == 0)).all() and 0 < (fails > 0).sum() < count:
            at = np.flatnonzero(fails > 0)
            if len(set(np.diff(at))) <= 1:
                width = len(ratios) // count
                return (at[:, None] * width + np.arange(width)).ravel()
    return None


def _shown(places: Any) -> str:
    if len(places) > 2 and (np.diff(places) == 1).all():
        return f"{places[0]} to {places[-1]}"
    return ", ".join(map(str, places[:8])) + (", ..." if len(places) > 8 else "")
