"""Checks test cases: each entry has them, and they name existing entries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches

from ...engine.compiler.source.cases import AcceptedFault, Case, Expectation
from ...facts import Problem
from ...facts.problems import did_you_mean
from ...facts.strict_yaml import Document
from ..references import Path
from .lint_context import Subject
from .near_misses import near_miss_problems

_SHOWN = ("rule", "tree", "classification")
_KINDS = ("fires", "silent", "unknown")
_NAMED = ("concludes", "silent", "ruled_out", "conflicting", "diagnoses")


def case_problems(subject: Subject) -> Iterator[Problem]:
    """Problems of all test files, and entries without the cases that they need."""
    shown: dict[str, set[str]] = {}
    renamed = _renamed(subject)
    diagnoses = {item.id for item in subject.source.of("diagnosis")}
    for document, file in subject.source.tests:
        names: set[tuple[str, str]] = set()
        for index, case in enumerate(file.cases):
            path: Path = ("cases", index)
            shown.setdefault(case.entry or "", set()).add(case.kind)
            if case.entry is not None and case.entry not in {*subject.items, *renamed.values()}:
                message = f"the case is about an unknown entry {case.entry!r}"
                hint = did_you_mean(case.entry, subject.items) or "`diagnose kb list` shows all ids"
                yield Problem("MM267", message, document.where((*path, "entry")), hint)
            if (case.entry or "", case.name) in names:
                message = f"two cases of this entry are named {case.name!r}"
                yield Problem("MM285", message, document.where((*path, "name")), "rename one")
            names.add((case.entry or "", case.name))
            yield from _expectation_problems(document, path, case.expect, diagnoses)
            if subject.wants(document):
                yield from _fact_problems(subject, document, path, case)
        yield from _fault_problems(subject, document, file.accepted_faults)
    yield from _missing_cases(subject, shown, renamed)
    yield from near_miss_problems(subject)


def _renamed(subject: Subject) -> dict[str, str]:
    """Entries without any case, and similar names in cases that no entry has: most likely one of
    the two is misspelt."""
    spoken = {case.entry for _, file in subject.source.tests for case in file.cases if case.entry}
    lonely = {i.id for form in _SHOWN for i in subject.forms[form]} - spoken
    found: dict[str, str] = {}
    for name in sorted(spoken - subject.items.keys() if lonely else ()):
        close = get_close_matches(name, sorted(lonely), n=1, cutoff=0.8)
        found.update((entry, name) for entry in close)
    return found


def _fault_problems(
    subject: Subject, document: Document, faults: Sequence[AcceptedFault]
) -> Iterator[Problem]:
    for index, fault in enumerate(faults):
        if fault.entry not in subject.items:
            message = f"the accepted fault is in an unknown entry {fault.entry!r}"
            hint = did_you_mean(fault.entry, subject.items) or "`diagnose kb list` shows all ids"
            at = document.where(("accepted_faults", index, "entry"))
            yield Problem("MM267", message, at, hint)


def _expectation_problems(
    document: Document, path: Path, expect: Expectation, diagnoses: set[str]
) -> Iterator[Problem]:
    wanted = [(field, name) for field in _NAMED for name in getattr(expect, field) or ()]
    wanted += [("first", expect.first)] if expect.first else []
    wanted += [("confidence", name) for name in expect.confidence]
    wanted += [("severity", name) for name in expect.severity]
    for field, name in wanted:
        if name not in diagnoses:
            at = document.where((*path, "expect", field))
            hint = did_you_mean(name, diagnoses) or "`diagnose kb list --form diagnosis` shows all"
            yield Problem("MM267", f"the case expects an unknown diagnosis {name!r}", at, hint)
    for name in sorted({*expect.concludes, *(expect.diagnoses or ())} & {*expect.silent}):
        at = document.where((*path, "expect", "silent"))
        yield Problem("MM286", f"the case expects {name} and its absence", at, "keep one of them")


def _fact_problems(
    subject: Subject, document: Document, path: Path, case: Case
) -> Iterator[Problem]:
    for number, fact in enumerate(case.facts):
        at = document.where((*path, "facts", number))
        for problem in subject.vocabulary.problems(fact, at):
            yield Problem("MM287", f"a fact of the case is not in order: {problem.message}",
                          problem.where or at, problem.hint)  # fmt: skip


def _missing_cases(
    subject: Subject, shown: dict[str, set[str]], renamed: Mapping[str, str]
) -> Iterator[Problem]:
    for form in _SHOWN:
        # Diagnoses are tested through their rules, rows by their samples and near misses.
        for item in subject.forms[form]:
            missing = [kind for kind in _KINDS if kind not in shown.get(item.id, ())]
            if missing:
                yield Problem(
                    "MM268",
                    f"{item.id} has no case that shows it {', '.join(missing)}",
                    item.where(),
                    f"cases name {renamed[item.id]!r}: fix one of the two"
                    if item.id in renamed
                    else "add cases to the test file beside it",
                )
