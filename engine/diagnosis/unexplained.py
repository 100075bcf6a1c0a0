"""Errors from which nothing is concluded: what a report must not keep silent about."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set

from ...facts import Fact, Vocabulary
from ...facts.owners import title_of
from .explain import Explanations
from .report import Diagnosis, Message, Unexplained
from .rule_constants import ERRORS
from .source_facts import SourceFacts

_FAILING = (None, "ERROR", "CRITICAL")
_LOGS = ("probe:logs", "probe:transcripts", "probe:watch")
_ON_PURPOSE = ("KeyboardInterrupt", "GeneratorExit", "StopIteration", "StopAsyncIteration")
# Requests that fail however often they are repeated; others are retried, and most retries succeed.
_REFUSALS = {*range(400, 500)} - {408, 409, 425, 429}

Place = tuple[str, int]
"""The source and line of a fact."""


def unexplained(
    known: Sequence[Fact],
    explanations: Explanations,
    diagnoses: Iterable[Diagnosis],
    messages: Iterable[Message],
    vocabulary: Vocabulary,
) -> tuple[Unexplained, ...]:
    """The errors among the given facts on which no diagnosis rests, those that ended a program
    first. Messages of one chain of exceptions, and facts from one line, report one event: an
    explanation of one explains all."""
    errors = [f for f in known if f.kind in ERRORS and not explanations.is_derived(f)]
    if not errors:
        return ()
    ids = explanations.ids
    used = {e.fact for d in diagnoses for e in d.evidence}
    evidence = {f for f in known if ids[f] in used}
    places = _places(evidence)
    explained = {f for f in errors if f in evidence or places & _places((f,))}
    explained |= _in_chains(errors, explained)
    # The status of an answer adds nothing to the message that reports it.
    kind = min(f.kind for f in errors)
    left = [f for f in errors if f.kind == kind and f not in explained and _fails(f)]
    rows = {m.text: m.row for m in messages if not m.causes}
    read = SourceFacts(known)
    found = [_unexplained(f, ids[f], rows, read) for f in sorted(_once(left), key=_weight)]
    return tuple([_owned(each, vocabulary) if each.owner else each for each in found])


def _fails(fact: Fact) -> bool:
    """Whether a fact reports an error, not a warning, a retry or a passing remark."""
    from_log = any(p.source in _LOGS for p in fact.provenance)
    if fact.kind == "http_response":
        status = fact.get("status")
        return not from_log and status in _REFUSALS
    exception = str(fact.get("exception") or "")
    if exception.endswith("Warning") or exception in _ON_PURPOSE:
        return False
    level = fact.get("level")
    if level is None and not exception and (from_log or fact.get("source") == "log"):
        return False
    return level in _FAILING


def _in_chains(errors: Sequence[Fact], explained: Set[Fact]) -> Set[Fact]:
    """The members of chains of exceptions with one explained member. A chain is printed from its
    first cause to the final error."""
    chained = [f for f in errors if f.get("chain") and f.get("source") != "log"]
    chained.sort(key=lambda f: (min(_places((f,)), default=("", 0)), f.get("chain") == "final"))
    found: set[Fact] = set()
    group: list[Fact] = []
    before = ""
    for fact in chained:
        read = min(_places((fact,)), default=("", 0))[0]
        if read != before:
            group, before = [], read
        group.append(fact)
        if fact in explained or (len(group) > 1 and group[-2] in found):
            found.update(group)
        if fact.get("chain") == "final":
            group = []
    return found


def _once(errors: Sequence[Fact]) -> Iterable[Fact]:
    """The longest text among the errors from one line; it contains the others."""
    of_line: dict[object, Fact] = {}
    for fact in errors:
        where = min(_places((fact,)), default=None) or fact
        known = of_line.get(where)
        if known is None or _length(fact) > _length(known):
            of_line[where] = fact
    return of_line.values()


def _length(fact: Fact) -> int:
    return len(str(fact.get("text") or ""))


def _weight(fact: Fact) -> tuple[bool, bool, str]:
    final = fact.get("chain") == "final" or not (fact.get("chain") or fact.get("level"))
    return not final, fact.get("chain") in ("cause", "context"), fact.sort_key()


def _said(fact: Fact) -> str:
    """The message as Python prints it."""
    if fact.kind == "http_response":
        operation = fact.get("operation")
        return f"HTTP {fact.get('status')}" + (f" of {operation}" if operation else "")
    parts = ("module", "exception") if fact.get("exception") else ()
    name = ".".join(str(value) for part in parts if (value := fact.get(part)))
    return ": ".join(filter(None, (name, str(fact.get("text") or ""))))


def _unexplained(fact: Fact, name: str, rows: Mapping[str, str], read: SourceFacts) -> Unexplained:
    values = dict(fact.values)
    count = values.get("count")
    return Unexplained(
        name,
        _said(fact),
        "; ".join(dict.fromkeys(p.location or p.source for p in fact.provenance if any(p[:2]))),
        count if isinstance(count, int) else 1,
        str(values.get("owner", "")),
        str(values.get("owner_confidence", "")),
        str(values.get("owner_evidence", "")),
        rows.get(str(values.get("text", "")), ""),
        read.of(fact),
    )


def _owned(error: Unexplained, vocabulary: Vocabulary) -> Unexplained:
    """The error with what is known of its owner."""
    owners = vocabulary.owners
    known = owners.get(error.owner)
    title = title_of(owners, error.owner)
    return error._replace(owner_title=title, owner_next=known.next if known else "")


def _places(facts: Iterable[Fact]) -> Set[Place]:
    return {place for f in facts for p in f.provenance if (place := _read(p.location))}


def _read(location: str) -> Place | None:
    """The line that a location names; None if it names none."""
    name, _, line = location.rpartition(":")
    return (name, int(line)) if name and line.isdecimal() else None
