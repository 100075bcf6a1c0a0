"""Looks for the test that is missing: facts on which an entry and its mutant come out differently.

The expectation of the case found is what the entry says today: whether that is right is for a
person to decide.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

from ....facts import Fact, Location
from ...diagnoser import Consultation
from ...findings import concluded_facts
from ...inference.reference import ReferenceBackend
from ...ir import Pattern, Test
from ...operators import compile_pattern
from .. import entries as e
from ..build import Built
from ..casework import case_facts
from ..compiler import distinct
from ..judge import Judge
from ..normal_form import Draft
from .fabricate import Pool, blockers, facts_for, variations
from .slices import Alternative, Faulty, concluded
from .trials import Trials

MAX_BASES = 14
MAX_TRIED = 300


class Witness(NamedTuple):
    """A case in the form of a test file."""

    entry: str
    kind: str
    facts: tuple[dict[str, Any], ...]
    expect: dict[str, Any]

    def case(self, name: str) -> e.Case:
        """The case under a name."""
        return e.Case.model_validate(self.plain(name))

    def plain(self, name: str) -> dict[str, Any]:
        """As it stands in a test file."""
        plain = {"name": name, "kind": self.kind, "entry": self.entry, "facts": [*self.facts]}
        return plain | ({"expect": self.expect} if self.expect else {})


class Outcome(NamedTuple):
    """How facts come out: whether the entry fires or is unknown, the diagnoses that hold and that
    are ruled out, and what else is derived."""

    fires: bool
    unknown: bool
    holds: frozenset[str]
    out: frozenset[str]
    derived: frozenset[Fact]


class Witnesses:
    """Searches for missing tests."""

    def __init__(self, built: Built, trials: Trials) -> None:
        self._vocabulary = built.vocabulary
        self._trials = trials
        self._slices = trials.slices
        self._donors_of: dict[str, list[Fact] | None] = {}
        self._latest: tuple[Faulty, Collection[Alternative], ReferenceBackend | None] | None = None

    def shown(self, faulty: Faulty, known: Iterable[Witness]) -> bool:
        """Whether one of some cases fails on the mutant already."""
        return any(self._fails(faulty, witness) for witness in known)

    def _fails(self, faulty: Faulty, witness: Witness) -> bool:
        case = witness.case("new")
        facts = case_facts(case, self._vocabulary)
        consultation = self._trials.doctor.consult(facts)
        fired = self._trials.fired(consultation)
        doctor = self._slices.doctor(faulty, consultation.facts, fired, faulty.item.id)
        return doctor is None or any(Judge(doctor, self._trials.inner).case(case, facts))

    def find(self, faulty: Faulty) -> Witness | None:
        """A case that passes on the knowledge as it is and fails on the mutant."""
        tried: set[tuple[Fact, ...]] = set()
        for facts in islice(self._candidates(faulty), MAX_TRIED):
            key = tuple(sorted(set(facts), key=Fact.sort_key))
            if key in tried:
                continue
            tried.add(key)
            if not self._valid(key):
                continue
            witness = self._tells_apart(faulty, key)
            if witness is not None:
                return self._smaller(faulty, key, witness)
        return None

    def _candidates(self, faulty: Faulty) -> Iterator[list[Fact]]:
        _, lost, come = self._slices.difference(faulty)
        changed = [literals for rule in (*come, *lost) for literals in distinct(rule.alternatives)]
        pool = Pool(self._vocabulary, [literal for literals in changed for literal in literals])
        bases = [*self._made(changed, pool), *self._known(faulty.item.id)]
        if faulty.item.form == "error":
            bases.reverse()  # messages that somebody saw before made-up ones
        yield from bases
        queues = [variations(base, pool, self._vocabulary.kinds) for base in bases]
        while queues:  # in turn, so that no base takes all the time
            for queue in list(queues):
                found = next(queue, None)
                if found is None:
                    queues.remove(queue)
                else:
                    yield found

    def _made(self, changed: Sequence[Sequence[Draft]], pool: Pool) -> Iterator[list[Fact]]:
        """Facts made for the changed alternatives, without and with what they must not find."""
        every = [literal for literals in changed for literal in literals]
        blocking = list(dict.fromkeys(blockers(self._vocabulary, every, pool)))[:MAX_BASES]
        for literals in changed[:MAX_BASES]:
            made = facts_for(self._vocabulary, literals, pool)
            donors = self._donors(literals)
            if made is not None and donors is not None:
                yield [*made, *donors]
                for fact in blocking:
                    yield [*made, *donors, fact]

    def _known(self, entry: str) -> Iterator[list[Fact]]:
        """The facts of cases and samples of the entry, the smallest first."""
        own = [t.given for t in self._trials.all if t.case.entry == entry]
        own += [tuple(facts) for sample, facts in self._trials.of_samples(entry) if sample.wanted]
        yield from (list(facts) for facts in sorted(own, key=len)[:MAX_BASES])

    def _donors(self, literals: Iterable[Draft]) -> list[Fact] | None:
        """Facts of cases in which the derived facts come about that an alternative needs."""
        found: list[Fact] = []
        for literal in literals:
            if self._vocabulary.kinds[literal.kind].derived and literal.mode == "match":
                given = self._deriving(literal)
                if given is None:
                    return None
                found += given
        return found

    def _deriving(self, literal: Draft) -> list[Fact] | None:
        """The facts of the smallest case in which some fact passes the literal."""
        key = f"{literal.kind} {literal.tests}"
        if key not in self._donors_of:
            tests = tuple(Test(*test) for test in literal.tests)
            passes = compile_pattern(Pattern(literal.kind, tests, (), False))
            there = [
                trial
                for trial in self._trials.all
                if any(f.kind == literal.kind and passes(dict(f.values)) for f in trial.final)
            ]
            smallest = min(there, key=lambda trial: len(trial.given), default=None)
            self._donors_of[key] = list(smallest.given) if smallest else None
        return self._donors_of[key]

    def _valid(self, facts: Iterable[Fact]) -> bool:
        where = Location("")
        return not any(self._vocabulary.problems(_plain(fact), where) for fact in facts)

    def _tells_apart(self, faulty: Faulty, facts: Sequence[Fact]) -> Witness | None:
        consultation = self._trials.doctor.consult(facts)
        fired = self._trials.fired(consultation)
        gone, alone = self._changed(faulty)
        if fired.isdisjoint(gone) and not (alone and alone.derive(consultation.facts).firings):
            return None
        entry = faulty.item.id
        doctor = self._slices.doctor(faulty, consultation.facts, fired, entry)
        if doctor is None:
            return None
        right = _outcome(self._trials.judge, entry, consultation)
        judge = Judge(doctor, self._trials.inner)
        wrong = _outcome(judge, entry, doctor.consult(facts))
        mine = {n for rule in self._slices.original(entry) for n in concluded(rule)}
        expect = _expectation(right, wrong, mine)
        if expect is None:
            return None
        kind = "fires" if right.fires else "unknown" if right.unknown else "silent"
        said = {field: names for field, names in expect.items() if names}
        witness = Witness(entry, kind, tuple(map(self._without_defaults, facts)), said)
        case = witness.case("new")
        read = case_facts(case, self._vocabulary)
        passes = not any(self._trials.judge.case(case, read))
        return witness if passes and any(judge.case(case, read)) else None

    def _changed(self, faulty: Faulty) -> tuple[Collection[Alternative], ReferenceBackend | None]:
        """What is gone, and an evaluator of what has come; kept for the latest mutant."""
        if self._latest is None or self._latest[0] is not faulty:
            gone, _, come = self._slices.difference(faulty)
            self._latest = faulty, frozenset(gone), self._slices.backend(come)
        return self._latest[1:]

    def _without_defaults(self, fact: Fact) -> dict[str, Any]:
        attributes = self._vocabulary.kinds[fact.kind].attributes
        return {"kind": fact.kind} | {
            name: value for name, value in fact.values if attributes[name].default is not value
        }

    def _smaller(self, faulty: Faulty, facts: Sequence[Fact], witness: Witness) -> Witness:
        """The same with as few facts as show it."""
        kept = list(facts)
        for fact in facts:
            fewer = [f for f in kept if f != fact]
            found = self._tells_apart(faulty, fewer) if fewer else None
            if found is not None and found.kind == witness.kind:
                kept, witness = fewer, found
        return witness


def _outcome(judge: Judge, entry: str, consultation: Consultation) -> Outcome:
    holds, out = concluded_facts(consultation.facts)
    fires = judge.fires(entry, consultation)
    return Outcome(
        fires,
        not fires and judge.unknown(entry, consultation),
        frozenset(holds),
        frozenset(out),
        frozenset(f for f in consultation.facts if f.kind != "diagnosis"),
    )


def _expectation(right: Outcome, wrong: Outcome, mine: Collection[str]) -> dict[str, Any] | None:
    """That in which the two differ; None where a case cannot tell them apart."""
    if right.fires != wrong.fires:
        return {"concludes": sorted(right.holds & {*mine})} if right.fires else {}
    expect: dict[str, Any] = {
        "concludes": sorted(right.holds - wrong.holds),
        "ruled_out": sorted(right.out - wrong.out),
    }
    if not any(expect.values()):
        expect["silent"] = sorted(wrong.holds - right.holds)
        missing = sorted(right.derived - wrong.derived, key=Fact.sort_key)
        expect["derives"] = [] if expect["silent"] else [_plain(fact) for fact in missing[:2]]
    return expect if any(expect.values()) else None


def _plain(fact: Fact) -> dict[str, Any]:
    return {"kind": fact.kind, **dict(fact.values)}
