"""Screening: which diagnoses, how sure, and on which of the given facts; nothing else.

For tools that look at very many runs. The findings are those of a report, in its order, without
explanation, plan and texts; a run that is found interesting is then diagnosed in full.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..facts import Fact, Location, ModelMedicError, Problem, Provenance, Value
from ..facts.fact_file import decode, parse_facts
from ..facts.lazy import cached_property
from ..facts.quick_check import QuickCheck
from .findings import causes_of_effects, confidence, importance
from .identity import same
from .inference.derivation import Binding
from .inference.run import Run
from .inference.working_memory import Known, Token, Values, WorkingMemory
from .ir import Literal_, Rule

if TYPE_CHECKING:
    from .diagnoser import Diagnoser
    from .inference.durable import DurableBackend
    from .knowledge_base import KnowledgeBase
    from .typed_json import TypedFacts

Flat = Mapping[str, Any]
MAX_PROBLEMS = 50


class Finding(NamedTuple):
    """A concluded diagnosis. ``evidence`` holds the places of the given facts that it rests on (of
    equal facts, one or more),
    ``rules`` the entries that conclude it; the rest is as in :class:`.report.Diagnosis`."""

    id: str
    severity: str
    kind: str
    confidence: str
    evidence: tuple[int, ...]
    rules: tuple[str, ...]
    explains: tuple[str, ...] = ()
    explained_by: tuple[str, ...] = ()
    conflicting: bool = False


class _Support(NamedTuple):
    """One firing that concludes a fact, as :func:`.findings.confidence` takes it."""

    rule: Rule
    strength: str
    facts: tuple[Token, ...]


class Screening:
    """Screens fact sets in flat JSON form against one knowledge base. Threads may share it."""

    def __init__(self, base: KnowledgeBase, backend: DurableBackend) -> None:
        self._base = base
        self._backend = backend
        self._check = QuickCheck(base.vocabulary)

    def screen(self, items: Sequence[Flat]) -> tuple[Finding, ...]:
        """The findings on one set of facts. Raises :class:`ModelMedicError` (MM1xx) if a fact
        breaks the vocabulary, and (MM301) where a cap ends the inference."""
        self._demand_order(items)
        memory = WorkingMemory(self._backend.alpha)
        memory.file_flat(items)
        return self._conclude(memory)

    def screen_json(self, data: bytes) -> tuple[Finding, ...]:
        """The findings on the facts in a JSON text: a facts file, or a list of facts. Raises
        :class:`ModelMedicError` as :func:`..facts.fact_file.parse_facts` does."""
        facts = self._typed.read(data) if self._typed is not None else None
        if facts is None or self._typed is None:
            return self.screen(flat_facts(data, self._base))
        memory = WorkingMemory(self._backend.alpha)
        self._typed.file(facts, memory)
        return self._conclude(memory)

    @cached_property
    def _typed(self) -> TypedFacts | None:
        from .typed_json import TypedFacts

        try:
            return TypedFacts(self._base.vocabulary, self._backend.alpha)
        except ImportError:
            return None

    def _conclude(self, memory: WorkingMemory) -> tuple[Finding, ...]:
        run = Run(self._backend, memory)
        try:
            capped = run.to_fixpoint()
        finally:
            run.close()
        if capped:
            raise ModelMedicError([Problem("MM301", f"the inference is incomplete: {capped}")])
        return self._findings(_Derived(self._backend, memory, run)) if run.fired else ()

    def _demand_order(self, items: Sequence[Flat]) -> None:
        places = self._check.doubtful(items)
        problems: list[Problem] = []
        for place in places:
            problems += self._base.vocabulary.problems(items[place], Location(f"facts[{place}]"))
            if len(problems) >= MAX_PROBLEMS:
                break
        if problems:
            raise ModelMedicError(problems)

    def _findings(self, derived: _Derived) -> tuple[Finding, ...]:
        holds, out = derived.diagnoses()
        summaries = {name: self._base.summary(name) for name in holds}
        supports = {name: derived.supports(fact) for name, fact in holds.items()}
        sure = {name: confidence(found) for name, found in supports.items()}
        conflicting = holds.keys() & out
        above: Mapping[str, tuple[str, ...]] = {}
        if any(summary.explains for summary in summaries.values()):
            above = causes_of_effects(self._base, holds, conflicting, sure)
        below: dict[str, list[str]] = {}
        for effect in sorted(above):
            for cause in above[effect]:
                below.setdefault(cause, []).append(effect)
        found = [
            Finding(
                name,
                summary.severity,
                summary.kind,
                sure[name],
                derived.evidence(supports[name]),
                tuple(sorted({support.rule.entry for support in supports[name]})),
                tuple(below.get(name, ())),
                above.get(name, ()),
                name in conflicting,
            )
            for name, summary in summaries.items()
        ]
        return tuple(sorted(found, key=importance) if len(found) > 1 else found)


def flat_facts(data: bytes, base: KnowledgeBase) -> list[Flat]:
    """The facts of a JSON text, strictly read."""
    where = Location("facts")
    facts = parse_facts(decode(data, where), where.path, base.vocabulary)
    return [{"kind": fact.kind, **dict(fact.values)} for fact in facts]


def screen_slowly(doctor: Diagnoser, items: Sequence[Flat]) -> tuple[Finding, ...]:
    """The same by way of whole reports, for backends that cannot screen."""
    vocabulary = doctor.base.vocabulary
    problems = [
        problem
        for place, item in enumerate(items)
        for problem in vocabulary.problems(item, Location(f"facts[{place}]"))
    ]
    if problems:
        raise ModelMedicError(problems[:MAX_PROBLEMS])
    facts = [vocabulary.trusted(item, Provenance()) for item in items]
    consultation = doctor.consult(facts)
    places = {fact: place for place, fact in reversed(list(enumerate(facts)))}
    number = {name: places.get(fact, -1) for fact, name in consultation.explanations.ids.items()}
    return tuple(
        Finding(
            d.id,
            d.severity,
            d.kind,
            d.confidence,
            tuple(sorted(number[e.fact] for e in d.evidence)),
            tuple(sorted({step["rule"] for step in d.explanation["how"]})),
            d.explains,
            d.explained_by,
            d.conflicting,
        )
        for d in consultation.report().diagnoses
    )


class _Derived:
    """What a run derived, by conclusion."""

    def __init__(self, backend: DurableBackend, memory: WorkingMemory, run: Run) -> None:
        self._program = backend.program
        self._matches = memory.matches
        self._reasons = run.reasons
        self._premises = run.fired

    def diagnoses(self) -> tuple[dict[str, Fact], set[str]]:
        """The facts of those that hold, and the names of those that are ruled out."""
        holds: dict[str, Fact] = {}
        out: set[str] = set()
        for fact in self._reasons:
            if fact.kind == "diagnosis":
                values = dict(fact.values)
                if values.get("holds"):
                    holds[str(values["name"])] = fact
                else:
                    out.add(str(values["name"]))
        return holds, out

    def supports(self, fact: Fact) -> list[_Support]:
        """The firings that conclude a fact, with the strength that each gives to it."""
        return [
            _Support(plan.rule, strength, self._behind(plan.number, plan.rule, binding))
            for plan, binding, strength in self._reasons[fact]
        ]

    def evidence(self, supports: Sequence[_Support]) -> tuple[int, ...]:
        """The places of the given facts at the bottom of the derivations."""
        given: set[int] = set()
        queue = [support.facts for support in supports]
        seen: set[Fact] = set()
        for facts in queue:  # grows while it is walked
            for fact in facts:
                if isinstance(fact, int):
                    given.add(fact)
                elif fact not in seen:
                    seen.add(fact)
                    for plan, binding, _ in self._reasons[fact]:
                        queue.append(self._behind(plan.number, plan.rule, binding))
        return tuple(sorted(given))

    def _behind(self, number: int, rule: Rule, binding: Binding) -> tuple[Token, ...]:
        """The facts that a firing rests on."""
        known = self._premises[number, binding]
        if known is None:
            bound = dict(zip(rule.variables, binding, strict=True))
            facts: dict[Token, None] = {}
            for literal in rule.literals:
                for fact, values in self._matching(literal):
                    if not literal.joins or _agrees(literal, values, bound):
                        facts[fact] = None
            known = self._premises[number, binding] = tuple(facts)
        return known

    def _matching(self, literal: Literal_) -> Sequence[Known]:
        mode, pattern = literal.mode, literal.pattern
        if mode == "aggregate":
            mode, pattern = "match", self._program.aggregates[pattern].pattern
        return self._matches.get((mode, pattern), ()) if mode in ("match", "refuted") else ()


def _agrees(literal: Literal_, values: Values, binding: Mapping[str, Value]) -> bool:
    for attribute, variable in literal.joins:
        value = values.get(attribute)
        if value is None or not same(binding[variable], value):
            return False
    return True
