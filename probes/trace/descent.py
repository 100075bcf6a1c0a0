"""Follows an operand that is not the reference's back to the operation where it parts."""

from __future__ import annotations

import math

from .alignment import LAYOUT, SHAPES, TOLERANCE, Aligned, near

MAX_DEPTH = 40
ORDER = 100 * TOLERANCE
"""Limit of the figure for the order; another order gives about 1."""

STILL = (SHAPES | {"written"}) - {"expand", "t", "transpose", "permute"}
"""Layouts in which numbers keep their order."""


class Descent:
    """Pairs of quantities of port and reference that should be the same and are not."""

    def __init__(self, port: Aligned, reference: Aligned) -> None:
        self._port, self._reference = port, reference
        self._seen: set[tuple[int, int]] = set()

    def parting(self, mine: int, theirs: int, depth: int = 0) -> tuple[int, int] | None:
        """The earliest pair behind these two whose inputs are the same and that is not itself;
        None if they are the same."""
        if self.same(mine, theirs) or depth > MAX_DEPTH or (mine, theirs) in self._seen:
            return None
        self._seen.add((mine, theirs))
        ours, other = self._moved(self._port, mine), self._moved(self._reference, theirs)
        a, b = ours[-1], other[-1]
        if self._alike(a, b):
            return self._order(ours, other)
        one, two = self._port.quantity(a), self._reference.quantity(b)
        if one.op == two.op and len(one.inputs) == len(two.inputs):
            for pair in zip(one.inputs, two.inputs, strict=True):
                if found := self.parting(*pair, depth + 1):
                    return found
        taken = one.given and len(ours) > 1
        return (ours[-2] if taken else a), b

    def same(self, mine: int, theirs: int) -> bool:
        """Whether two quantities have the same numbers in the same order, as far as shapes can
        be compared."""
        one, two = self._port.quantity(mine), self._reference.quantity(theirs)
        if [n for n in one.shape if n != 1] != [n for n in two.shape if n != 1]:
            return False
        if one.moments is None or two.moments is None:
            return one.value == two.value and one.moments is two.moments
        return near(one.moments, two.moments) and abs(one.order - two.order) < ORDER

    def _alike(self, mine: int, theirs: int) -> bool:
        one, two = self._port.quantity(mine), self._reference.quantity(theirs)
        if math.prod(one.shape) != math.prod(two.shape):
            return self._port.standard(mine) == self._reference.standard(theirs) != -1
        return near(one.moments, two.moments) and one.value == two.value

    def _order(self, ours: list[int], other: list[int]) -> tuple[int, int]:
        """The operations that move numbers: of each side the first that is not just a shape."""
        moves = [next((each for each in reversed(way[:-1])
                       if found.quantity(each).op not in STILL), way[0])
                 for found, way in ((self._port, ours), (self._reference, other))]  # fmt: skip
        return moves[0], moves[1]

    @staticmethod
    def _moved(found: Aligned, at: int) -> list[int]:
        """A quantity and what it is a layout of, to the one that was computed."""
        way = [at]
        while found.quantity(at).op in LAYOUT and len(found.quantity(at).inputs) == 1:
            at = found.quantity(at).inputs[0]
            way.append(at)
        return way
