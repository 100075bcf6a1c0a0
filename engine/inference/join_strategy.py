"""The interface of join strategies, which turn rows of facts into matches of a rule within a budget
of work."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...facts import Value
from .derivation import UNLIMITED, OutOfTime, Work
from .rule_plan import RulePlan
from .working_memory import Match

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol
else:
    Protocol = object


class TooMuchWork(Exception):
    """The joins of a run make more partial matches than it may."""


class BeyondLimits(Exception):
    """A strategy cannot carry a join; the native one takes over."""


class Row:
    """The facts (``matches``) that bind the variables of a slot to the same ``values``; ``key``
    compares like the values, but tells truth values from numbers."""

    __slots__ = ("key", "matches", "values")

    def __init__(self, values: tuple[Value, ...], key: tuple[object, ...]) -> None:
        self.values = values
        self.key = key
        self.matches: list[Match] = []


Rows = tuple[Row, ...]
"""A match of a rule, or of its first slots: a row for each, in join order."""


class Budget:
    """The partial matches that the joins of one run may still make."""

    __slots__ = ("left", "work")

    def __init__(self, most: int, work: Work = UNLIMITED) -> None:
        self.left = most
        self.work = work

    def spend(self, count: int) -> None:
        """Raises :class:`TooMuchWork` where so many are not left, :class:`.OutOfTime` where there
        is no time for them."""
        self.left -= count
        if self.left < 0:
            raise TooMuchWork
        if not self.work.goes_on(count):
            raise OutOfTime


class RuleJoin(Protocol):
    """The join of one rule in one run."""

    def extend(self, rows: Sequence[tuple[int, Row]]) -> Sequence[Rows]:
        """Take rows, each with its place in the join order; return the matches that are new.
        Raises :class:`TooMuchWork` and :class:`BeyondLimits`."""

    def close(self) -> None:
        """Free what it holds. A second call does nothing."""


JoinStrategy = Callable[[RulePlan, Budget, int], RuleJoin | None]
"""Starts the join of a rule that has so many combinations of candidates; None leaves it to the
native strategy."""
