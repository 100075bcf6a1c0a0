"""Parts of quantities: rows and columns by which a shard, a slice or a fused weight is known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .fingerprint import MASKED

TOLERANCE = 3e-5
"""The same as for whole quantities."""
BLOCK = 1 << 21
"""Numbers that are turned into float64 at a time."""
MAX_NUMBERS = 1 << 18
"""Larger results of operations are compared as wholes only."""
MAX_ROWS = 2_000_000
"""Rows of results that are kept in memory for a run."""
LEAST = 4
"""Numbers of a row: two or three are alike by chance."""


MAX_ALIKE = 400
"""Rows that are looked at for one: more are alike only where there is little to compare."""
_MIX = (1.0, 3.7, 1.9, 2.3, 0.7)
"""Weights of the figures in the order of rows: after a norm, one of them is always 1."""


def weight_sides(tensor: Any) -> tuple[Any, ...]:
    """Digests of the rows of a weight (along its last dimension), and of its columns: the same
    numbers only have the same digest."""
    matrix = tensor.detach()
    if not matrix.is_floating_point() or not matrix.numel():
        return ()
    if matrix.dim() < 2:
        return (_distinct(matrix.reshape(-1, 1)),)
    columns = matrix.transpose(-1, -2).reshape(-1, matrix.shape[-2])
    return _distinct(matrix.reshape(-1, matrix.shape[-1])), _distinct(columns)


def _distinct(view: Any) -> Any:
    import numpy as np

    return np.unique(np.concatenate([*_digests(view)]))


def _digests(view: Any) -> Iterator[Any]:
    import numpy as np
    import torch

    rows = max(1, BLOCK // view.shape[1])
    for start in range(0, len(view), rows):
        part = view[start : start + rows].to(torch.float64)
        sums = torch.stack((part.sum(1), part.abs().sum(1)), 1).cpu().numpy()
        exact = np.round(sums * 1e3).astype(np.int64)
        yield exact[:, 0] * 1_000_003 + exact[:, 1]


def result_sides(tensor: Any) -> tuple[Any, ...]:
    """Fingerprints (n, 5) of the rows and of the columns of a result: equal but for rounding."""
    if not tensor.is_floating_point() or tensor.dim() < 2 or tensor.numel() > MAX_NUMBERS:
        return ()
    rows = tensor.detach().reshape(-1, tensor.shape[-1])
    return tuple(_fingerprints(each) for each in (rows, rows.T) if each.shape[1] >= LEAST)


def _fingerprints(rows: Any) -> Any:
    import torch

    x = rows.to(torch.float64)
    x = torch.where(x.abs() < MASKED, x, 0.0)
    count = (x != 0).sum(1).clamp(min=1)
    rms = ((x * x).sum(1) / count).sqrt()
    varied = (rms > 0) & (x.amax(1) - x.amin(1) > 1e-12)
    scale = count * rms
    level = x / rms.clamp(min=1e-300)[:, None]
    figures = (rms.log(), x.sum(1) / scale, x.abs().sum(1) / scale, level.amax(1) / 3,
               (level**3).sum(1) / count / 9)  # fmt: skip
    found = torch.stack(figures, 1)
    return found[varied].float().cpu().numpy()


def shared_weights(
    mine: Mapping[int, Sequence[Any]], other: Mapping[int, Sequence[Any]]
) -> dict[int, int]:
    """The weights that consist of rows or columns of the other model's, by number, each with the
    one that it is a part of, or -1 for several."""
    import numpy as np

    sides = [(at, side) for at, each in other.items() for side in each]
    if not sides:
        return {}
    table = np.concatenate([side for _, side in sides])
    owners = np.concatenate([np.full(len(side), at) for at, side in sides])
    order = np.argsort(table, kind="stable")
    table, owners = table[order], owners[order]
    found: dict[int, int] = {}
    for at, each in mine.items():
        for side in each:
            place = np.minimum(np.searchsorted(table, side), len(table) - 1)
            if len(side) and bool((table[place] == side).all()):
                own = set(owners[place].tolist())
                found[at] = own.pop() if len(own) == 1 else -1
                break
    return found


class Parts:
    """All rows and columns of the results of a run, to find those of another run in."""

    def __init__(self, results: Mapping[int, Sequence[Any]]) -> None:
        import numpy as np

        sides = [(at, side) for at, each in results.items() for side in each if len(side)]
        table = np.concatenate([side for _, side in sides] or [np.zeros((0, 5), np.float32)])
        owners = np.concatenate([np.full(len(side), at) for at, side in sides] or [np.zeros(0)])
        coarse = np.round(table / (TOLERANCE / 4)).astype(np.int64)
        _, first = np.unique(coarse, axis=0, return_index=True)
        order = first[np.argsort(table[first] @ np.array(_MIX), kind="stable")]
        self._table, self._owners = table[order], owners[order]
        self._keys = self._table @ np.array(_MIX)

    def owner(self, sides: Sequence[Any]) -> int | None:
        """The first result of the other run that a quantity is a part of, if it consists of rows
        or of columns of such results."""
        for side in sides:
            if len(side) and self._holds(side[:4]) is not None:
                found = self._holds(side)
                if found is not None:
                    return found
        return None

    def _holds(self, side: Any) -> int | None:
        """The owner of the first row, if every row is there."""
        import numpy as np

        keys, slack = side @ np.array(_MIX), TOLERANCE * sum(_MIX)
        low = np.searchsorted(self._keys, keys - slack)
        high = np.searchsorted(self._keys, keys + slack)
        todo, owner = np.arange(len(side)), -1
        for _ in range(MAX_ALIKE):
            if not len(todo):
                return owner
            if not bool((low[todo] < high[todo]).all()):
                return None
            near = np.abs(self._table[low[todo]] - side[todo]).max(1) < TOLERANCE
            if near[0] and todo[0] == 0:
                owner = int(self._owners[low[0]])
            low[todo] += 1
            todo = todo[~near]
        return None
