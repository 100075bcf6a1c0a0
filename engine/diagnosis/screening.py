"""Screening: which diagnoses, how sure, and on which of the given facts; nothing else.

For tools that look at very many runs: deriving and ranking, without explanation, plan and texts.
The findings are those of a report, in its order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ...facts import Fact, Location, ModelMedicError, Problem, Provenance
from ...facts.fact_file import MAX_FACTS, decode, parse_facts
from ...facts.typed_facts import TypedFact, TypedFacts
from ..inference.agenda import Reason, Run
from ..inference.engine import InferenceEngine
from ..inference.program import Rule
from ..inference.working_memory import Token, WorkingMemory
from .findings import ALONE, causes_of_effects, confidence, importance, shown_severity

if TYPE_CHECKING:
    from ..compiler.knowledge_base import KnowledgeBase, Summary

Flat = Mapping[str, Any]
MAX_PROBLEMS = 50
MAX_NAMED = 10_000


class Finding(NamedTuple):
    """A concluded diagnosis. ``evidence`` holds the places of the given facts that it rests on (of
    equal facts, one or more), ``rules`` the entries that conclude it; the rest is as in
    :class:`.report.Diagnosis`."""

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
    """One firing that concludes a diagnosis, as :func:`.findings.confidence` takes it."""

    rule: Rule
    strength: str
    facts: tuple[Token, ...]


class Screening:
    """Screens fact sets against one knowledge base. Threads may share it."""

    def __init__(self, base: KnowledgeBase, engine: InferenceEngine) -> None:
        self._base = base
        self._engine = engine
        self._typed = TypedFacts(base.vocabulary, engine.matcher.key)
        program = base.program
        counted = {program.patterns[aggregate.pattern].kind for aggregate in program.aggregates}
        # Few patterns look at a fact of these kinds; others come by way of the latest matches.
        self._direct = frozenset(
            name
            for name in base.vocabulary.kinds
            if name not in counted
            and name not in base.vocabulary.defaults
            and engine.matcher.key(name) is not None
        )
        self._named: dict[Fact, tuple[str, bool, Summary]] = {}

    def screen(self, items: Sequence[Flat]) -> tuple[Finding, ...]:
        """The findings on facts in flat form. Raises :class:`ModelMedicError` (MM1xx) if a fact
        breaks the vocabulary, and (MM301) where a cap ends the inference."""
        typed = self._typed.read_items(items)
        return self._of_typed(typed) if typed is not None else self._of_facts(self._checked(items))

    def screen_json(self, data: bytes) -> tuple[Finding, ...]:
        """The findings on the facts in a JSON text: a facts file, or a list of facts. Raises
        :class:`ModelMedicError` as :func:`..facts.fact_file.parse_facts` does, save that of an
        attribute that stands twice in one fact the last counts."""
        typed = self._typed.read(data)
        if typed is not None and len(typed) <= MAX_FACTS:
            return self._of_typed(typed)
        where = Location("facts")
        return self._of_facts(parse_facts(decode(data, where), where.path, self._base.vocabulary))

    def _checked(self, items: Sequence[Flat]) -> Sequence[Fact]:
        vocabulary = self._base.vocabulary
        problems: list[Problem] = []
        for place, item in enumerate(items):
            problems += vocabulary.problems(item, Location(f"facts[{place}]"))
            if len(problems) >= MAX_PROBLEMS:
                break
        if problems:
            raise ModelMedicError(problems)
        return [vocabulary.trusted(item, Provenance()) for item in items]

    def _of_typed(self, facts: Sequence[TypedFact]) -> tuple[Finding, ...]:
        matcher, direct = self._engine.matcher, self._direct
        memory = WorkingMemory(matcher)
        seen: set[Fact] = set()
        for place, kind, typed in self._typed.of_interest(facts):
            if kind in direct:
                memory.index(place, typed, matcher.signals(kind, typed))
                continue
            fact = self._typed.fact(kind, typed)
            if fact not in seen:  # equal facts count once
                seen.add(fact)
                memory.index(place, *matcher.match(fact))
        return self._conclude(memory)

    def _of_facts(self, facts: Sequence[Fact]) -> tuple[Finding, ...]:
        memory = WorkingMemory(self._engine.matcher)
        for fact, place in {fact: n for n, fact in reversed(list(enumerate(facts)))}.items():
            memory.index(place, *self._engine.matcher.match(fact))
        return self._conclude(memory)

    def _conclude(self, memory: WorkingMemory) -> tuple[Finding, ...]:
        run = Run(self._engine, memory)
        capped = run.to_fixpoint()
        if capped:
            raise ModelMedicError([Problem("MM301", f"the inference is incomplete: {capped}")])
        return self._rank(run) if run.fired else ()

    def _rank(self, run: Run) -> tuple[Finding, ...]:
        holds: list[tuple[str, Summary, list[Reason]]] = []
        out: set[str] = set()
        for fact, reasons in run.reasons.items():
            if fact.kind == "diagnosis":
                name, holding, summary = self._named.get(fact) or self._name(fact)
                if holding:
                    holds.append((name, summary, reasons))
                else:
                    out.add(name)
        sure = {name: _confidence(run, reasons) for name, _, reasons in holds}
        above: Mapping[str, tuple[str, ...]] = {}
        if any(summary.explains for _, summary, _ in holds):
            above = causes_of_effects(self._base, sure, sure.keys() & out, sure)
        found = [
            Finding(
                name,
                summary.severity,
                summary.kind,
                sure[name],
                _evidence(run, reasons),
                _entries(reasons),
                tuple([e for e in sorted(above) if name in above[e]]) if above else (),
                above.get(name, ()),
                name in out,
            )
            for name, summary, reasons in holds
        ]
        ordered = sorted(found, key=importance) if len(found) > 1 else found
        leads = {
            name for name, _, reasons in holds
            if sure[name] == "possible" and all(reason[2] == "lead" for reason in reasons)
        }  # fmt: skip
        return tuple([_shown(finding, finding.id in leads) for finding in ordered])

    def _name(self, fact: Fact) -> tuple[str, bool, Summary]:
        """The texts of the fact of a diagnosis, and the summary of the diagnosis."""
        name = str(fact.get("name"))
        said = name, bool(fact.get("holds")), self._base.summary(name)
        if len(self._named) < MAX_NAMED:
            self._named[fact] = said
        return said


def _entries(reasons: Sequence[Reason]) -> tuple[str, ...]:
    if len(reasons) == 1:
        return (reasons[0][0].entry,)
    return tuple(sorted({plan.entry for plan, *_ in reasons}))


def _confidence(run: Run, reasons: Sequence[Reason]) -> str:
    """:func:`.findings.confidence`; of a single reason the facts do not matter."""
    if len(reasons) == 1:
        return ALONE[reasons[0][2]]
    return confidence([_Support(r[0].rule, r[2], run.premises(r)) for r in reasons])


def _shown(finding: Finding, only_leads: bool) -> Finding:
    strengths = ("lead",) if only_leads else ("weak",)
    severity = shown_severity(finding.severity, finding.confidence, strengths)
    return finding if severity == finding.severity else finding._replace(severity=severity)


def _evidence(run: Run, reasons: Sequence[Reason]) -> tuple[int, ...]:
    """The places of the given facts at the bottom of the derivations."""
    if len(reasons) == 1:
        found = run.premises(reasons[0])
        if len(found) == 1 and isinstance(found[0], int):
            return (found[0],)
    given: set[int] = set()
    seen: set[Fact] = set()
    queue = list(reasons)
    for reason in queue:  # grows while it is walked
        for token in run.premises(reason):
            if isinstance(token, int):
                given.add(token)
            elif token not in seen:
                seen.add(token)
                queue += run.reasons[token]
    return tuple(sorted(given))
