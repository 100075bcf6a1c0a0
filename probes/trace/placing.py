"""The line to show of a difference."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from .alignment import SHAPES, Aligned
from .descent import Descent

RANDOM = re.compile("normal|uniform|rand")


class Difference(NamedTuple):
    """``kind`` as in the vocabulary (``trace_difference``); the numbers of the quantities of port
    and reference where they part, and those that only one of them computes (``lacking``: of the
    reference, ``added``: of the port); ``operands`` of the port and the reference that differ;
    ``phase`` is 0 for the prompt, N for the N-th decoded position."""

    kind: str
    port: int
    reference: int | None
    phase: int
    lacking: Sequence[int] = ()
    added: Sequence[int] = ()
    operands: tuple[int, int] | None = None
    beside: int | None = None
    """The operation of the port to show, if its line is not that of ``port``; ``across`` that of
    the reference."""
    across: int | None = None
    """The operation of the reference to show, if another one."""
    meets: tuple[int, int] | None = None
    """Quantities of port and reference that are handed over, or done later: the line to show is in
    the function that has to do with both."""


class Placed:
    """Places a difference: at the line that chooses an operand, gives the order of its numbers,
    or makes it."""

    def __init__(self, port: Aligned, reference: Aligned) -> None:
        self._port, self._reference = port, reference

    def placed(self, one: Difference) -> Difference:
        """A difference with the operations whose lines are to be shown."""
        at, other, operands = one.port, one.reference, one.operands
        if at < self._port.trace.built and RANDOM.search(self._port.quantity(at).op):
            return Difference("other-weight", at, other, one.phase)
        if one.kind == "other-mask":
            return one._replace(beside=self._mask(at))
        if one.kind == "missing-operation" and operands is not None:
            pair = Descent(self._port, self._reference).parting(*operands)
            if pair is not None and self._alike(*pair):
                return Difference("other-operand", at, one.across or other, one.phase,
                                  operands=operands, beside=pair[0], across=pair[1])  # fmt: skip
        if one.kind == "other-operand" and operands and self._held(operands[1], at):
            made = (base(self._port, operands[0]), base(self._reference, operands[1]))
            return one._replace(meets=made)
        if one.kind in ("other-operand", "other-layout") and other is not None:
            pairs = [operands] if operands else self._pairs(at, other)
            found = [Descent(self._port, self._reference).parting(*each) for each in pairs]
            known = [each for each in found if each is not None]
            if known:
                first = min(known, key=lambda each: each[0] >= self._port.trace.built)
                return one._replace(beside=first[0], across=first[1])
        return one

    def _alike(self, mine: int, theirs: int) -> bool:
        one, two = self._port.quantity(mine), self._reference.quantity(theirs)
        positions = not (one.dtype + two.dtype).count("float") and one.shape == two.shape
        return one.phase == two.phase and (one.op == two.op or positions)

    def _held(self, wanted: int, before: int) -> bool:
        """Whether the port has the operand that it should have taken."""
        number = self._reference.standard(wanted)
        return number >= 0 and number in self._port.standards[:before]

    def _mask(self, at: int) -> int:
        """The operation that first makes a mask as none of the reference is."""
        known = known_masks(self._reference, self._port.quantity(at).phase)
        while True:
            inputs = self._port.quantity(at).inputs
            more = [each for each in inputs if (own := self._port.quantity(each).patterns)
                    and not known & {*own}]  # fmt: skip
            if not more:
                return at
            at = more[0]

    def _pairs(self, at: int, other: int) -> list[tuple[int, int]]:
        """The same operands of both operations."""
        theirs = {self._reference.standard(each): each
                  for each in self._reference.quantity(other).inputs}  # fmt: skip
        return [(each, theirs[number]) for each in self._port.quantity(at).inputs
                if (number := self._port.standard(each)) in theirs and number >= 0]  # fmt: skip


def known_masks(reference: Aligned, phase: int) -> set[int]:
    """The patterns of all masks of a phase."""
    return {pattern for two in reference.trace.quantities if two.phase == phase
            for pattern in two.patterns}  # fmt: skip


def base(found: Aligned, at: int) -> int:
    """The quantity that one has the numbers of."""
    while found.quantity(at).op in SHAPES and found.quantity(at).inputs:
        at = found.quantity(at).inputs[0]
    return at
