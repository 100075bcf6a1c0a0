"""The embedding API: load knowledge once, diagnose many times.

>>> from modelmedic.engine import Diagnoser
>>> doctor = Diagnoser.load()
>>> report = doctor.diagnose([])
>>> report.status
'clear'
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache as once
from typing import TYPE_CHECKING, Any

from ...facts import Fact, Location, Problem, Provenance
from ...facts.fact import canonical
from ...facts.problems import out_of_time
from ...facts.records import cached_property
from ..compiler.store.knowledge_base import VERSION, KnowledgeBase
from ..inference.derivation import TIME_IS_UP, Backend, Derivation, Work
from ..inference.engine import Choice, InferenceEngine, choose_backend
from ..inference.matcher import Matcher
from ..inference.working_memory import WorkingMemory
from .evaluation import Evaluator
from .explain import Explanations
from .findings import findings
from .next_step.commands import with_known_facts
from .next_step.evidence_sources import EvidenceSources
from .next_step.hypotheses import Hypotheses
from .next_step.plan import Planner
from .next_step.triage import due_steps
from .report import Candidate, Diagnosis, Message, NextStep, Report, RuledOut, Unexplained
from .rule_constants import ERRORS, Outlook, RuleConstants
from .why_not import WhyNot, nearest
from .why_not import plain as way_plain

if TYPE_CHECKING:
    from pathlib import Path

    from ..compiler.changes import Applied
    from .results.answers import Absence, WhatIf
    from .screening import Finding, Screening
    from .session import Session

TOOL: Mapping[str, str] = {"name": "modelmedic", "version": VERSION}


class Diagnoser:
    """Diagnoses facts against one knowledge base. Immutable; threads may share it."""

    def __init__(self, base: KnowledgeBase, backend: Backend) -> None:
        self.base = base
        self.backend = backend
        if isinstance(backend, InferenceEngine):
            self.matcher = backend.matcher
        else:
            self.matcher = Matcher(base.program, base.vocabulary.defaults)
        self.constants = RuleConstants(base.program, self.matcher.intern)
        self.gathering = EvidenceSources(base)
        self.outlook = Outlook(base)

    @cached_property
    def unchanged(self) -> Diagnoser | None:
        """The same without what overlays change; None where they change nothing."""
        load = self.base.unchanged
        return Diagnoser.of(load()) if load is not None else None

    @cached_property
    def _screening(self) -> Screening:
        from .screening import Screening  # not at the start of the main job

        backend = self.backend
        if not isinstance(backend, InferenceEngine):
            backend = InferenceEngine(self.base.program, self.base.vocabulary.defaults)
        return Screening(self.base, backend)

    @staticmethod
    def load(
        overlays: Sequence[Path | str] = (),
        *,
        engine: Choice = "auto",
        cache: Path | str | None = None,
        today: str = "",
        applied: Applied = "valid",
    ) -> Diagnoser:
        """A diagnoser on the shipped knowledge with overlays.

        ``engine`` chooses how facts are joined: by durable-rules where it is installed (``auto``),
        in any case (``durable``), or by the engine itself (``native``); ``reference`` is the slow
        evaluator that defines what all of them mean. ``cache`` is a folder for compiled knowledge.
        ``today`` (such as 2027-01-31) ends changes of overlays; ``applied="none"`` lets them add
        only. Raises :class:`ModelMedicError` if
        the knowledge does not load.
        """
        base = KnowledgeBase.load(overlays, cache=cache, today=today, applied=applied)
        return Diagnoser.of(base, engine)

    @staticmethod
    def of(base: KnowledgeBase, engine: Choice = "auto") -> Diagnoser:
        """A diagnoser on a loaded knowledge base."""
        return Diagnoser(base, choose_backend(base.program, base.vocabulary.defaults, engine))

    def diagnose(
        self, facts: Iterable[Fact], problems: Sequence[Problem] = (), *, plan: bool = True,
        time_is_up: Callable[[], bool] | None = None,
    ) -> Report:  # fmt: skip
        """The report on a set of facts. ``problems`` of gathering them are passed on. Without a
        ``plan`` it says nothing of what else is possible and what to do next; everything else is
        the same, in a third of the time. ``time_is_up`` is asked now and then; once it says so,
        what is left is left out, and the report says what that is (MM319)."""
        return Consultation(self, facts, work=Work(time_is_up)).report(problems, plan=plan)

    def consult(self, facts: Iterable[Fact], memory: WorkingMemory | None = None) -> Consultation:
        """The facts with everything that can be asked about them: report, why-not, derivations. A
        ``memory`` that holds the facts already is used up."""
        return Consultation(self, facts, memory)

    def session(self, facts: Iterable[Fact] = ()) -> Session:
        """A set of facts that will grow and change."""
        from .session import Session

        return Session(self, facts)

    def screen(self, items: Sequence[Mapping[str, Any]]) -> tuple[Finding, ...]:
        """Which diagnoses hold for facts in flat JSON form, how sure, and on which of them; the
        same findings as in a report, many times faster. Raises :class:`ModelMedicError` if a fact
        breaks the vocabulary."""
        return self._screening.screen(items)

    def screen_json(self, data: bytes) -> tuple[Finding, ...]:
        """The same for a JSON text: a facts file, or a list of facts."""
        return self._screening.screen_json(data)

    def what_if(self, facts: Iterable[Fact], change: Iterable[Fact]) -> dict[str, Any]:
        """What changes if facts are added; a fact about the same key replaces the known one."""
        before = canonical(facts)
        changed = tuple(change)
        kept = [fact for fact in before if not any(self.replaces(new, fact) for new in changed)]
        old, new = self.diagnose(before), self.diagnose([*kept, *changed])
        return _difference(old, new)

    def compare(self, facts: Iterable[Fact], change: Iterable[Fact]) -> WhatIf:
        """The same as :meth:`what_if`, as a typed value."""
        from .results.answers import WhatIf

        return WhatIf.of(self.what_if(facts, change))

    def replaces(self, new: Fact, old: Fact) -> bool:
        """Whether a fact is about the same thing as another of which only one can hold."""
        kind = self.base.vocabulary.kinds[new.kind]
        if new.kind != old.kind or not kind.functional:
            return False
        return all(new.get(name) == old.get(name) for name in kind.key)


def diagnose(
    facts: Iterable[Fact | Mapping[str, Any]],
    *,
    overlays: Sequence[Path | str] = (),
    cache: Path | str | None = None,
) -> Report:
    """The report on facts, as they are or in their flat JSON form, with knowledge that is loaded
    once. Shows itself in notebooks. Raises :class:`ModelMedicError` if a fact breaks the
    vocabulary."""
    doctor = _loaded(tuple(map(str, overlays)), cache and str(cache))
    vocabulary = doctor.base.vocabulary
    given = Provenance("caller")
    return doctor.diagnose(
        fact if isinstance(fact, Fact) else vocabulary.read(fact, Location(f"facts[{n}]"), given)
        for n, fact in enumerate(facts)
    )


@once
def _loaded(overlays: tuple[str, ...], folder: str | None) -> Diagnoser:
    return Diagnoser.load(overlays, cache=folder)


class Consultation:
    """One set of facts, derived once, and the questions about it."""

    def __init__(
        self, doctor: Diagnoser, facts: Iterable[Fact], memory: WorkingMemory | None = None,
        work: Work | None = None,
    ) -> None:  # fmt: skip
        self._base = doctor.base
        self._work = work = Work() if work is None else work
        self._doctor = doctor
        self._given = given = tuple(facts)
        memory = WorkingMemory(doctor.matcher) if memory is None else memory
        self.derivation: Derivation = doctor.backend.derive(given, memory, work)
        self.facts = self.derivation.facts
        self.evaluator = Evaluator(self._base.program, memory, work)
        self.explanations = Explanations(doctor.constants, self.derivation, given)
        self.why_not = WhyNot(doctor.constants, self.evaluator, self._base.vocabulary.derived)

    def report(self, problems: Sequence[Problem] = (), *, plan: bool = True) -> Report:
        """The report; see :meth:`Diagnoser.diagnose`."""
        how = self.explanations
        diagnoses, ruled_out = self._findings
        due = due_steps(diagnoses, self._by_kind.get("stage_step", ())) if plan else ()
        said, left = self._errors() if ERRORS & self._by_kind.keys() else ((), ())
        candidates, steps = self._plan() if plan else ((), ())
        report = Report(
            TOOL,
            {
                "version": self._base.version,
                "digest": self._base.digest,
                "overlays": list(map(dict, self._base.overlays)),
            },
            how.listed,
            diagnoses,
            ruled_out,
            candidates,
            (*due, *steps),
            said,
            (*problems, *self._incomplete()),
            unexplained=left,
            meanings=self._base.vocabulary.meanings(self._given),
        )
        if "code_acceptance" in self._by_kind:
            from .results.accepted_in_code import with_accepted_code

            report = with_accepted_code(report, self._base)
        report = with_known_facts(report, self._base)
        return self._with_overlays(report, problems) if self._base.overlays else report

    def _with_overlays(self, report: Report, problems: Sequence[Problem]) -> Report:
        """The report with what became of the changes of overlays, and what they do to it."""
        from .results.overlay_effect import idle_changes, with_effect

        report = report._replace(notes=(*report.notes, *idle_changes(self._base)))
        doctor = self._doctor.unchanged
        if doctor is None:
            return report
        without = Consultation(doctor, self._given, work=self._work).report(problems, plan=False)
        if self._work.ended:
            late = out_of_time("what would be found without the changes of overlays")
            return report._replace(errors=(*report.errors, late))
        return with_effect(report, without)

    def _errors(self) -> tuple[tuple[Message, ...], tuple[Unexplained, ...]]:
        """What rows say of the errors among the facts, and those that nothing explains."""
        from .messages import Messages, of_beginnings  # half of all runs have no errors
        from .unexplained import unexplained

        base, how = self._base, self.explanations
        said = Messages(base, how, self.why_not, self._doctor.gathering).all()
        said += of_beginnings(said, self.facts, base)
        left = unexplained(self.facts, how, self._findings[0], said, base.vocabulary)
        if left:
            from .known_issues import with_similar

            left = with_similar(left, base, self.facts)
        return said, left

    def _plan(self) -> tuple[tuple[Candidate, ...], tuple[NextStep, ...]]:
        """What is still possible, and what to do next; nothing where there is no time for it."""
        work = self._work
        if work.goes_on():
            planner = self.planner()
            found = planner.candidates(), planner.steps()
            if not work.ended:
                return found
        work.left_out.append("nothing was looked for that else is possible, or to be done next")
        return (), ()

    def _incomplete(self) -> Iterator[Problem]:
        """What the report says of bounds that were reached."""
        capped, left_out = self.derivation.capped, self._work.left_out
        if capped and capped != TIME_IS_UP:
            hint = "give fewer facts; if that does not help, report the facts as a bug"
            yield Problem("MM301", f"the inference is incomplete: {capped}", None, hint)
        elif capped:
            left_out = [capped, *left_out]
        elif self._work.ended and not left_out:
            left_out = ["what decides messages was not looked for"]
        if left_out:
            yield out_of_time("; ".join(left_out))

    def planner(
        self,
        asked: Collection[str] = (),
        probes: Collection[str] | None = None,
        alone: Collection[str] = (),
    ) -> Planner:
        """The plan for what to ask or run next. ``asked`` names what is behind, ``probes`` what can
        be run (default: all), ``alone`` what needs no more than a yes."""
        gathering = self._doctor.gathering
        return Planner(self._base, gathering, self._hypotheses, self.facts, asked, probes, alone)

    @cached_property
    def _by_kind(self) -> Mapping[str, Sequence[Fact]]:
        found: dict[str, list[Fact]] = {}
        for fact in self.facts:
            found.setdefault(fact.kind, []).append(fact)
        return found

    @cached_property
    def _findings(self) -> tuple[tuple[Diagnosis, ...], tuple[RuledOut, ...]]:
        return findings(self._base, self.facts, self.explanations)

    @cached_property
    def _hypotheses(self) -> Hypotheses:
        (found, ruled_out), ids = self._findings, self.explanations.ids
        fired = {firing.rule for firing in self.derivation.firings}
        base, outlook = self._base, self._doctor.outlook
        return Hypotheses(
            base, outlook, self._by_kind, self.why_not, found, ruled_out, ids, base.causes, fired
        )

    def absence(self, diagnosis: str) -> Absence:
        """The same as :meth:`explain_absence`, as a typed value."""
        from .results.answers import Absence

        return Absence.of(self.explain_absence(diagnosis))

    def explain_absence(self, diagnosis: str) -> dict[str, Any]:
        """Why a diagnosis is not concluded, in plain data: state, and the nearest ways."""
        holds = any(
            f.kind == "diagnosis" and f.get("name") == diagnosis and f.get("holds")
            for f in self.facts
        )
        out = next(
            (
                f
                for f in self.facts
                if f.kind == "diagnosis" and f.get("name") == diagnosis and not f.get("holds")
            ),
            None,
        )
        ways = nearest(self.why_not.ways(diagnosis))
        return {
            "id": diagnosis,
            "title": self._base.summary(diagnosis).title,
            "concluded": holds,
            "ruled_out": self.explanations.how(out) if out else [],
            "ways": []
            if holds
            else [way_plain(w, self.why_not, self.explanations.ids) for w in ways],
        }


def _difference(old: Report, new: Report) -> dict[str, Any]:
    before = {d.id: d for d in old.diagnoses}
    after = {d.id: d for d in new.diagnoses}
    changed = {
        name: [before[name].confidence, after[name].confidence]
        for name in sorted(before.keys() & after.keys())
        if before[name].confidence != after[name].confidence
    }
    return {
        "gained": sorted(after.keys() - before.keys()),
        "lost": sorted(before.keys() - after.keys()),
        "unchanged": sorted((after.keys() & before.keys()) - changed.keys()),
        "confidence": changed,
        "newly_ruled_out": sorted({r.id for r in new.ruled_out} - {r.id for r in old.ruled_out}),
    }
