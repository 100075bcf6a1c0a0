"""Finds the weight rows from which the output channels of a projection come, by comparing each
channel of the target with all that the reference would give; and describes the order of these rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ....reading.tensors import np
from ..spec import Reading
from .given import Finder, Given

LEAST_ROWS = 8
MOST_COMPARED = 1 << 25
ALIKE = 0.03
"""Squared distance of two channels, relative to their size, up to which they are the same."""
SHARE = 0.98
RANKS = (2, 4, 8, 16, 32)
MOST_LOST = 2
"""The part of all rows, at most, that may never have been filled: one of so many."""


class Origin(NamedTuple):
    """The row of the pool that each output channel comes from (-1: it is zero), the pool, the
    bias of each row, the value added to each channel, and the number of rows of the module's
    own weight."""

    rows: Any
    pool: Any
    biases: Any
    added: Any
    own: int


def _first_rows(rows: Any) -> str:
    return ", ".join(map(str, rows[:8])) + (", ..." if len(rows) > 8 else "")


def _padding(rows: Any) -> str:
    """Describe the rows of zeros: their number, and where they begin."""
    zero = np.flatnonzero(rows < 0)
    starts = zero[np.diff(zero, prepend=-2) > 1]
    return f"{len(zero)}, from {', '.join(map(str, starts[:4]))} on"


def finder(
    fits: Callable[[Origin, Given], bool], siblings: bool = False,
    shown: Callable[[Any], str] = _first_rows,
) -> Finder:  # fmt: skip
    """Make a finder that proposes the rows if ``fits`` accepts their order."""

    def find(one: Given) -> Iterator[tuple[Reading, str]]:
        key = "rows of siblings" if siblings else "rows"
        if key not in one.solved:
            one.solved[key] = _origin(one, siblings)
        found: Origin | None = one.solved[key]
        if found is None or (found.rows == np.arange(found.own)).all() or not fits(found, one):
            return
        rows = found.rows
        weight = np.where(rows[:, None] < 0, 0, found.pool[rows])
        yield one.reading._replace(weights=dict(one.reading.weights) | _with(one, found, weight)
                                   ), shown(rows)  # fmt: skip

    return find


def _with(one: Given, found: Origin, weight: Any) -> dict[str, Any]:
    """The weight, and the bias that is nearest to the values added to the channels."""
    own = one.reading.weights.get("own.bias")
    if own is None:
        return {"own.weight": weight}
    moved = np.where(found.rows < 0, 0, found.biases[found.rows])
    off = [float(np.linalg.norm(each - found.added)) for each in (own, moved)]
    return {"own.weight": weight, "own.bias": own if off[0] <= off[1] else moved}


def _origin(one: Given, siblings: bool) -> Origin | None:
    """The origin of the channels; None if it is unclear."""
    weights = one.reading.weights
    x = one.given["x"][:, one.rows].reshape(-1, one.given["x"].shape[-1])
    target = one.output[:, one.rows].reshape(len(x), -1)
    others = one.given["siblings"]() if siblings else []
    pool = np.concatenate([weights["own.weight"], *(weight for _, weight, _ in others)])
    if len(x) < LEAST_ROWS or len(pool) * target.shape[1] > MOST_COMPARED:
        return None
    own = weights.get("own.bias")
    biases = [_or_zeros(own, weights["own.weight"]), *(_or_zeros(bias, w) for _, w, bias in others)]
    made = x @ pool.T
    middle: Any = 0 if own is None else target.mean(axis=0)
    made_middle: Any = 0 if own is None else made.mean(axis=0)
    made, apart = made - made_middle, target - middle
    near = (made * made).sum(axis=0)[:, None] - 2 * (made.T @ apart)
    rows = near.argmin(axis=0)
    whole = (apart * apart).sum(axis=0)
    off = near[rows, np.arange(len(rows))] + whole
    added = middle - (made_middle if own is None else made_middle[rows])
    zero = ~target.any(axis=0)
    rows = np.where(zero, -1, rows)
    if ((off < ALIKE * whole) | zero).mean() < SHARE:
        return None
    return Origin(rows, pool, np.concatenate(biases), added, len(weights["own.weight"]))


def _or_zeros(bias: Any, weight: Any) -> Any:
    return np.zeros(len(weight), np.float32) if bias is None else bias


def _zeros(one: Given) -> Iterator[tuple[Reading, str]]:
    """Find rows without any output, if they are those of whole ranks."""
    weights = one.reading.weights
    target = one.output[:, one.rows].reshape(-1, one.output.shape[-1])
    zero = ~target.any(axis=0)
    if not zero.any() or zero.all():
        return
    if not any(len(zero) % ranks == 0 and not (zero.reshape(ranks, -1).any(axis=1)
                                               & ~zero.reshape(ranks, -1).all(axis=1)).any()
               for ranks in RANKS):  # fmt: skip
        return
    changed = {name: np.where(zero[:, None] if values.ndim > 1 else zero, 0, values)
               for name, values in weights.items()}  # fmt: skip
    yield one.reading._replace(weights=changed), f"{np.flatnonzero(zero)[0]} and on"


def _zeros_in_one_stretch(one: Given) -> Iterator[tuple[Reading, str]]:
    """Like :func:`_zeros`, but only for a few adjacent output channels: a slice that may never have
    been written."""
    zero = ~one.output[:, one.rows].reshape(-1, one.output.shape[-1]).any(axis=0)
    lost = np.flatnonzero(zero)
    if len(lost) and len(lost) * MOST_LOST <= len(zero) and np.ptp(lost) == len(lost) - 1:
        yield from _zeros(one)


def is_order(rows: Any, own: int) -> bool:
    """Whether each of the own rows occurs once."""
    return len(rows) == own and bool((np.sort(rows) == np.arange(own)).all())


def in_blocks(rows: Any, width: int) -> bool:
    """Whether blocks of so many rows are moved as a whole."""
    if width < 2 or len(rows) % width:
        return False
    blocks = rows.reshape(-1, width)
    same = (blocks == blocks[:, :1] + np.arange(width)).all()
    return bool(same and (blocks[:, 0] % width == 0).all())


def _heads(found: Origin, one: Given) -> bool:
    width = int(one.reading.spec["head_dim"])
    return is_order(found.rows, found.own) and in_blocks(found.rows, width)


def _shards(found: Origin, one: Given) -> bool:
    """Whether shards are in another order, or ranks use the shard of another rank."""
    rows, own = found.rows, found.own
    if len(rows) != own or (rows < 0).any() or (rows >= own).any():
        return False
    return any(own % count == 0 and in_blocks(rows, own // count) for count in RANKS)


def _other(found: Origin, one: Given) -> bool:
    spec = one.reading.spec
    if (found.rows < 0).any():
        return _not_identity(found, one)
    if spec.get("head_dim"):
        return not (_heads(found, one) or _head_shards(found, one))
    return bool(spec.get("is_fused")) or not _shards(found, one)


def _head_shards(found: Origin, one: Given) -> bool:
    """Whether ranks have the rows of another one. No rank has a part of a head, so an order of such
    parts concerns the order of heads."""
    return _shards(found, one) and not is_order(found.rows, found.own)


def _cut_heads(found: Origin, one: Given) -> bool:
    """Like :func:`_head_shards`, if each head has only rows of its own and some of them repeatedly:
    heads may have been split over as many ranks, which repeat their rows."""
    width = int(one.reading.spec["head_dim"])
    if not _head_shards(found, one) or len(found.rows) % width:
        return False
    return bool((found.rows // width == np.arange(len(found.rows)) // width).all())


def _copied(found: Origin) -> bool:
    """Whether all channels are those of one sibling, one after another."""
    rows = found.rows
    return bool(rows[0] >= found.own and (rows == rows[0] + np.arange(len(rows))).all())


def _of_siblings(found: Origin, one: Given) -> bool:
    return bool((found.rows >= found.own).any() and (found.rows >= 0).all()) and not _copied(found)


def _of_sibling(exchanged: bool) -> Callable[[Origin, Given], bool]:
    """Whether the channels are those of a sibling; ``exchanged``: it has those of this module."""

    def fits(found: Origin, one: Given) -> bool:
        if not _copied(found):
            return False
        start = found.own
        for name, weight, _ in one.given["siblings"]():
            if start <= found.rows[0] < start + len(weight):
                own, bias = (one.reading.weights.get(f"own.{kind}") for kind in ("weight", "bias"))
                biases = (bias, found.biases[start : start + len(weight)])
                return any(one.given["gives"](name, own, each) for each in biases) == exchanged
            start += len(weight)
        return False

    return fits


def _not_identity(found: Origin, one: Given) -> bool:
    """Whether the rows differ from the own ones, or are missing. False if some are lost and the
    rest right, or if only shards are concerned."""
    there = found.rows >= 0
    return bool((found.rows[there] != np.flatnonzero(there)).any())


def _behind_padding(found: Origin, one: Given) -> bool:
    """Whether all rows come in order with rows of zeros between them: no row was given to another
    channel, but each follows the padding of the shards before it."""
    there = found.rows >= 0
    in_order = found.rows[there] == np.arange(there.sum())
    return bool(in_order.mean() >= SHARE and _not_identity(found, one))


def _anyhow(found: Origin, one: Given) -> bool:
    return _not_identity(found, one) and not _behind_padding(found, one)


ROW_FINDERS: dict[str, Finder] = {
    "rows-in-heads": finder(_heads), "rows-in-shards": finder(_shards),
    "rows-in-shards-of-heads": finder(_head_shards), "rows-of-cut-heads": finder(_cut_heads),
    "rows": finder(_other), "rows-anyhow": finder(_anyhow),
    "rows-behind-padding": finder(_behind_padding, shown=_padding),
    "rows-of-ranks": _zeros, "rows-in-one-stretch": _zeros_in_one_stretch,
    "rows-of-siblings": finder(_of_siblings, siblings=True),
    "rows-copied": finder(_of_sibling(False), siblings=True),
    "rows-exchanged": finder(_of_sibling(True), siblings=True),
}  # fmt: skip
