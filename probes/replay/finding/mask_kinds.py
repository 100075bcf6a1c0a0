"""Names the kind of mask (a window, a cache, padding) by the queries that see other keys than they
should."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ....reading.tensors import np
from .given import Finder
from .masks import Mask, finder

ALIKE = 0.7
"""Share of the queries that have to lose the same keys: a key of little weight may not be seen."""


def _changes(mask: Mask) -> Iterator[tuple[int, Any, Any]]:
    """For each position that sees other keys than it should, yield the position, the added and the
    lost keys."""
    for batch in range(len(mask.seen)):
        for row in mask.rows:
            seen, right = mask.seen[batch, row], mask.right[batch, row]
            if (seen != right).any():
                yield int(row), np.flatnonzero(seen & ~right), np.flatnonzero(right & ~seen)


def _decoded(mask: Mask) -> bool:
    return mask.start is not None and bool(len(mask.rows)) and bool((mask.rows >= mask.start).all())


def _of_window(mask: Mask) -> bool:
    """Whether the added or lost keys lie at the far end of the keys that a query sees, and move on
    with the queries."""
    if mask.joined or not len(mask.rows) or _of_some_rows(mask) is not None or _of_fixed_keys(mask):
        return False
    added = [(row, keys) for row, keys, _ in _changes(mask) if len(keys)]
    lost = [(row, keys) for row, _, keys in _changes(mask) if len(keys)]
    if any((keys > row).any() for row, keys in added):
        return False
    if added:
        return mask.window is not None
    # Keys are lost one after another from the first one on, and more of them for later queries.
    ends = {row: keys.max() for row, keys in lost}
    if any(len(keys) != keys.max() - np.flatnonzero(mask.right[0, row]).min() + 1
           for row, keys in lost):  # fmt: skip
        return False
    return len(set(ends.values())) > 2 or (mask.window is not None and not _decoded(mask))


def _of_some_rows(mask: Mask) -> Any:
    """The rows of the batch with other keys while other rows see the right keys: a window is a
    setting of the model and holds for all of them. None if all differ, or there is one alone."""
    counts = (mask.seen != mask.right).any(axis=2).sum(axis=1)
    some = counts * 2 >= counts.max(initial=0)
    return None if mask.joined or some.all() else np.flatnonzero(some)


def _of_fixed_keys(mask: Mask) -> bool:
    """Whether all queries lose the same keys, as far as they should see them: such keys are treated
    as padding, and padding itself may see anything."""
    if (mask.seen & ~mask.right).any() or not len(mask.rows):
        return False
    first = mask.start if _decoded(mask) and mask.start is not None else 0
    places = np.arange(first, mask.rows[-1] + 1)
    matches, queries = 0, 0
    for seen, right in zip(mask.seen[:, places], mask.right[:, places], strict=True):
        lost = right & ~seen
        keys = lost.any(axis=0)
        real = ~keys[places] & keys.any()
        matches += int((lost == (keys & right)).all(axis=1)[real].sum())
        queries += int(real.sum())
    return queries > 0 and matches > ALIKE * queries


def _of_chunks(mask: Mask) -> bool:
    """Whether the queries of each chunk of the prompt lose the same keys, some of those before the
    chunk: a cache may have dropped them. Chunks that see only themselves are a mask."""
    if mask.joined or _decoded(mask) or (mask.seen & ~mask.right).any():
        return False
    if _of_fixed_keys(mask) or _of_window(mask) or _of_some_rows(mask) is not None:
        return False
    end = mask.start if mask.start is not None else mask.seen.shape[1]
    lost = (mask.right & ~mask.seen)[:, :end]
    size = 2
    while 2 * size <= end:
        if _lost_by_chunk(lost, mask.right, size):
            return True
        size *= 2
    return False


def _lost_by_chunk(lost: Any, right: Any, size: int) -> bool:
    matches, queries, whole = 0, 0, True
    for start in range(0, lost.shape[1], size):
        own = lost[:, start : start + size]
        keys = own.any(axis=1)
        if keys[:, start:].any():
            return False
        there = keys[:, None] & right[:, start : start + own.shape[1]]
        failing = there.any(axis=2)
        matches += int((own == there).all(axis=2)[failing].sum())
        queries += int(failing.sum())
        whole &= not keys.any() or bool(keys[:, :start].all())
    return not whole and queries > 0 and matches > ALIKE * queries


def _of_padded_rows(mask: Mask) -> bool:
    """Whether only some rows of the batch lose keys, each the same ones for all its queries: a
    cache has one layout for all rows, while padding differs between rows."""
    return _of_some_rows(mask) is not None and _of_fixed_keys(mask)


def _words(mask: Mask) -> str:
    row, added, lost = max(_changes(mask), key=lambda each: len(each[1]) + len(each[2]))
    parts = [f"{name} {_shown(keys)}" for name, keys in (("also", added), ("not", lost))
             if len(keys)]  # fmt: skip
    where = " of the rows of the batch one after another" if mask.joined else ""
    if (some := _of_some_rows(mask)) is not None:
        where = f", in {'row' if len(some) == 1 else 'rows'} {_shown(some)} of the batch only"
    return f"position {row} sees {' and '.join(parts)}{where}"


def _shown(keys: Any) -> str:
    some = ", ".join(str(key) for key in keys[:6])
    return some + (", ..." if len(keys) > 6 else "")


MASK_FINDERS: dict[str, Finder] = {
    "mask-of-window": finder(_of_window, _words),
    "mask-of-cache": finder(
        lambda mask: len(mask.rows) > 0 and _decoded(mask) and not _of_window(mask)
        and not _of_padded_rows(mask), _words
    ),
    "mask-of-chunks": finder(_of_chunks, _words),
    "mask-of-rows": finder(lambda mask: mask.joined and not _decoded(mask), _words),
    "mask-of-keys": finder(
        lambda mask: len(mask.rows) > 0 and not mask.joined and not _of_window(mask)
        and (not _decoded(mask) or _of_padded_rows(mask)), _words
    ),
}  # fmt: skip
