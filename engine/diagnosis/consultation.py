"""One set of facts, derived once, and everything that can be asked about it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from ...facts import Fact, Problem
from ...facts.problems import out_of_time
from ...facts.records import cached_property
from ..compiler.knowledge_base import VERSION
from ..inference.derivation import TIME_IS_UP, Derivation, Work
from ..inference.working_memory import WorkingMemory
from .explain import Explanations
from .findings import findings
from .next_step.commands import with_known_facts
from .report import Candidate, Diagnosis, Message, NextStep, Report, RuledOut, Unexplained
from .rule_constants import ERRORS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal

    from .diagnoser import Diagnoser
    from .evaluation import Evaluator
    from .next_step.hypotheses import Hypotheses
    from .next_step.plan import Planner
    from .results.answers import Absence
    from .why_not import WhyNot

    Plan = bool | Literal["open"]
    """Whether a report says what else is possible and what to do next: always, never, or only while
    no cause is decided."""

TOOL: Mapping[str, str] = {"name": "modelmedic", "version": VERSION}


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
        self._memory = memory
        self.explanations = Explanations(doctor.constants, self.derivation, given)

    @cached_property
    def evaluator(self) -> Evaluator:
        """Evaluates conditions on these facts."""
        from .evaluation import Evaluator

        return Evaluator(self._base.program, self._memory, self._work)

    @cached_property
    def why_not(self) -> WhyNot:
        """Why diagnoses do not hold."""
        from .why_not import WhyNot

        derived = self._base.vocabulary.derived
        return WhyNot(self._doctor.constants, self.evaluator, derived)

    def report(self, problems: Sequence[Problem] = (), *, plan: bool = True) -> Report:
        """The report; see :meth:`Diagnoser.diagnose`."""
        how = self.explanations
        diagnoses, ruled_out = self._findings
        said, left = self._errors() if ERRORS & self._by_kind.keys() else ((), ())
        candidates, steps = self._plan(diagnoses) if plan else ((), ())
        notes = tuple(p for p in problems if p.is_note) if problems else ()
        problems = [p for p in problems if not p.is_note] if notes else problems
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
            steps,
            said,
            (*problems, *self._incomplete()),
            notes,
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
        """The explanations of error rows for the errors among the facts, and the errors without
        one."""
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

    def _plan(
        self, diagnoses: Sequence[Diagnosis]
    ) -> tuple[tuple[Candidate, ...], tuple[NextStep, ...]]:
        """The open diagnoses and the next steps; only the due ones if there is no time."""
        from .next_step.triage import due_steps

        work = self._work
        due = tuple(due_steps(diagnoses, self._by_kind.get("stage_step", ())))
        if work.goes_on():
            planner = self.planner()
            candidates, steps = planner.candidates(), planner.steps()
            if not work.ended:
                return candidates, (*due, *steps)
        work.left_out.append("nothing was looked for that else is possible, or to be done next")
        return (), due

    def _incomplete(self) -> Iterator[Problem]:
        """The problems of the report for bounds that were reached."""
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
        from .next_step.plan import Planner

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
        from .next_step.hypotheses import Hypotheses

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
        from .why_not import nearest
        from .why_not import plain as way_plain

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
