"""Compares two diagnoses: fixed, new, persisting, out of sight, or other knowledge.

A problem whose evidence was not gathered again is not fixed. So evidence missing from the later
facts is put back, and problems that are then concluded again are *lost visibility*.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ...facts import Fact
from .diagnoser import Diagnoser
from .report import Report

_PROBE = "probe:"


class ReportedProblem(NamedTuple):
    """A problem in a report. ``evidence`` holds the given facts that it rests on."""

    title: str
    severity: str
    confidence: str
    evidence: tuple[Fact, ...]
    accepted: bool = False


class Snapshot(NamedTuple):
    """The content of a report: the digest of the knowledge, the given facts, the problems by id,
    and the diagnoses that are ruled out."""

    digest: str
    facts: tuple[Fact, ...]
    problems: Mapping[str, ReportedProblem]
    ruled_out: frozenset[str]

    @staticmethod
    def of(report: Report) -> Snapshot:
        """The content of a report."""
        given = {fact_id: fact for fact_id, fact, derived in report.facts if not derived}
        problems = {
            d.id: ReportedProblem(
                d.title,
                d.severity,
                d.confidence,
                tuple(given[e.fact] for e in d.evidence if e.fact in given),
                d.accepted is not None,
            )
            for d in report.diagnoses
            if d.kind != "benign"
        }
        out = frozenset(r.id for r in report.ruled_out) - problems.keys()
        return Snapshot(str(report.knowledge["digest"]), tuple(given.values()), problems, out)


class ProblemChange(NamedTuple):
    """One problem, before and after (None: not concluded), and why it is in its list."""

    id: str
    before: ReportedProblem | None
    after: ReportedProblem | None
    because: str = ""


class Comparison(NamedTuple):
    """Every problem of either side is in exactly one list, by id."""

    fixed: tuple[ProblemChange, ...]
    new: tuple[ProblemChange, ...]
    persisting: tuple[ProblemChange, ...]
    lost_visibility: tuple[ProblemChange, ...]
    changed_by_knowledge: tuple[ProblemChange, ...]


def compare(doctor: Diagnoser, before: Snapshot, after: Snapshot) -> Comparison:
    """The comparison. Where the sides were made with different knowledge, both are derived again
    with that of ``doctor``, and changes that this alone causes are listed separately."""
    then, now = before, after
    if before.digest != after.digest:
        then, now = renewed(doctor, before), renewed(doctor, after)
    return _Comparing(doctor, before, then, now).comparison()


def renewed(doctor: Diagnoser, old: Snapshot) -> Snapshot:
    """The same facts with the knowledge of ``doctor``."""
    if old.digest == doctor.base.digest:
        return old
    new = Snapshot.of(doctor.diagnose(old.facts))
    accepted = {name for name, found in old.problems.items() if found.accepted}
    problems = {n: f._replace(accepted=n in accepted) for n, f in new.problems.items()}
    return new._replace(problems=problems)


class _Comparing:
    """``told`` is the earlier side as it was reported, ``then`` the same side with the knowledge by
    which it is compared with ``now``."""

    def __init__(self, doctor: Diagnoser, told: Snapshot, then: Snapshot, now: Snapshot) -> None:
        self._doctor = doctor
        self._told, self._then, self._now = told.problems, then, now
        self._looked = {
            p.source for f in now.facts for p in f.provenance if p.source.startswith(_PROBE)
        }

    def comparison(self) -> Comparison:
        lists: dict[str, list[ProblemChange]] = {name: [] for name in Comparison._fields}
        then, now = self._then.problems, self._now.problems
        for name in sorted(self._told.keys() | then.keys() | now.keys()):
            earlier, later = then.get(name), now.get(name)
            if (name in self._told) != (earlier is not None):
                word = "now concluded from" if earlier else "not concluded any more from"
                because = f"{word} the same facts"
                change = ProblemChange(name, self._told.get(name), earlier, because)
                lists["changed_by_knowledge"].append(change)
            elif earlier and later:
                lists["persisting"].append(ProblemChange(name, earlier, later))
            elif later:
                lists["new"].append(ProblemChange(name, None, later))
            elif earlier:
                part, because = self._gone(name, earlier)
                lists[part].append(ProblemChange(name, earlier, None, because))
        return Comparison(*(tuple(lists[part]) for part in Comparison._fields))

    def _gone(self, name: str, found: ReportedProblem) -> tuple[str, str]:
        """Whether a problem is fixed or only out of sight, and why."""
        if name in self._now.ruled_out:
            return "fixed", "ruled out now"
        unseen = [fact for fact in found.evidence if not self._speaks_of(fact)]
        if unseen and self._would_hold(name, unseen):
            return "lost_visibility", f"nothing is said any more about {_listed(unseen)}"
        gone = [fact for fact in found.evidence if fact not in unseen and not self._has(fact)]
        return "fixed", f"no longer so: {_listed(gone)}" if gone else "the facts say otherwise now"

    def _speaks_of(self, fact: Fact) -> bool:
        """Whether the later facts repeat it, say something else about the same thing, or come from
        the probe that reported it and would have done so again."""
        if self._has(fact) or any(self._doctor.replaces(fact, other) for other in self._now.facts):
            return True
        return any(self._negates(other, fact) for other in self._now.facts) or any(
            p.source in self._looked for p in fact.provenance
        )

    def _negates(self, other: Fact, fact: Fact) -> bool:
        """Whether ``other`` says that ``fact`` was looked for and not found."""
        kind = self._doctor.base.vocabulary.kinds[fact.kind]
        if other.kind != fact.kind or not kind.polarity or other.get(kind.polarity) is not False:
            return False
        return all(other.get(name) == fact.get(name) for name in kind.key)

    def _has(self, fact: Fact) -> bool:
        return fact in self._now.facts

    def _would_hold(self, name: str, unseen: Iterable[Fact]) -> bool:
        report = self._doctor.diagnose([*self._now.facts, *unseen])
        return any(d.id == name for d in report.diagnoses)


def _listed(facts: Iterable[Fact], most: int = 3) -> str:
    shown = list(dict.fromkeys(str(fact) for fact in facts))
    more = f" and {len(shown) - most} more" if len(shown) > most else ""
    return ", ".join(shown[:most]) + more
