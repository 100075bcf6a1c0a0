"""Boundary cases, generated when tests run: facts just inside each condition, and just outside.

For each compiled rule facts are made that just satisfy it. Then one of them is changed at a time: a
value moved across its bound or out of its set, an attribute or a whole fact left out. The oracle
says from the YAML whether the rule holds, is unknown or contradicted, and the engine must agree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from ...engine.compiler.source.knowledge_source import Item, KnowledgeSource
from ...engine.diagnosis.consultation import Consultation
from ...engine.diagnosis.diagnoser import Diagnoser
from ...engine.inference.program import Rule
from ...facts import Fact
from .fabricate import blockers, facts_for, series_of, variations
from .oracle import Oracle, Part
from .values import Condition, Pool

MAX_SETS = 400
"""Sets of facts for one alternative of a rule."""
_SAID = {True: "true", False: "false", None: "unknown"}


class Checked(NamedTuple):
    """The results of the cases of one entry: their number, the number of compiled rules that
    ``fired`` in some of them, the ids of those that ``never`` did, and the failures."""

    cases: int
    fired: int
    never: tuple[str, ...]
    failures: tuple[str, ...]


class BoundaryCases:
    """Generates the cases of entries and judges them. ``examples`` gives written facts for an
    entry: samples of its messages, and cases. They are the base if no facts can be generated or
    facts have to be joined."""

    def __init__(
        self,
        doctor: Diagnoser,
        source: KnowledgeSource,
        examples: Callable[[Item], Iterable[Sequence[Fact]]] = lambda item: (),
    ) -> None:
        self._doctor = doctor
        self._vocabulary = doctor.base.vocabulary
        self._examples = examples
        self._oracle = Oracle(self._vocabulary, source)
        self._compiled = {rule.entry for rule in doctor.base.program.rules}
        self._rules: dict[str, list[int]] = {}
        for index, rule in enumerate(doctor.base.program.rules):
            self._rules.setdefault(rule.id.partition("#")[0], []).append(index)

    def check(self, item: Item) -> Checked:
        """Generate the cases of an entry and run them; none for one that does not compile."""
        if item.id not in self._compiled:
            return Checked(0, 0, (), ())
        count = 0
        fired: set[int] = set()
        failures: list[str] = []
        mine: list[int] = []
        examples = [list(facts) for facts in self._examples(item)]
        for part in self._oracle.parts(item):
            numbers = self._rules.get(part.rule, [])
            mine += numbers
            if not numbers:
                failures.append(f"{part.rule} was not compiled")
            for facts in self._sets(part, numbers, examples):
                count += 1
                consultation = self._doctor.consult(facts)
                came = {firing.rule for firing in consultation.derivation.firings}
                fired |= came.intersection(numbers)
                failures += self._judged(part, numbers, came, consultation, facts)
        never = [self._doctor.base.program.rules[n].id for n in mine if n not in fired]
        return Checked(count, len(fired), tuple(never), tuple(failures))

    def _judged(
        self,
        part: Part,
        numbers: Sequence[int],
        came: set[int],
        consultation: Consultation,
        facts: Sequence[Fact],
    ) -> Iterator[str]:
        truth = part.truth(self._oracle.facts(consultation.facts))
        rules = [self._doctor.base.program.rules[n] for n in numbers]
        shown = "; ".join(map(str, facts)) or "no facts"
        if came.isdisjoint(numbers) == (truth is True):
            verb = "does not fire" if truth else "fires"
            yield f"{part.rule} {verb}, but its condition is {_SAID[truth]} on: {shown}"
        elif truth is True:
            there = [fact.plain() for fact in consultation.facts]
            for wanted in part.concludes:
                if not any(wanted.items() <= fact.items() for fact in there):
                    yield f"{part.rule} does not derive {dict(wanted)} on: {shown}"
        elif not part.variables and _open(rules, consultation) != (truth is None):
            verb = "contradicted" if truth is None else "unknown"
            yield f"{part.rule} is {verb} for why-not, but {_SAID[truth]} on: {shown}"

    def _sets(
        self, part: Part, numbers: Iterable[int], examples: Sequence[list[Fact]]
    ) -> Iterator[list[Fact]]:
        """Sets of facts for the alternatives of a part, each once."""
        seen: set[frozenset[Fact]] = set()
        for number in numbers:
            made = 0
            for facts in self._around(part, self._doctor.base.program.rules[number], examples):
                key = frozenset(facts)
                if key not in seen and made < MAX_SETS:
                    seen.add(key)
                    made += 1
                    yield facts

    def _around(
        self, part: Part, rule: Rule, examples: Sequence[list[Fact]]
    ) -> Iterator[list[Fact]]:
        """Facts that satisfy a rule, and those that differ from them in one point."""
        kinds = self._vocabulary.kinds
        literals = [Condition.of(x, self._doctor.base.program) for x in rule.literals]
        pool = Pool(self._vocabulary, literals, part.constants)
        made = facts_for(self._vocabulary, literals, pool, {}, derived=True)
        if rule.form == "error":
            yield from examples
        if made is None or rule.variables:
            for facts in examples:
                yield facts
                yield from variations(facts, pool, kinds)
        if made is None:
            return
        yield made
        yield from variations(made, pool, kinds)
        for fact in blockers(self._vocabulary, literals, pool):
            yield [*made, fact]
        for literal in literals:
            if literal.mode == "aggregate":
                others = [fact for fact in made if fact.kind != literal.kind]
                for facts, _ in series_of(kinds[literal.kind], literal, pool):
                    yield [*others, *facts]


def _open(rules: Iterable[Rule], consultation: Consultation) -> bool:
    """Whether some way to a rule lacks only what is not known."""
    return any(not consultation.why_not.best_way(rule).contradicted for rule in rules)
