"""Links rules into a program: strata, numbers of patterns, index."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ...facts import Location, Problem
from ..inference.program import Aggregate, Conclusion, Literal, Pattern, Program, Rule
from .alternatives import SharedPatterns
from .indexing import index_rules, waits_of
from .stratify import Dependencies, NegationCycleError, strata

Predicate = tuple[str, str]
"""A kind with its discriminating constant: ``?`` for a variable, ``*`` for all of the kind."""


def link(
    rules: Sequence[Rule],
    patterns: SharedPatterns,
    problems: list[Problem],
    where: Callable[[str], Location | None] = lambda entry: None,
) -> Program:
    """The program of some rules, with the patterns that they use. A negation cycle becomes a
    problem at the place of an entry (``where``), and its rules are dropped."""
    ordered = sorted(rules, key=origin)
    try:
        levels = strata([dependencies(rule, patterns) for rule in ordered])
    except NegationCycleError as error:
        on_cycle = set(error.cycle)
        guilty = next(rule for rule in ordered if origin(rule) in on_cycle)
        message = f"these rules negate what they derive: {' -> '.join(error.cycle)}"
        hint = "break the cycle: a negation may look only at lower rules"
        problems.append(Problem("MM242", message, where(guilty.entry), hint))
        return link([r for r in ordered if origin(r) not in on_cycle], patterns, problems, where)
    used = _Used(patterns)
    numbered = [
        rule._replace(stratum=level, literals=tuple([used.literal(x) for x in rule.literals]))
        for rule, level in zip(ordered, levels, strict=True)
    ]
    numbered.sort(key=lambda r: (r.stratum, r.id))
    linked = [r._replace(waits=w) for r, w in zip(numbered, waits_of(numbered), strict=True)]
    return Program(
        tuple(used.patterns),
        tuple(used.aggregates),
        tuple(linked),
        max(levels, default=-1) + 1,
        index_rules(used.patterns, linked),
    )


class _Used:
    """The patterns and aggregates that rules use, numbered in the order of their first use."""

    def __init__(self, every: SharedPatterns) -> None:
        self._every = every
        self._numbers: dict[int, int] = {}
        self._counted: dict[int, int] = {}
        self.patterns: list[Pattern] = []
        self.aggregates: list[Aggregate] = []

    def literal(self, literal: Literal) -> Literal:
        """The literal with its number here."""
        if literal.mode != "aggregate":
            return literal._replace(pattern=self._pattern(literal.pattern))
        number = self._counted.setdefault(literal.pattern, len(self.aggregates))
        if number == len(self.aggregates):
            counted = self._every.aggregates[literal.pattern]
            self.aggregates.append(counted._replace(pattern=self._pattern(counted.pattern)))
        return literal._replace(pattern=number)

    def _pattern(self, old: int) -> int:
        number = self._numbers.setdefault(old, len(self.patterns))
        if number == len(self.patterns):
            self.patterns.append(self._every.patterns[old])
        return number


def origin(rule: Rule) -> str:
    """The id that the alternatives of a rule have in common."""
    return rule.id.partition("#")[0]


def dependencies(rule: Rule, patterns: SharedPatterns) -> Dependencies:
    """The predicates that a rule derives and uses."""
    uses = {p for x in rule.literals if x.mode == "match" for p in inputs(x, patterns)}
    negates = {p for x in rule.literals if x.mode != "match" for p in inputs(x, patterns)}
    return Dependencies(origin(rule), derived(rule.conclusions), uses, negates)


def derived(conclusions: Iterable[Conclusion]) -> set[Predicate]:
    """The predicates that a rule derives: by constant (or '?' for a variable), and by kind."""
    found: set[Predicate] = set()
    for kind, values, _ in conclusions:
        constant = dict(values).get(_discriminator(kind), ())
        found |= {(kind, "?" if isinstance(constant, tuple) else repr(constant)), (kind, "*")}
    return found


def inputs(literal: Literal, patterns: SharedPatterns) -> set[Predicate]:
    """The predicates that a literal reads."""
    return read_by(patterns.of(literal))


def read_by(pattern: Pattern) -> set[Predicate]:
    """The predicates that may pass a pattern: facts with its constant and those derived with a
    variable, or all of the kind."""
    kind, tests, _, _ = pattern
    name = _discriminator(kind)
    constants = [repr(v) for n, op, v in tests if n == name and op == "eq"]
    return {(kind, constants[0]), (kind, "?")} if constants else {(kind, "*")}


def _discriminator(kind: str) -> str:
    """The attribute by which facts of a derived kind are told apart, so that a rule about one
    diagnosis does not count as depending on all others."""
    return {"diagnosis": "name", "classified": "classification", "tree_node": "tree"}.get(kind, "")
