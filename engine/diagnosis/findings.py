"""From derived facts to findings: confidence, conflicts, subsumption and order."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import partial

from ...facts import Fact
from ..compiler.knowledge_base import KnowledgeBase
from ..inference.program import Rule
from .explain import Explanations, Step
from .report import SEVERITIES, Diagnosis, Evidence, RuledOut, Unfolding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Protocol
else:
    Protocol = object


_KINDS = ("root-cause", "user-code", "escalation", "symptom", "benign")
_CONFIDENCE = ("possible", "likely", "certain")
WEAK_FOR_LIKELY = 3
ALONE = {
    "decisive": "certain", "strong": "likely", "weak": "possible", "hint": "possible",
    "lead": "possible",
}  # fmt: skip
"""How sure one rule makes, by its strength. A hint comes from a message of unknown origin in words
that many use. A lead says where to look: a premise of it is taken for granted, or what follows from
it is not known. Neither adds up."""
_ADD_UP = frozenset({"decisive", "strong", "weak"})
MOST_IF_POSSIBLE = "warning"
"""The highest severity of a finding that is only possible."""
MOST_OF_LEADS = "info"
"""The highest severity of a finding that rests on nothing but leads."""


def shown_severity(severity: str, certainty: str, strengths: Iterable[str]) -> str:
    """The severity of a finding: at most a warning if it is only possible, and info if it is a
    lead. ``strengths`` are those of all its conclusions."""
    if certainty != "possible":
        return severity
    only_leads = all(strength == "lead" for strength in strengths)
    return min(severity, MOST_OF_LEADS if only_leads else MOST_IF_POSSIBLE, key=SEVERITIES.index)


class Support(Protocol):
    """A firing that concludes something."""

    @property
    def rule(self) -> Rule: ...
    @property
    def strength(self) -> str: ...
    @property
    def facts(self) -> tuple[Hashable, ...]: ...


class Ranked(Protocol):
    """The sort key of findings; see :class:`.report.Diagnosis`."""

    @property
    def id(self) -> str: ...
    @property
    def severity(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def confidence(self) -> str: ...
    @property
    def explains(self) -> tuple[str, ...]: ...
    @property
    def explained_by(self) -> tuple[str, ...]: ...
    @property
    def conflicting(self) -> bool: ...


def concluded_facts(facts: Iterable[Fact]) -> tuple[dict[str, Fact], dict[str, Fact]]:
    """Diagnosis facts by id: those that hold, and those that are ruled out."""
    holds: dict[str, Fact] = {}
    out: dict[str, Fact] = {}
    for fact in facts:
        if fact.kind == "diagnosis":
            (holds if fact.get("holds") else out)[str(fact.get("name"))] = fact
    return holds, out


def findings(
    base: KnowledgeBase, facts: Sequence[Fact], explanations: Explanations
) -> tuple[tuple[Diagnosis, ...], tuple[RuledOut, ...]]:
    """Concluded diagnoses, most important first, and ruled-out ones by id."""
    holds, out = concluded_facts(facts)
    steps = {name: tuple(explanations.steps(fact)) for name, fact in holds.items()}
    confidences = {name: confidence(found) for name, found in steps.items()}
    conflicting = holds.keys() & out.keys()
    explained_by = causes_of_effects(base, holds, conflicting, confidences)
    built = [
        _diagnosis(
            base, name, fact, explanations, confidences[name], explained_by, name in conflicting
        )
        for name, fact in holds.items()
    ]
    ruled_out = [
        _ruled_out(base, name, Unfolding(partial(explanations.unfolded, fact)))
        for name, fact in sorted(out.items())
    ]
    ordered = sorted(built, key=importance)
    return tuple(_shown(d, steps[d.id]) for d in ordered), tuple(ruled_out)


def _shown(finding: Diagnosis, steps: Iterable[Support]) -> Diagnosis:
    strengths = [step.strength for step in steps]
    return finding._replace(
        severity=shown_severity(finding.severity, finding.confidence, strengths)
    )


def _ruled_out(base: KnowledgeBase, name: str, how: Unfolding) -> RuledOut:
    entry = base.summary(name)
    return RuledOut(name, entry.title, how, entry.kind, tuple(entry.explains))


def confidence(steps: Iterable[Support]) -> str:
    """Certain with one decisive rule, likely with one strong rule or three weak ones that share no
    evidence, else possible. Free of order: only the set of firings counts."""
    steps = list(steps)
    sure = max((ALONE[step.strength] for step in steps), key=_CONFIDENCE.index, default="possible")
    if (
        sure == "possible"
        and _independent([s for s in steps if s.strength in _ADD_UP]) >= WEAK_FOR_LIKELY
    ):
        return "likely"
    return sure


def _independent(steps: Sequence[Support]) -> int:
    """How many entries rest on facts that no other counted entry uses (greedy, fewest first)."""
    by_entry: dict[str, set[Hashable]] = {}
    for step in steps:
        by_entry.setdefault(step.rule.entry, set()).update(step.facts)
    used: set[Hashable] = set()
    count = 0
    for _, facts in sorted(by_entry.items(), key=lambda item: (len(item[1]), item[0])):
        if facts and not facts & used:
            used |= facts
            count += 1
    return count


def causes_of_effects(
    base: KnowledgeBase,
    holds: Mapping[str, object],
    conflicting: Iterable[str],
    confidences: Mapping[str, str],
) -> dict[str, tuple[str, ...]]:
    """For each concluded effect, the concluded causes that account for it.

    A cause whose evidence conflicts, or that is only possible, takes nothing under itself. Mutual
    explanation keeps the direction of the more severe, then first, id.
    """
    doubtful = set(conflicting) | {n for n, c in confidences.items() if c == "possible"}
    pairs = {
        (effect, cause)
        for cause in holds
        if cause not in doubtful and base.summary(cause).kind != "benign"
        for effect in base.summary(cause).explains
        if effect in holds and effect != cause
    }
    rank = {name: (-SEVERITIES.index(base.summary(name).severity), name) for name in holds}
    found: dict[str, tuple[str, ...]] = {}
    for effect, cause in sorted(pairs):
        if (cause, effect) not in pairs or rank[cause] < rank[effect]:
            found[effect] = (*found.get(effect, ()), cause)
    return found


def _diagnosis(
    base: KnowledgeBase,
    name: str,
    fact: Fact,
    explanations: Explanations,
    certainty: str,
    explained_by: Mapping[str, tuple[str, ...]],
    conflicting: bool,
) -> Diagnosis:
    entry = base.diagnosis(name)
    explains = tuple(effect for effect, causes in sorted(explained_by.items()) if name in causes)
    row = _only_row(base, explanations.steps(fact))
    # A row is nearer to the message than the diagnosis, which is that of many messages.
    fix = [{"do": row["fix"]}] if row.get("fix") else []
    return Diagnosis(
        name,
        entry["title"],
        entry["severity"],
        entry["kind"],
        certainty,
        entry["summary"],
        _evidence(explanations, fact),
        Unfolding(partial(explanations.unfolded, fact)),
        (*fix, *entry["actions"]),
        explains,
        explained_by.get(name, ()),
        conflicting,
        tuple(entry.get("packet", ())),
        detail="" if row.get("title", "") == entry["title"] else row.get("title", ""),
        meaning=row.get("meaning", ""),
    )


def _only_row(base: KnowledgeBase, steps: Sequence[Step]) -> Mapping[str, Any]:
    """The row of an error table that alone concludes a diagnosis, else nothing."""
    entries = {step.rule.entry for step in steps}
    if len(entries) != 1 or steps[0].rule.form != "error":
        return {}
    found: Mapping[str, Any] = base.catalogue["entries"].get(entries.pop(), {})
    return found


def _evidence(explanations: Explanations, fact: Fact) -> tuple[Evidence, ...]:
    """The given facts at the bottom of the derivation, each once, nearest first."""
    found: dict[str, Evidence] = {}
    queue, seen = [fact], {fact}
    for current in queue:  # grows while it is walked
        for step in explanations.steps(current):
            for premise in step.facts:
                if premise in seen:
                    continue
                seen.add(premise)
                if explanations.is_derived(premise):
                    queue.append(premise)
                    continue
                fact_id = explanations.ids[premise]
                source = "; ".join(p.location or p.source for p in premise.provenance)
                found[fact_id] = Evidence(fact_id, str(premise), step.rule.entry, source)
    return tuple(found.values())


def importance(d: Ranked) -> tuple[Any, ...]:
    """The order of findings, before any severity is lowered: the most important first."""
    return (
        d.kind == "benign",
        bool(d.explained_by),
        d.conflicting,
        # A merely possible cause never comes before a likely symptom.
        -_CONFIDENCE.index(d.confidence),
        -SEVERITIES.index(d.severity),
        _KINDS.index(d.kind),
        -len(d.explains),
        d.id,
    )
