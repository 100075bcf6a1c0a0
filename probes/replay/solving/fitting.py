"""Finds the parts along an axis to which a change is limited, or its degree, by least squares: each
part is changed alone, and the effect on the output is fitted to the error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ....reading.tensors import np

MOST_NUMBERS = 1 << 23
NONE = 0.1
"""Share of a change up to which a part is not affected."""
ALIKE = 0.07
"""Largest distance between the shares of parts that are affected alike."""


class Fit(NamedTuple):
    """The share of a change in each part: 0, or ``by``, the same for all."""

    shares: Any
    by: float

    @property
    def whole(self) -> bool:
        """Whether all parts are affected."""
        return bool((self.shares != 0).all())

    @property
    def regular(self) -> bool:
        """Whether the parts are side by side, or at equal distances."""
        places = np.flatnonzero(self.shares)
        return len(set(np.diff(places))) <= 1

    @property
    def words(self) -> str:
        return ", ".join(map(str, np.flatnonzero(self.shares)))


def fitted(count: int, off: Any, effect: Callable[[int], Any | None]) -> Fit | None:
    """Fit a common share of the changes: ``off`` is the error of an output, ``effect(place)`` the
    effect of changing one part. None if no common share fits."""
    step = max(1, off.size * count // MOST_NUMBERS)
    columns = []
    for place in range(count):
        made = effect(place)
        if made is None:
            return None
        columns.append(made.ravel()[::step])
    matrix = np.stack(columns, axis=1)
    if not np.isfinite(matrix).all():
        return None
    squares = matrix.T @ matrix
    ridge = 1e-6 * np.trace(squares) / count * np.eye(count)
    found = np.linalg.solve(squares + ridge, matrix.T @ off.ravel()[::step])
    chosen = np.abs(found) > NONE
    if not chosen.any():
        return None
    by = float(np.median(found[chosen]))
    if np.abs(found[chosen] - by).max() > ALIKE * max(1.0, abs(by)):
        chosen, by = found > 0.5, 1.0
        if not chosen.any():
            return None
    elif abs(by - 1) < ALIKE:
        by = 1.0
    return Fit(np.where(chosen, by, 0.0), by)
