"""Baselines: mark accepted findings, and report entries that are expired or have no effect.

The caller gives the current day.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ...facts import Fact, Location, Problem, Value
from .report import Accepted, Diagnosis, Report


class BaselineEntry(NamedTuple):
    """An accepted finding; ``facts`` (a kind with values) restrict it to cases."""

    id: str
    accepted: Accepted
    facts: tuple[tuple[str, Mapping[str, Value]], ...] = ()
    where: Location | None = None


def accept(
    report: Report, entries: Iterable[BaselineEntry], today: str, seen: Report | None = None
) -> Report:
    """The report with its accepted findings marked and notes on entries that are expired or match
    nothing. ``seen`` is the redacted report: people write entries from what they have read, so
    entries are compared with that."""
    shown = seen or report
    facts = {fact_id: fact for fact_id, fact, derived in shown.facts if not derived}
    problems = {d.id: d for d in shown.diagnoses if d.kind != "benign"}
    found: dict[str, Accepted] = {}
    notes = list(report.notes)
    for entry in entries:
        reason = _apart(entry, problems.get(entry.id), facts)
        if entry.accepted.until < today:
            notes.append(_expired(entry, fits=not reason))
        elif reason:
            notes.append(_idle(entry, reason))
        elif entry.id not in found or found[entry.id].until < entry.accepted.until:
            found[entry.id] = entry.accepted
    diagnoses = tuple(d._replace(accepted=found.get(d.id, d.accepted)) for d in report.diagnoses)
    return report._replace(diagnoses=diagnoses, notes=tuple(notes))


def _apart(entry: BaselineEntry, d: Diagnosis | None, facts: Mapping[str, Fact]) -> str:
    """Why the entry does not fit this finding, or an empty text. All its facts must be there, and
    the evidence may hold no other facts of their kinds: new evidence ends an acceptance. Of code
    that is known by its fingerprint, some may be mended meanwhile."""
    if d is None:
        return "it is not found"
    marked = [wanted for wanted in entry.facts if "fingerprint" in wanted[1]]
    left = any(_is(fact, *wanted) for wanted in marked for fact in facts.values())
    for kind, values in entry.facts:
        if left and "fingerprint" in values:
            continue
        if not any(_is(fact, kind, values) for fact in facts.values()):
            return f"there is no such fact: {Fact.from_items(kind, values.items())}"
    kinds = {kind for kind, _ in entry.facts}
    for fact in (facts[e.fact] for e in d.evidence if e.fact in facts):
        if fact.kind in kinds and not any(_is(fact, *wanted) for wanted in entry.facts):
            return f"it rests on more than the facts of the entry: {fact}"
    return ""


def _is(fact: Fact, kind: str, values: Mapping[str, Value]) -> bool:
    return fact.kind == kind and all(fact.get(name) == value for name, value in values.items())


def _expired(entry: BaselineEntry, fits: bool) -> Problem:
    counts = "the finding counts again" if fits else "nothing is found that it was for"
    owner = f" ({entry.accepted.owner})" if entry.accepted.owner else ""
    return Problem(
        "MM342",
        f"the acceptance of {entry.id}{owner} ended on {entry.accepted.until}: {counts}",
        entry.where,
        "fix the cause, or decide again and set another day" if fits else "remove the entry",
    )


def _idle(entry: BaselineEntry, reason: str) -> Problem:
    return Problem(
        "MM343",
        f"the acceptance of {entry.id} has no effect: {reason}",
        entry.where,
        "remove the entry if this is mended; check its id and facts if not",
    )
