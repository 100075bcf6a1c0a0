"""Builds knowledge bases of the few rules that can matter to some facts.

With a faulty entry facts can come out differently only where rules fired that it no longer has, or
where new ones fire on what holds in the end; and then only the rules that fired before, the faulty
ones, and what builds on those can matter. The reference evaluator, which defines what rules mean,
runs on that handful.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ...engine.compiler.build import Built
from ...engine.compiler.knowledge_base import KnowledgeBase
from ...engine.compiler.linking import Predicate, derived, inputs, link, origin
from ...engine.compiler.reach import CaseReach
from ...engine.diagnosis.diagnoser import Diagnoser
from ...engine.inference.program import Rule
from ...engine.inference.reference import ReferenceBackend
from ...facts import Fact, Problem
from .fault import Fault


class Slices:
    """The rules of a knowledge base, by entry and by what they derive and use."""

    def __init__(self, built: Built) -> None:
        self.base = KnowledgeBase.of(built.compiled, "under test")
        self._built = built
        self._defaults = self.base.vocabulary.defaults
        self._rules: dict[str, list[Rule]] = {}
        self._of_entry: dict[str, list[Rule]] = {}
        self._users: dict[Predicate, list[str]] = {}
        self._derives: dict[str, set[Predicate]] = {}
        self._concluding: dict[str, list[str]] = {}
        for rule in built.rules:
            name = origin(rule)
            self._of_entry.setdefault(rule.entry, []).append(rule)
            self._rules.setdefault(name, []).append(rule)
            self._derives.setdefault(name, set()).update(derived(rule.conclusions))
            for literal in rule.literals:
                for predicate in inputs(literal, built.forms.patterns):
                    self._users.setdefault(predicate, []).append(name)
            for diagnosis in concluded(rule):
                self._concluding.setdefault(diagnosis, []).append(name)

    def original(self, entry: str) -> Sequence[Rule]:
        """The rules of an unchanged entry."""
        return self._of_entry.get(entry, ())

    def difference(self, fault: Fault) -> tuple[list[Rule], list[Rule]]:
        """The rules that a mutant lacks, and those that it adds. If none of the former fired and
        none of the latter fires, nothing differs."""
        before = {_said(rule): rule for rule in self.original(fault.item.id)}
        after = {_said(rule): rule for rule in fault.rules}
        lost = [rule for said, rule in before.items() if said not in after]
        return lost, [rule for said, rule in after.items() if said not in before]

    def backend(self, rules: Sequence[Rule]) -> ReferenceBackend | None:
        """An evaluator of some rules alone; None if they cannot be ordered."""
        problems: list[Problem] = []
        program = link(rules, self._built.forms.patterns, problems)
        return None if problems else ReferenceBackend(program, self._defaults)

    def around(
        self, fault: Fault, final: Sequence[Fact], fired: Iterable[str], asked: str
    ) -> frozenset[str]:
        """The rules beside the mutant that matter for facts that end as ``final`` without it, after
        the rules ``fired``, and for a question about the entry or diagnosis ``asked``."""
        names = {name.partition("#")[0] for name in fired}
        names.update(map(origin, self.original(asked)))
        names.update(self._concluding.get(asked, ()))
        names.update(self._above(fault, self.reach([final])))
        return frozenset(n for n in names if self._rules[n][0].entry != fault.item.id)

    def reach(self, cases: Sequence[Sequence[Fact]]) -> CaseReach:
        """The cases, of those given, that a rule can affect."""
        return CaseReach(cases, self.base.vocabulary.derived, self._built.forms.patterns)

    def doctor(self, fault: Fault, around: Iterable[str]) -> Diagnoser | None:
        """A diagnoser with the mutant and some other rules."""
        return self.small_doctor(
            [*(r for n in sorted(around) for r in self._rules[n]), *fault.rules]
        )

    def small_doctor(self, rules: Sequence[Rule]) -> Diagnoser | None:
        """A diagnoser with some rules alone; None if they cannot be ordered."""
        problems: list[Problem] = []
        program = link(rules, self._built.forms.patterns, problems)
        backend = ReferenceBackend(program, self._defaults)
        return None if problems else Diagnoser(self.base._replace(program=program), backend)

    def _above(self, fault: Fault, reach: CaseReach) -> Iterator[str]:
        """The rules that use what these derive, and so on, as far as the facts can reach them."""
        changed = (*self.original(fault.item.id), *fault.rules)
        queue = dict.fromkeys(p for rule in changed for p in derived(rule.conclusions))
        seen: set[str] = set()
        pending = list(queue)
        for predicate in pending:  # grows while it is walked
            for name in self._users.get(predicate, ()):
                if name not in seen and any(map(reach.of, self._rules[name])):
                    seen.add(name)
                    new = [p for p in self._derives[name] if p not in queue]
                    queue |= dict.fromkeys(new)
                    pending += new
                    yield name


def concluded(rule: Rule) -> Iterator[str]:
    """The diagnoses that a rule is about."""
    return (str(dict(c.values)["name"]) for c in rule.conclusions if c.kind == "diagnosis")


def _said(rule: Rule) -> tuple[object, ...]:
    return origin(rule), rule.literals, rule.guards, rule.conclusions
