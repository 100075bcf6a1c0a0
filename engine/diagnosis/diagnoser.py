"""The embedding API: load knowledge once, diagnose many times.

>>> from modelmedic.engine import Diagnoser
>>> doctor = Diagnoser.load()
>>> report = doctor.diagnose([])
>>> report.status
'clear'
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache as once

from ...facts import Fact, Location, Problem, Provenance
from ...facts.fact import canonical
from ...facts.records import cached_property
from ..compiler.knowledge_base import KnowledgeBase
from ..inference.derivation import Backend, Work
from ..inference.engine import InferenceEngine, choose_backend
from ..inference.matcher import Matcher
from ..inference.working_memory import WorkingMemory
from .consultation import Consultation
from .report import Report
from .rule_constants import Outlook, RuleConstants

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from ..compiler.changes import Applied
    from ..inference.engine import Choice
    from .consultation import Plan
    from .next_step.evidence_sources import EvidenceSources
    from .results.answers import WhatIf
    from .screening import Finding, Screening
    from .session import Session


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

    # The rest is only for reports with a plan, and for why-not.

    @cached_property
    def gathering(self) -> EvidenceSources:
        """The sources of missing facts."""
        from .next_step.evidence_sources import EvidenceSources

        return EvidenceSources(self.base)

    @cached_property
    def outlook(self) -> Outlook:
        """The tables of the knowledge that a plan uses."""
        return Outlook(self.base)

    @cached_property
    def unchanged(self) -> Diagnoser | None:
        """The same without what overlays change; None if they change nothing."""
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
        self, facts: Iterable[Fact], problems: Sequence[Problem] = (), *, plan: Plan = True,
        time_is_up: Callable[[], bool] | None = None,
    ) -> Report:  # fmt: skip
        """The report on a set of facts. ``problems`` of gathering them are passed on. Without a
        ``plan`` it lacks open diagnoses and next steps, and takes a third of the time; ``"open"``
        plans only while no cause is decided. ``time_is_up`` is called now and then; once it returns
        true, the remaining parts are left out and named in the report (MM319)."""
        consultation = Consultation(self, facts, work=Work(time_is_up))
        report = consultation.report(problems, plan=plan is True)
        if plan == "open" and not report.is_decided:
            return consultation.report(problems)
        return report

    def consult(self, facts: Iterable[Fact], memory: WorkingMemory | None = None) -> Consultation:
        """The facts with everything that can be asked about them: report, why-not, derivations. A
        ``memory`` that holds the facts already is used up."""
        return Consultation(self, facts, memory)

    def session(self, facts: Iterable[Fact] = ()) -> Session:
        """A set of facts that will grow and change."""
        from .session import Session

        return Session(self, facts)

    def screen(self, items: Sequence[Mapping[str, Any]]) -> tuple[Finding, ...]:
        """The diagnoses for facts in flat JSON form, with confidence and evidence: the same
        findings as in a report, many times faster. Raises :class:`ModelMedicError` if a fact breaks
        the vocabulary."""
        return self._screening.screen(items)

    def screen_json(self, data: bytes) -> tuple[Finding, ...]:
        """The same for a JSON text: a facts file, or a list of facts."""
        return self._screening.screen_json(data)

    def what_if(self, facts: Iterable[Fact], change: Iterable[Fact]) -> dict[str, Any]:
        """The changes if facts are added; a fact about the same key replaces the known one."""
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
        """Whether two facts are about the same thing, so that only one can hold."""
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
