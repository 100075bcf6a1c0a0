"""Strata: rules whose negations and aggregates look only at complete lower strata."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence

Predicate = Hashable


class NegationCycleError(Exception):
    """A rule depends on the negation of what it helps to derive; carries the cycle's rule ids."""

    def __init__(self, cycle: Sequence[str]) -> None:
        super().__init__(tuple(cycle))
        self.cycle = tuple(cycle)


class Dependencies:
    """The predicates that one rule derives and uses; see :func:`strata`."""

    def __init__(
        self,
        rule: str,
        derives: Iterable[Predicate],
        uses: Iterable[Predicate],
        negates: Iterable[Predicate],
    ) -> None:
        self.rule = rule
        self.derives = frozenset(derives)
        self.uses = frozenset(uses)
        self.negates = frozenset(negates)


def strata(
    rules: Sequence[Dependencies], below: Mapping[Predicate, int] | None = None
) -> list[int]:
    """The stratum of each rule: 0 if it negates nothing derived. ``below`` gives the strata of
    predicates that other rules derive.

    Raises :class:`NegationCycleError` if there is no stratification.
    """
    level: dict[Predicate, int] = dict(below or {})
    lowest = max(level.values(), default=0)
    for rule in rules:
        for predicate in rule.derives:
            level.setdefault(predicate, 0)
    # A level is higher than another by a negation only, and no chain has the same one twice.
    highest = lowest + sum(not rule.negates.isdisjoint(level) for rule in rules)
    result = [0] * len(rules)
    by_input = _users(rules, level)
    pending = list(range(len(rules)))
    while pending:
        index = pending.pop()
        rule = rules[index]
        wanted = max(
            [level[p] for p in rule.uses if p in level]
            + [level[p] + 1 for p in rule.negates if p in level],
            default=0,
        )
        if wanted > highest:
            raise NegationCycleError(_cycle(rules))
        if wanted > result[index]:
            result[index] = wanted
        for predicate in rule.derives:
            if level[predicate] < result[index]:
                level[predicate] = result[index]
                pending.extend(by_input.get(predicate, ()))
    return result


def _users(
    rules: Sequence[Dependencies], derived: Mapping[Predicate, int]
) -> dict[Predicate, list[int]]:
    users: dict[Predicate, list[int]] = {}
    for index, rule in enumerate(rules):
        for predicate in (rule.uses | rule.negates) & derived.keys():
            users.setdefault(predicate, []).append(index)
    return users


def _cycle(rules: Sequence[Dependencies]) -> list[str]:
    """A shortest chain of rules from one that negates something to one that derives it."""
    for start in rules:
        if not start.negates:
            continue
        paths: list[list[Dependencies]] = [[start]]
        seen = {start.rule}
        for path in paths:  # grows while it is walked: breadth first
            if path[-1].derives & start.negates:
                return [rule.rule for rule in path]
            for rule in rules:
                if rule.rule not in seen and (rule.uses | rule.negates) & path[-1].derives:
                    seen.add(rule.rule)
                    paths.append([*path, rule])
    raise AssertionError("no cycle through a negation")
