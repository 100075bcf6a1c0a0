"""Looks for the test that is missing: facts on which an entry and its mutant come out differently.

The case found expects what the entry does today: whether that is right is for a person to decide.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from ...engine.compiler.build import Built
from ...engine.compiler.source.cases import Case
from ...engine.diagnosis.consultation import Consultation
from ...engine.diagnosis.findings import concluded_facts, confidence
from ...engine.inference.patterns import compile_pattern
from ...engine.inference.program import Pattern, Test
from ...facts import Fact, Location, Value
from ..testing.case_runner import case_facts
from ..testing.fabricate import blockers, facts_for, variations
from ..testing.judge import Judge
from ..testing.values import Condition, Pool
from .fault import Fault
from .slices import concluded
from .trials import Trial, Trials

MAX_BASES = 14
MAX_TRIED = 300


class Witness(NamedTuple):
    """A case in the form of a test file."""

    entry: str
    kind: str
    facts: tuple[dict[str, Any], ...]
    expect: dict[str, Any]

    def case(self, name: str) -> Case:
        """The case under a name."""
        return Case.model_validate(self.plain(name))

    def plain(self, name: str) -> dict[str, Any]:
        """Its form in a test file."""
        plain = {"name": name, "kind": self.kind, "entry": self.entry, "facts": [*self.facts]}
        return plain | ({"expect": self.expect} if self.expect else {})


class Outcome(NamedTuple):
    """The outcome of facts: whether the entry fires or is unknown, the diagnoses that hold, with
    their confidence, and that are ruled out, and all other facts."""

    kind: str
    holds: Mapping[str, str]
    out: frozenset[str]
    facts: frozenset[Fact]


class Witnesses:
    """Searches for missing tests."""

    def __init__(self, built: Built, trials: Trials) -> None:
        self._vocabulary = built.vocabulary
        self._patterns = built.forms.patterns
        self._trials = trials
        self._slices = trials.slices
        self._donors: dict[str, tuple[Trial, Fact] | None] = {}

    def shown(self, fault: Fault, known: Iterable[Witness]) -> bool:
        """Whether one of some cases fails on the mutant already."""
        return any(self._trials.fails(fault, self._trial(witness)) for witness in known)

    def _trial(self, witness: Witness) -> Trial:
        case = witness.case("new")
        return self._trials.trial(case, case_facts(case, self._vocabulary))

    def find(self, fault: Fault) -> Witness | None:
        """A case that passes on the knowledge as it is and fails on the mutant."""
        lost, come = self._slices.difference(fault)
        gone, alone = {rule.id for rule in lost}, self._slices.backend(come)
        tried: set[tuple[Fact, ...]] = set()
        for facts in islice(self._candidates(fault), MAX_TRIED):
            key = tuple(sorted(set(facts), key=Fact.sort_key))
            if key in tried or not self._valid(key):
                continue
            tried.add(key)
            consultation = self._trials.doctor.consult(key)
            differs = not gone.isdisjoint(self._trials.fired(consultation))
            if not differs and not (alone and alone.derive(consultation.facts).firings):
                continue
            witness = self._tells_apart(fault, key)
            if witness is not None:
                return self._smaller(fault, key, witness)
        return None

    def _candidates(self, fault: Fault) -> Iterator[list[Fact]]:
        lost, come = self._slices.difference(fault)
        changed = [[Condition.of(x, self._patterns) for x in r.literals] for r in (*come, *lost)]
        every = [literal for literals in changed for literal in literals]
        pool = Pool(self._vocabulary, every)
        blocking = list(dict.fromkeys(blockers(self._vocabulary, every, pool)))[:MAX_BASES]
        known = list(self._known(fault.item.id))
        made = [facts for literals in changed[:MAX_BASES] for facts in self._made(literals, pool)]
        bases = [*made, *([*facts, fact] for facts in made for fact in blocking), *known]
        if fault.item.form == "error":
            bases.reverse()  # real messages before made-up ones
        yield from bases
        yield from ([*base, fact] for base in known for fact in blocking)
        queues = [variations(base, pool, self._vocabulary.kinds) for base in bases]
        while queues:  # in turn, so that no base takes all the time
            for queue in list(queues):
                found = next(queue, None)
                if found is None:
                    queues.remove(queue)
                else:
                    yield found

    def _known(self, entry: str) -> Iterator[list[Fact]]:
        """The facts of cases and samples of the entry, the smallest first."""
        own = [t.given for t in self._trials.all if t.case.entry == entry]
        own += [tuple(facts) for sample, facts in self._trials.of_samples(entry) if sample.wanted]
        yield from (list(facts) for facts in sorted(own, key=len)[:MAX_BASES])

    def _made(self, literals: Sequence[Condition], pool: Pool) -> Iterator[list[Fact]]:
        """Facts that satisfy an alternative; derived facts are made from those of a case."""
        donated: list[Fact] = []
        bound: dict[str, Value] = {}
        for literal in literals:
            if self._vocabulary.kinds[literal.kind].derived and literal.mode == "match":
                donor = self._donor(literal)
                if donor is None:
                    return
                trial, fact = donor
                donated += trial.given
                known = dict(fact.values)
                bound |= {variable: known[n] for n, variable in literal.joins if n in known}
        made = facts_for(self._vocabulary, literals, pool, bound)
        if made is not None:
            yield [*made, *donated]

    def _donor(self, literal: Condition) -> tuple[Trial, Fact] | None:
        """The smallest case in which some fact passes the literal, and that fact."""
        key = f"{literal.kind} {literal.tests}"
        if key not in self._donors:
            tests = tuple(Test(*test) for test in literal.tests)
            passes = compile_pattern(Pattern(literal.kind, tests, (), False))
            found = (
                (trial, fact)
                for trial in self._trials.all
                for fact in trial.final
                if fact.kind == literal.kind and passes(dict(fact.values))
            )
            self._donors[key] = min(found, key=lambda pair: len(pair[0].given), default=None)
        return self._donors[key]

    def _valid(self, facts: Iterable[Fact]) -> bool:
        where = Location("")
        return not any(self._vocabulary.problems(_plain(fact), where) for fact in facts)

    def _tells_apart(self, fault: Fault, facts: Sequence[Fact]) -> Witness | None:
        consultation = self._trials.doctor.consult(facts)
        entry = fault.item.id
        fired = self._trials.fired(consultation)
        around = self._slices.around(fault, consultation.facts, fired, entry)
        judge = self._trials.judge_of(fault, around)
        if judge is None:
            return None
        right = _outcome(self._trials.judge, entry, consultation)
        wrong = _outcome(judge, entry, judge.doctor.consult(facts))
        mine = {n for rule in self._slices.original(entry) for n in concluded(rule)}
        expect = {field: what for field, what in _expectation(right, wrong, mine).items() if what}
        if right.kind == wrong.kind and not expect:
            return None
        witness = Witness(entry, right.kind, tuple(map(self._without_defaults, facts)), expect)
        trial = self._trial(witness)
        passes = not any(self._trials.judge.case(trial.case, trial.given))
        return witness if passes and any(judge.case(trial.case, trial.given)) else None

    def _without_defaults(self, fact: Fact) -> dict[str, Any]:
        attributes = self._vocabulary.kinds[fact.kind].attributes
        return {"kind": fact.kind} | {
            name: value for name, value in fact.values if attributes[name].default is not value
        }

    def _smaller(self, fault: Fault, facts: Sequence[Fact], witness: Witness) -> Witness:
        """The witness with as few facts as still show the fault."""
        kept = list(facts)
        for fact in facts:
            fewer = [f for f in kept if f != fact]
            found = self._tells_apart(fault, fewer) if fewer else None
            if found is not None and (found.kind == witness.kind or witness.expect):
                kept, witness = fewer, found
        return witness


def _outcome(judge: Judge, entry: str, consultation: Consultation) -> Outcome:
    holds, out = concluded_facts(consultation.facts)
    steps = consultation.explanations.steps
    kind = "unknown" if judge.unknown(entry, consultation) else "silent"
    return Outcome(
        "fires" if judge.fires(entry, consultation) else kind,
        {name: confidence(steps(fact)) for name, fact in holds.items()},
        frozenset(out),
        frozenset(f for f in consultation.facts if f.kind != "diagnosis"),
    )


def _expectation(right: Outcome, wrong: Outcome, mine: set[str]) -> dict[str, Any]:
    """The expectation of a case besides its kind: the most significant difference."""
    if "fires" in (right.kind, wrong.kind) and right.kind != wrong.kind:
        return {"concludes": sorted(right.holds.keys() & mine)} if right.kind == "fires" else {}
    found: tuple[dict[str, Any], ...] = (
        {
            "concludes": sorted(right.holds.keys() - wrong.holds.keys()),
            "ruled_out": sorted(right.out - wrong.out),
        },
        {"silent": sorted(wrong.holds.keys() - right.holds.keys())},
        {"confidence": dict(sorted(right.holds.items() - wrong.holds.items()))},
        {"derives": _two(right.facts - wrong.facts)},
        {
            "absent": _two(wrong.facts - right.facts)
            + [_ruled_out(name) for name in sorted(wrong.out - right.out)]
        },
    )
    return next((expect for expect in found if any(expect.values())), {})


def _two(facts: Iterable[Fact]) -> list[dict[str, Any]]:
    return [_plain(fact) for fact in sorted(facts, key=Fact.sort_key)[:2]]


def _ruled_out(name: str) -> dict[str, Any]:
    return {"kind": "diagnosis", "name": name, "holds": False}


def _plain(fact: Fact) -> dict[str, Any]:
    return {"kind": fact.kind, **dict(fact.values)}
