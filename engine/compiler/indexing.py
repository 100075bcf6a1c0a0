"""Builds the index of a rule set: patterns by kind and value, rules by what they wait for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from ...facts import Value
from ..inference.operators import identity
from ..inference.program import Conclusion, Pattern, Rule, Test
from ..inference.rule_index import AlphaTable, NetworkIndex, Signal, by_piece, goal
from .source.expressions import analysed
from .store.compiled import lookups, waiting_rules


def waits_of(
    rules: Sequence[Rule], others: Mapping[Signal, int] | None = None
) -> list[tuple[Signal, ...]]:
    """List the signals of the positive literals of each rule, rare ones first: a fact that many
    rules mention then wakes few of them. ``others`` counts the literals of further rules."""
    uses = Counter(others or {})
    uses.update((x.mode, x.pattern) for r in rules for x in r.literals)
    found: list[tuple[Signal, ...]] = []
    for rule in rules:
        positive = (x for x in rule.literals if x.mode in ("match", "refuted"))
        waits: set[Signal] = {(x.mode, x.pattern) for x in positive}
        found.append(tuple(sorted(waits, key=lambda signal: (uses[signal], signal))))
    return found


def index_rules(patterns: Sequence[Pattern], rules: Sequence[Rule]) -> NetworkIndex:
    """The index of a rule set (whose rules have their ``waits``)."""
    modes = {(x.mode, x.pattern) for rule in rules for x in rule.literals}
    first_watch, uses = lookups(waiting_rules(rule.waits for rule in rules))
    return NetworkIndex(
        first_watch,
        [number for number, rule in enumerate(rules) if not rule.waits],
        alpha(patterns),
        frozenset(p for mode, p in modes if mode == "unless_possible"),
        frozenset(p for mode, p in modes if mode == "refuted"),
        concluding(rule.conclusions for rule in rules),
        uses,
        frozenset(conclusion.kind for rule in rules for conclusion in rule.conclusions),
    )


def concluding(conclusions: Iterable[Sequence[Conclusion]]) -> dict[str, list[int]]:
    """The numbers of the rules with these conclusions, by what they conclude."""
    found: dict[str, list[int]] = {}
    for number, each in enumerate(conclusions):
        for kind, values, _ in each:
            found.setdefault(goal(kind, dict(values)), []).append(number)
    return found


_Table = tuple[
    list[int], dict[str, dict[tuple[str, Value], list[int]]], dict[str, list[tuple[str, int]]]
]


def alpha(patterns: Sequence[Pattern], first: int = 0) -> dict[str, AlphaTable]:
    """Patterns, numbered from ``first``, by kind and by one test, so that cost follows matches, not
    rules."""
    tables: dict[str, _Table] = {}
    for number, pattern in enumerate(patterns, first):
        general, by_value, by_text = tables.setdefault(pattern.kind, ([], {}, {}))
        if test := _choice(pattern):
            values = test.operand if test.op == "in" else [test.operand]
            numbers = by_value.setdefault(test.attribute, {})
            for key in dict.fromkeys(identity(value) for value in values):
                numbers.setdefault(key, []).append(number)
        elif found := _text(pattern):
            attribute, texts = found
            by_text.setdefault(attribute, []).extend((text, number) for text in texts)
        else:
            general.append(number)
    indexed: dict[str, AlphaTable] = {}
    for kind in sorted(tables):
        general, by_value, by_text = tables[kind]
        pieces = {attribute: by_piece(pairs) for attribute, pairs in by_text.items()}
        indexed[kind] = AlphaTable(general, by_value, pieces)
    return indexed


def merged(below: AlphaTable, more: AlphaTable) -> AlphaTable:
    """An index with that of patterns of higher numbers."""
    by_value = {name: {**numbers} for name, numbers in below.by_value.items()}
    for name, found in more.by_value.items():
        known = by_value.setdefault(name, {})
        for value, numbers in found.items():
            known[value] = [*known.get(value, ()), *numbers]
    by_text = {name: {**pairs} for name, pairs in below.by_text.items()}
    for name, texts in more.by_text.items():
        pieces = by_text.setdefault(name, {})
        for piece, pairs in texts.items():
            pieces[piece] = [*pieces.get(piece, ()), *pairs]
    return AlphaTable([*below.general, *more.general], by_value, by_text)


def _choice(pattern: Pattern) -> Test | None:
    """The test by which facts are looked up: an equality, else a choice of values. Of a pattern
    that facts can contradict, only a test of the key counts: facts about another key do not matter,
    those that fail other tests do."""
    tests = [pattern.tests[i] for i in pattern.pinned]
    if not pattern.contradictable:
        tests += pattern.tests
    wanted = [t for t in tests if t.op == "eq"] or [t for t in tests if t.op == "in"]
    return wanted[0] if wanted else None


def _text(pattern: Pattern) -> tuple[str, tuple[str, ...]] | None:
    """An attribute and texts, at least one of which it must contain for the pattern to pass."""
    if pattern.contradictable:
        return None
    tests = [t for t in pattern.tests if t.op == "matches"]
    single = [(t.attribute, (analysed(t.operand).text,)) for t in tests]
    longest = max(single, key=lambda item: len(item[1][0]), default=None)
    if longest and any(longest[1]):
        return longest
    found = [(t.attribute, analysed(t.operand).texts) for t in tests]
    return min((each for each in found if each[1]), key=lambda each: len(each[1]), default=None)
