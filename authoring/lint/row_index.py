"""Finds the error rows that match a fact, quickly enough to try every sample against every row."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ...engine.compiler.row_match import MatchTests, Owners, match_tests
from ...engine.compiler.source.knowledge_source import Item
from ...engine.inference.patterns import FactCheck, compile_pattern
from ...engine.inference.program import Pattern, Test
from ...engine.inference.rule_index import by_piece, contained
from ...facts import Fact
from ...facts.required_text import required_texts


class _Check(NamedTuple):
    row: str
    required: tuple[str, ...]
    passes: FactCheck


class RowIndex:
    """The rows of a knowledge base, ready to be matched; refinement is left aside. A row is tried
    only on texts that contain what its pattern requires."""

    def __init__(self, rows: Mapping[str, Item], owners: Owners) -> None:
        self._own: dict[str, list[tuple[str, FactCheck]]] = defaultdict(list)
        checks: dict[str, list[_Check]] = defaultdict(list)
        for name, item in rows.items():
            for kind, tests in match_tests(item, owners):
                check = compile_pattern(Pattern(kind, tuple(Test(*t) for t in tests), (), False))
                self._own[name].append((kind, check))
                checks[kind].append(_Check(name, _required((kind, tests)), check))
        self._by_kind = {kind: _OfKind(each) for kind, each in checks.items()}

    def matches(self, name: str, facts: Sequence[Fact]) -> bool:
        """Whether one row matches one of the facts."""
        return any(
            kind == fact.kind and check(dict(fact.values)) is True
            for fact in facts
            for kind, check in self._own[name]
        )

    def may_match(self, text: str) -> bool:
        """False if a fact read from the text cannot match any row."""
        return any(any(kind.that_may_pass(text)) for kind in self._by_kind.values())

    def matched(self, fact: Fact) -> set[str]:
        """All rows that match a fact."""
        checks = self._by_kind.get(fact.kind)
        if checks is None:
            return set()
        values = dict(fact.values)
        ahead = checks.that_may_pass(str(values.get("text", "")))
        return {check.row for check in ahead if check.passes(values) is True}


class _OfKind:
    """The checks of one kind of facts."""

    def __init__(self, checks: Sequence[_Check]) -> None:
        self._checks = checks
        self._always = [check for check in checks if not check.required]
        self._by_text = by_piece([(t, n) for n, check in enumerate(checks) for t in check.required])

    def that_may_pass(self, text: str) -> Iterator[_Check]:
        yield from self._always
        for number in contained(self._by_text, text):
            yield self._checks[number]


def _required(match: MatchTests) -> tuple[str, ...]:
    return next((required_texts(x) for n, op, x in match[1] if (n, op) == ("text", "matches")), ())
