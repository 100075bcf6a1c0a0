"""The native join strategy: an incremental hash join along the join order of a rule.

Each step keeps the partial matches of the slots before it and the rows of its own slot, both by the
values of the variables that they share. A new row meets what is on the other side, and what they
make goes on to the next step. So every partial match is made once, in whatever order rows come.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

from .join_strategy import Budget, Row, Rows
from .rule_plan import JoinStep, RulePlan

Key = object


class HashJoin:
    """The join of one rule in one run; see :class:`.join_strategy.RuleJoin`."""

    def __init__(self, plan: RulePlan, budget: Budget) -> None:
        self._steps = [_Step(step) for step in plan.steps]
        self._budget = budget

    def extend(self, rows: Sequence[tuple[int, Row]]) -> Sequence[Rows]:
        """Take rows; the matches that are new."""
        if len(self._steps) == 1:
            return self._pairs(rows)
        found: list[Rows] = []
        for place, row in rows:
            found += self._onward(place, self._meet(place, row))
        return found

    def _pairs(self, rows: Sequence[tuple[int, Row]]) -> Sequence[Rows]:
        """The same where there are two slots: the usual join, without partial matches."""
        (step,) = self._steps
        found: list[Rows] = []
        for place, row in rows:
            if place:
                key = step.right_key(row)
                step.rows.setdefault(key, []).append(row)
                partials = step.partials.get(key)
                new = [(first, row) for (first,) in partials] if partials else ()
            else:
                partial = (row,)
                key = step.left_key(partial)
                step.partials.setdefault(key, []).append(partial)
                others = step.rows.get(key)
                new = [(row, other) for other in others] if others else ()
            if new:
                self._budget.spend(len(new))
                found += new
        return found

    def _meet(self, place: int, row: Row) -> list[Rows]:
        """The partial matches that a row completes up to its own slot."""
        if place == 0:
            return [(row,)]
        step = self._steps[place - 1]
        key = step.right_key(row)
        step.rows.setdefault(key, []).append(row)
        found = [(*partial, row) for partial in step.partials.get(key, ())]
        self._budget.spend(len(found))
        return found

    def _onward(self, place: int, partials: list[Rows]) -> list[Rows]:
        """Extend partial matches up to a slot by the rows of all later slots."""
        for step in self._steps[place:]:
            grown: list[Rows] = []
            for partial in partials:
                key = step.left_key(partial)
                step.partials.setdefault(key, []).append(partial)
                rows = step.rows.get(key)
                if rows:
                    self._budget.spend(len(rows))
                    grown += [(*partial, row) for row in rows]
            partials = grown
            if not partials:
                break
        return partials

    def close(self) -> None:
        """Nothing to free."""


class _Step:
    """One step of a join with its two memories."""

    __slots__ = ("left_key", "partials", "right_key", "rows")

    def __init__(self, step: JoinStep) -> None:
        self.left_key = _left_key(step.left)
        self.right_key = _right_key(step.right)
        self.partials: dict[Key, list[Rows]] = {}
        self.rows: dict[Key, list[Row]] = {}


@lru_cache(maxsize=1024)
def _left_key(left: Sequence[tuple[int, int]]) -> Callable[[Rows], Key]:
    if len(left) == 1:
        ((place, number),) = left
        return lambda rows: rows[place].key[number]
    return lambda rows: tuple([rows[place].key[number] for place, number in left])


@lru_cache(maxsize=1024)
def _right_key(right: Sequence[int]) -> Callable[[Row], Key]:
    if len(right) == 1:
        (number,) = right
        return lambda row: row.key[number]
    return lambda row: tuple([row.key[number] for number in right])
