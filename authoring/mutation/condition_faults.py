"""Faults in conditions.

A condition of the YAML may be part of several compiled rules. A fault of it is made in all of them:
in every literal that was compiled from its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from ...engine.compiler.alternatives import Path
from ...engine.compiler.build import Built
from ...engine.compiler.linking import origin
from ...engine.compiler.normal_form import Lowering
from ...engine.compiler.source.issues import OfPackage
from ...engine.compiler.source.knowledge_source import Item
from ...engine.inference.program import Aggregate, Literal, Rule, Test
from .attribute_faults import NEGATED, Edit, beyond, edits, moved, spelled
from .fault import Change, Fault, with_literals, without_implied

_NEGATIVE = ("refuted", "unless_possible", "unless_match")
_WRAPPERS = ("absent", "count", "series")


class ConditionFaults:
    """Makes the faults of the conditions of one entry with these ``rules``."""

    def __init__(self, built: Built, item: Item, rules: Sequence[Rule]) -> None:
        self._kinds = built.vocabulary.kinds
        self._patterns = built.forms.patterns
        self._places = built.forms.places
        self._item = item
        self._rules = rules
        self._lowering = Lowering(built.vocabulary, item, patterns=self._patterns)
        self.places: dict[Path, list[Literal]] = {}
        for rule in rules:
            for place, literal in self._placed(rule):
                if _is_condition(item, place, literal):
                    known = self.places.setdefault(place, [])
                    known += [literal] if literal not in known else []

    def all(self) -> Iterator[Fault]:
        """Every fault of every condition."""
        for place, literals in self.places.items():
            yield from self._test_faults(place, literals)
            for literal in literals:
                if literal.mode == "aggregate":
                    aggregate = self._patterns.aggregates[literal.pattern]
                    for edit, new in _aggregate_faults(aggregate):
                        other = literal._replace(pattern=self._patterns.aggregate(new))
                        yield self._fault(place, edit, _instead(literal, other))
            if place and self._item.form != "classification":
                yield from self._join_faults(place, literals)
                yield from self._dropped(place, literals)

    def groups(self, rule: Rule) -> dict[Path, list[Literal]]:
        """The literals of the conditions that a rule needs besides what it recognises."""
        found: dict[Path, list[Literal]] = {}
        for place, literal in self._placed(rule):
            if place and place in self.places:
                found.setdefault(place, []).append(literal)
        return found

    def _placed(self, rule: Rule) -> Iterator[tuple[Path, Literal]]:
        return zip(self._places[rule.id], rule.literals, strict=True)

    def _changed(self, place: Path, change: Change, rule: Rule) -> Rule:
        """The rule after a change of the literals from a place."""
        found = (change(x) if at == place else (x,) for at, x in self._placed(rule))
        return with_literals(rule, (x for new in found for x in new))

    def _fault(self, place: Path, edit: Edit, change: Change, *at: str) -> Fault:
        negative = self.places[place][0].mode in _NEGATIVE
        looser = edit.looser if edit.looser is None else edit.looser != negative
        rules = tuple(self._changed(place, change, rule) for rule in self._rules)
        return Fault(self._item, (*place, *at), *edit[:3], looser, rules)

    def _test_faults(self, place: Path, literals: Iterable[Literal]) -> Iterator[Fault]:
        seen: set[str] = set()
        for literal in literals:
            kind, tests, _, _ = self._patterns.of(literal)
            declared = self._kinds[kind]
            for test in tests:
                implied = test == (declared.polarity, "eq", True)
                if implied or kind == "diagnosis" or f"{kind} {test}" in seen:
                    continue
                seen.add(f"{kind} {test}")
                shared = self._is_bound(test)
                attribute = declared.attributes.get(test.attribute)
                for edit in _bound_faults(test) if shared else edits(attribute, test):
                    if edit.tests or place or len(tests) > 1:  # a row keeps one
                        change = self._retested(kind, test, edit.tests, shared)
                        fault = self._fault(place, edit, change, "where", test.attribute)
                        same = edit.changes_nothing(attribute, test)
                        yield fault._replace(equivalent=same)

    def _is_bound(self, test: Test) -> bool:
        """Whether a test is an end of a band, which moves with that of the next band."""
        banded = getattr(self._item.entry, "bands", None) and self._item.entry.attribute
        return test.attribute == banded and test.op in ("ge", "lt")

    def _retested(self, kind: str, test: Test, new: Sequence[Test], shared: bool) -> Change:
        """Replaces a test in the patterns of a kind; a ``shared`` bound with any operator."""

        def replaced(other: Test) -> Sequence[Test]:
            if shared and other._replace(op=test.op) == test:
                return [other._replace(operand=new[0].operand)]
            return new if repr(other) == repr(test) else [other]

        def change(literal: Literal) -> Sequence[Literal]:
            pattern = self._patterns.of(literal)
            if pattern.kind != kind:
                return [literal]
            tests = sorted((x for other in pattern.tests for x in replaced(other)), key=repr)
            number = self._lowering.passing(kind, tests, literal.joins).literals[0].pattern
            if literal.mode == "aggregate":
                counted = self._patterns.aggregates[literal.pattern]
                number = self._patterns.aggregate(counted._replace(pattern=number))
            return [literal._replace(pattern=number)]

        return change

    def _join_faults(self, place: Path, literals: Iterable[Literal]) -> Iterator[Fault]:
        compared = {g.left: f"{{{g.op}: ${g.right}}}" for rule in self._rules for g in rule.guards}
        for join in dict.fromkeys(join for literal in literals for join in literal.joins):
            said = f"{join[0]}: {compared.get(join[1], f'${join[1]}')}"
            edit = Edit("drop test", f"the test {said} is dropped", f"all holds but {said}", True)
            yield self._fault(place, edit, _without_join(join), "where", join[0])

    def _dropped(self, place: Path, literals: Sequence[Literal]) -> Iterator[Fault]:
        """The condition dropped from those that must all hold, or from alternatives; and its
        negation dropped."""
        said, item = self._said(place), self._item
        if (rules := self._without(place, True)) is not None:
            what, example = f"condition {said} is dropped", f"all holds but {said}"
            yield Fault(item, place, "drop condition", what, example, True, rules)
        if "any" in place and (rules := self._without(place, False)) is not None:
            what, example = (
                f"alternative {said} is dropped",
                f"of the alternatives only {said} holds",
            )
            yield Fault(item, place, "drop alternative", what, example, False, rules)
        if literals[0].mode == "refuted" and "not" in place:
            inner = self._said(place, negated=False)
            what, example = (
                f"the negation of {inner} is dropped",
                f"it is known that {inner} does not hold",
            )
            edit = Edit("flip operator", what, example, None)
            yield self._fault(place, edit, _affirmed)

    def _said(self, place: Path, negated: bool = True) -> str:
        """A condition as in the YAML, or as it would be written without the issue that stands for
        it."""
        item = self._item
        node: Any = item.document.data
        if isinstance(item.file, OfPackage):
            node = item.entry.model_dump(by_alias=True, exclude_defaults=True)
        path = place[:-1] if place[-1] in _WRAPPERS else place
        for step in path if isinstance(item.file, OfPackage) else (*item.path, *path):
            node = node[step]
        node = dict(sorted(node.items(), key=lambda part: part[0] == "as"))
        return spelled({"not": node} if negated and path[-1] == "not" else node)

    def _without(self, place: Path, holds: bool) -> tuple[Rule, ...] | None:
        """The rules if a condition always ``holds``, or never; None if one of them would fire
        without a condition, or never."""
        found: list[Rule] = []
        by_origin: dict[str, list[Rule]] = {}
        for rule in self._rules:
            by_origin.setdefault(origin(rule), []).append(rule)
        for alternatives in by_origin.values():
            left = []
            for rule in alternatives:
                mine = next((x for at, x in self._placed(rule) if at == place), None)
                if mine is None or _opposite(mine, place) != holds:
                    left.append(self._changed(place, lambda literal: (), rule))
            if not left or not all(rule.literals for rule in left):
                return None
            found += without_implied(left)
        return tuple(found)


def _is_condition(item: Item, place: Path, literal: Literal) -> bool:
    """Whether a literal comes from a written condition, not from a place in a tree, an answer to
    its questions, or an overlay."""
    if item.form == "tree":
        return len(place) > 2
    return literal.alias in ("m", "r") if not place else place[0] != "only_if"


def _opposite(literal: Literal, place: Path) -> bool:
    """Whether a literal holds if the condition at its place does not: in the 'no' branch of a
    tree."""
    negative = literal.mode in ("refuted", "unless_possible") or not literal.wanted
    negative |= place[-1] == "absent" and literal.mode == "match"
    return negative != bool(place.count("not") % 2)


def _instead(old: Literal, new: Literal) -> Change:
    return lambda literal: [new._replace(wanted=literal.wanted) if literal == old else literal]


def _without_join(join: tuple[str, str]) -> Change:
    return lambda x: [x._replace(joins=tuple(other for other in x.joins if other != join))]


def _affirmed(literal: Literal) -> Sequence[Literal]:
    if literal.mode == "unless_possible":
        return []
    return [literal._replace(mode="match")] if literal.mode == "refuted" else [literal]


def _bound_faults(test: Test) -> Iterator[Edit]:
    """An end of a band moved to either side, together with that of its neighbour."""
    bound = test.operand
    for sign in (-1, 1):
        new = moved(bound, sign, isinstance(bound, int))
        what = f"the bound {bound} between bands becomes {new}"
        example = f"={min(new, bound)} lies in its band"
        yield Edit("shift threshold", what, example, None, (test._replace(operand=new),))


def _aggregate_faults(old: Aggregate) -> Iterator[tuple[Edit, Aggregate]]:
    if not old.value:
        least, (_, _, name) = int(old.bound), old.function.partition(":")
        yield from _off_by_one("at_least", least, lambda n: old._replace(bound=float(n)))
        if name:
            what, example = f"distinct {name} is dropped", f"{least} facts have the same {name}"
            yield Edit("drop test", what, example, True), old._replace(function="count")
        return
    stat, op, bound = old.function, old.op, old.bound
    what, example = f"{stat} {op} {bound:g} becomes {NEGATED[op]}", f"{stat} is exactly {bound:g}"
    yield Edit("flip operator", what, example, op in ("lt", "gt")), old._replace(op=NEGATED[op])
    new, wider = beyond(op, bound, False)
    what, example = f"{stat} {op} {bound:g} becomes {op} {new}", f"{stat} just beyond {bound:g}"
    yield Edit("shift threshold", what, example, wider), old._replace(bound=new)
    yield from _off_by_one("min_points", old.min_points, lambda n: old._replace(min_points=n))


def _off_by_one(
    name: str, number: int, change: Callable[[int], Aggregate]
) -> Iterator[tuple[Edit, Aggregate]]:
    for other in filter(None, (number - 1, number + 1)):
        what, example = (
            f"{name} {number} becomes {other}",
            f"there are exactly {min(number, other)}",
        )
        yield Edit("shift threshold", what, example, other < number), change(other)
