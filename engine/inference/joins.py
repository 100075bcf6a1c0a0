"""The joins of one run: combinations of facts that fill the slots of a rule.

Facts that bind the variables of a slot alike are one row; a strategy combines rows into matches of
the rule. The bound is the actual work: the number of different partial matches, of two slots or
more, along the join order of each rule. It depends neither on the order of facts nor on the
strategy, so neither does whether it is too much.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod

from .derivation import UNLIMITED, Work
from .hash_join import HashJoin
from .join_strategy import BeyondLimits, Budget, JoinStrategy, Row, Rows, RuleJoin, TooMuchWork
from .rule_plan import RulePlan
from .working_memory import Match


class Joins:
    """The joins of one run, by rule. ``strategy`` is asked first; it may refuse a rule, and where
    it comes to its limits all joins start again natively."""

    def __init__(self, most: int, strategy: JoinStrategy | None, work: Work = UNLIMITED) -> None:
        self._most = most
        self._work = work
        self._budget = Budget(most, work)
        self._strategy = strategy
        self._plans: dict[int, RulePlan] = {}
        self._joins: dict[int, RuleJoin] = {}
        self._rows: dict[int, Sequence[dict[tuple[object, ...], Row]]] = {}

    def start(self, plan: RulePlan, candidates: Sequence[Sequence[Match]]) -> Sequence[Rows]:
        """Begin to join a rule with the candidates of its slots; the matches that they make.
        Raises :class:`TooMuchWork`."""
        self._plans[plan.number] = plan
        self._rows[plan.number] = [{} for _ in plan.order]
        size = prod(map(len, candidates))
        join = self._strategy(plan, self._budget, size) if self._strategy else None
        self._joins[plan.number] = join or HashJoin(plan, self._budget)
        backwards = list(enumerate(plan.order))[::-1]  # the first slot then meets all others
        return self._extend(plan, [(place, m) for place, n in backwards for m in candidates[n]])

    def has(self, plan: RulePlan) -> bool:
        """Whether the join of a rule has begun."""
        return plan.number in self._joins

    def add(self, plan: RulePlan, slot: int, match: Match) -> Sequence[Rows]:
        """A further candidate for a slot; the matches that are new (some may come twice).
        Raises :class:`TooMuchWork`."""
        return self._extend(plan, [(plan.places[slot], match)])

    def close(self) -> None:
        """Free what strategies hold. A second call does nothing."""
        for join in self._joins.values():
            join.close()

    def _extend(self, plan: RulePlan, found: Iterable[tuple[int, Match]]) -> Sequence[Rows]:
        new = self._new_rows(plan, found)
        if not new:
            return ()
        try:
            return self._joins[plan.number].extend(new)
        except (BeyondLimits, TooMuchWork):
            if self._strategy is None:
                raise
            return self._start_again(plan)

    def _new_rows(
        self, plan: RulePlan, found: Iterable[tuple[int, Match]]
    ) -> list[tuple[int, Row]]:
        rows = self._rows[plan.number]
        new: list[tuple[int, Row]] = []
        for place, match in found:
            values = plan.positives[plan.order[place]].bind(match[1])
            if values is None:
                continue
            key = tuple([("b", v) if v is True or v is False else v for v in values])
            row = rows[place].get(key)
            if row is None:
                row = rows[place][key] = Row(values, key)
                new.append((place, row))
            row.matches.append(match)
        return new

    def _start_again(self, plan: RulePlan) -> Sequence[Rows]:
        """Join everything natively, from the rows that there are; all matches of one rule."""
        self.close()
        self._strategy = None
        self._budget = Budget(self._most, self._work)
        found: Sequence[Rows] = ()
        for number, rows in self._rows.items():
            join = self._joins[number] = HashJoin(self._plans[number], self._budget)
            places = list(enumerate(rows))[::-1]
            matches = join.extend(
                [(place, row) for place, by_key in places for row in by_key.values()]
            )
            if number == plan.number:
                found = matches
        return found
