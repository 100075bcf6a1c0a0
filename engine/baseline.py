"""Accepted findings: a baseline marks them, and says which of its entries have no effect.

The day of now is given by the caller.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ..facts import Fact, Location, Problem, Value
from .report import Accepted, Diagnosis, Report


class Entry(NamedTuple):
    """A finding that somebody accepts: ``facts`` (a kind with values) narrow it down to cases."""

    id: str
    accepted: Accepted
    facts: tuple[tuple[str, Mapping[str, Value]], ...] = ()
    where: Location | None = None


def accept(
    report: Report, entries: Iterable[Entry], today: str, seen: Report | None = None
) -> Report:
    """The report with its accepted findings marked and notes on entries that are expired or match
    nothing. ``seen`` is the same report as its readers see it: entries are written from what people
    have read, so they are compared with that."""
    shown = seen or report
    facts = {fact_id: fact for fact_id, fact, derived in shown.facts if not derived}
    found: dict[str, Accepted] = {}
    notes = list(report.notes)
    for entry in entries:
        fitting = [d for d in shown.diagnoses if _covers(entry, d, facts)]
        if entry.accepted.until < today:
            notes.append(_expired(entry, bool(fitting)))
        elif not fitting:
            notes.append(_idle(entry))
        for d in fitting:
            known = found.get(d.id)
            if entry.accepted.until >= max(today, known.until if known else ""):
                found[d.id] = entry.accepted
    diagnoses = tuple(d._replace(accepted=found.get(d.id)) for d in report.diagnoses)
    return report._replace(diagnoses=diagnoses, notes=tuple(notes))


def _covers(entry: Entry, d: Diagnosis, facts: Mapping[str, Fact]) -> bool:
    """Whether the entry is about this finding: each of its facts is there, and the evidence holds
    nothing of these kinds besides. So new evidence ends the acceptance."""
    if d.id != entry.id or d.kind == "benign":
        return False
    evidence = [facts[e.fact] for e in d.evidence if e.fact in facts]
    kinds = {kind for kind, _ in entry.facts}
    return all(any(_is(fact, *w) for fact in facts.values()) for w in entry.facts) and all(
        any(_is(fact, *wanted) for wanted in entry.facts) for fact in evidence if fact.kind in kinds
    )


def _is(fact: Fact, kind: str, values: Mapping[str, Value]) -> bool:
    return fact.kind == kind and all(fact.get(name) == value for name, value in values.items())


def _expired(entry: Entry, fits: bool) -> Problem:
    counts = "the finding counts again" if fits else "nothing is found that it was for"
    owner = f" ({entry.accepted.owner})" if entry.accepted.owner else ""
    return Problem(
        "MM342",
        f"the acceptance of {entry.id}{owner} ended on {entry.accepted.until}: {counts}",
        entry.where,
        "mend the cause, or decide anew and set another day" if fits else "remove the entry",
    )


def _idle(entry: Entry) -> Problem:
    scope = " with these facts" if entry.facts else ""
    return Problem(
        "MM343",
        f"the acceptance of {entry.id} matches nothing: it is not found{scope}",
        entry.where,
        "remove the entry if this is mended; check its id and facts if not",
    )
