"""A fault in the compiled rules of an entry, and how literals of a rule are changed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from ...engine.compiler.alternatives import Path, SharedPatterns
from ...engine.compiler.linking import origin
from ...engine.compiler.source.knowledge_source import Item
from ...engine.inference.program import Literal, Rule

Change = Callable[[Literal], Sequence[Literal]]
"""The replacement of a literal."""


class Fault(NamedTuple):
    """A mutant of an entry: its ``rules`` instead of the right ones.

    ``path`` leads to what is changed, ``what`` describes the change and ``example`` the facts that
    show it, or what a case must expect if it starts with '='. ``looser``: whether the entry holds
    for more facts than it should; None: for different ones. No facts show one that is
    ``equivalent``.
    """

    item: Item
    path: Path
    operator: str
    what: str
    example: str
    looser: bool | None
    rules: tuple[Rule, ...]
    equivalent: bool = False

    @property
    def case_name(self) -> str:
        """A name for the case that would notice."""
        name = self.example.removeprefix("=")
        return name if len(name) <= 100 else name[:97].rstrip() + "..."

    @property
    def missing(self) -> str:
        """The case that would notice, in words."""
        if self.example.startswith("="):
            return f"a case of {self.item.id} that expects {self.example[1:]}"
        kind = {True: "silent", False: "fires", None: "fires or silent"}[self.looser]
        return f"a {kind!r} case of {self.item.id}: {self.example}"

    @property
    def key(self) -> Any:
        """A key that is equal for faults with the same rules."""
        return frozenset(
            (origin(rule), frozenset(rule.literals), rule.guards, rule.conclusions)
            for rule in self.rules
        )

    def compiles(self, patterns: SharedPatterns) -> bool:
        """Whether the compiler could make such rules: it requires all variables bound, and negated
        patterns that something can contradict."""
        return all(
            _used(rule).issubset(rule.variables)
            and all(x.mode != "refuted" or patterns.of(x).contradictable for x in rule.literals)
            for rule in self.rules
        )


def with_literals(rule: Rule, literals: Iterable[Literal]) -> Rule:
    """A rule with other literals, and without guards that lose their variable."""
    kept = tuple(dict.fromkeys(literals))
    known = {variable for literal in kept for _, variable in literal.joins}
    bound = {v for literal in kept if literal.mode == "match" for _, v in literal.joins}
    guards = tuple(guard for guard in rule.guards if guard.left in known)
    return rule._replace(literals=kept, guards=guards, variables=tuple(sorted(bound)))


def without_implied(rules: Sequence[Rule]) -> list[Rule]:
    """Alternatives without those that need all that another one needs, and more."""
    needs = {frozenset((*rule.literals, *rule.guards)): rule for rule in reversed(rules)}
    return [rule for need, rule in needs.items() if not any(other < need for other in needs)]


def _used(rule: Rule) -> set[str]:
    joined = {variable for literal in rule.literals for _, variable in literal.joins}
    concluded = {v[0] for c in rule.conclusions for _, v in c.values if isinstance(v, tuple)}
    return joined | concluded | {guard.right for guard in rule.guards}
