"""Runs the cases that can notice a fault, on as few rules as matter."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ...engine.compiler.build import Built
from ...engine.compiler.reach import bits
from ...engine.compiler.source.cases import Case, Expectation
from ...engine.diagnosis.consultation import Consultation
from ...engine.diagnosis.diagnoser import Diagnoser
from ...facts import Fact, ModelMedicError
from ..testing.case_runner import Decode, Sample, case_facts, samples
from ..testing.judge import Judge, inner_rules
from .fault import Fault
from .slices import Slices, concluded

NOT_COMPILED = "(the rules cannot be ordered)"


class Trial(NamedTuple):
    """A case on the whole knowledge: its facts, all facts in the end, and the rules that fired."""

    case: Case
    given: tuple[Fact, ...]
    final: tuple[Fact, ...]
    fired: frozenset[str]


class Trials:
    """All cases of a knowledge base, ready to be run on mutants. ``healthy`` are fact sets by name
    on which no problem may be found. Cases that fail on the knowledge as it is are ``failing``."""

    def __init__(
        self, built: Built, decode: Decode, healthy: Mapping[str, Sequence[Fact]] | None = None
    ) -> None:
        self.slices = Slices(built)
        self.inner = inner_rules(built.source)
        self.doctor = Diagnoser.of(self.slices.base)
        self.judge = Judge(self.doctor, self.inner)
        self.failing: list[str] = []
        self._latest: Fault | None = None
        self._judges: dict[frozenset[str], Judge | None] = {}
        self._built = built
        self._samples: dict[str, list[tuple[Sample, Sequence[Fact]]]] = {}
        for sample in samples(built.source):
            self._samples.setdefault(sample.item.id, []).append((sample, decode(sample.text)))
        self.all = [*self._cases(), *self._healthy(healthy or {})]
        self._reach = self.slices.reach([t.final for t in self.all])
        self._named: dict[str, int] = {}
        self._fired: dict[str, int] = {}
        for place, trial in enumerate(self.all):
            named = trial.case.entry or ""
            self._named[named] = self._named.get(named, 0) | 1 << place
            for name in trial.fired:
                self._fired[name] = self._fired.get(name, 0) | 1 << place

    def _cases(self) -> Iterator[Trial]:
        for _, file in self._built.source.tests:
            for case in file.cases:
                try:
                    facts = case_facts(case, self.slices.base.vocabulary)
                except ModelMedicError:
                    self.failing.append(case.name)
                    continue
                yield from self._trial(case, facts)

    def _healthy(self, healthy: Mapping[str, Sequence[Fact]]) -> Iterator[Trial]:
        known = self.slices.base.catalogue["diagnoses"]
        problems = [name for name, entry in known.items() if entry["kind"] != "benign"]
        quiet = Expectation(silent=problems)
        for name, facts in healthy.items():
            case = Case.model_construct(name=name, kind="story", entry=None, facts=[], expect=quiet)
            yield from self._trial(case, facts)

    def _trial(self, case: Case, facts: Sequence[Fact]) -> Iterator[Trial]:
        consultation = self.doctor.consult(facts)
        if any(self.judge.outcome(case, consultation)):
            self.failing.append(case.name)
        else:
            yield self._run(case, facts, consultation)

    def trial(self, case: Case, facts: Sequence[Fact]) -> Trial:
        """Run a further case, which passes on the unchanged knowledge."""
        return self._run(case, facts, self.doctor.consult(facts))

    def _run(self, case: Case, facts: Sequence[Fact], consultation: Consultation) -> Trial:
        return Trial(case, tuple(facts), consultation.facts, self.fired(consultation))

    def fired(self, consultation: Consultation) -> frozenset[str]:
        """The rules of the whole knowledge that fired."""
        rules = self.slices.base.program.rules
        return frozenset(rules[f.rule].id for f in consultation.derivation.firings)

    def of_samples(self, row: str) -> Sequence[tuple[Sample, Sequence[Fact]]]:
        """The samples and near misses of a row, with the facts they are read as."""
        return self._samples.get(row, ())

    def noticed(self, fault: Fault) -> str | None:
        """The name of a case that fails on the mutant; None if all pass."""
        return self._by_sample(fault) or self._by_case(fault)

    def _by_sample(self, fault: Fault) -> str | None:
        entry = fault.item.id
        doctor = self.slices.small_doctor(fault.rules) if entry in self._samples else None
        if doctor is not None:
            judge = Judge(doctor, self.inner)
            for sample, facts in self._samples[entry]:
                if any(judge.sample(entry, facts, sample.wanted)):
                    return sample.text[:80]
        return None

    def _by_case(self, fault: Fault) -> str | None:
        lost, come = self.slices.difference(fault)
        fired = reached = 0
        for rule in lost:
            fired |= self._fired.get(rule.id, 0)
        for rule in come:
            reached |= self._reach.of(rule)
        own = self._named.get(fault.item.id, 0)
        for diagnosis in {name for rule in (*lost, *come) for name in concluded(rule)}:
            own |= self._named.get(diagnosis, 0)
        alone = self.slices.backend(come)
        if alone is None:
            return NOT_COMPILED
        unknown: list[Trial] = []
        for place in sorted(bits(fired | reached | own), key=lambda place: not own >> place & 1):
            trial = self.all[place]
            new = reached >> place & 1 and alone.derive(trial.final).firings
            if new or fired >> place & 1:
                if self.fails(fault, trial):
                    return trial.case.name
            elif own >> place & 1 and trial.case.kind == "unknown":
                unknown.append(trial)  # nothing new fires here, so these seldom tell
        return next((t.case.name for t in unknown if self.fails(fault, t)), None)

    def fails(self, fault: Fault, trial: Trial) -> bool:
        """Whether a case fails on the mutant, or the rules cannot be ordered."""
        names = self.slices.around(fault, trial.final, trial.fired, trial.case.entry or "")
        judge = self.judge_of(fault, names)
        return judge is None or any(judge.case(trial.case, trial.given))

    def judge_of(self, fault: Fault, around: frozenset[str]) -> Judge | None:
        """A judge over a mutant and some other rules; None if they cannot be ordered. Those of
        the latest mutant are kept."""
        if self._latest is not fault:
            self._latest, self._judges = fault, {}
        if around not in self._judges:
            doctor = self.slices.doctor(fault, around)
            self._judges[around] = Judge(doctor, self.inner) if doctor else None
        return self._judges[around]
