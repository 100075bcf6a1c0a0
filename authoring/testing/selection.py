"""Finds the cases that a change of knowledge files can affect."""

from __future__ import annotations

from collections.abc import Collection

from ...engine.compiler.build import Built
from ...engine.compiler.reach import CaseReach, bits
from ...engine.compiler.source.cases import Case
from ...engine.compiler.source.knowledge_source import Item
from ...facts import Fact, ModelMedicError
from .case_runner import Sample, Tested, case_facts


class Selection:
    """The cases and samples that may come out differently after a change of ``files``: those in
    them, those that name their entries, and those whose facts these entries can reach."""

    def __init__(self, built: Built, files: Collection[str]) -> None:
        self._files = set(files)
        changed = [item for item in built.source.items if item.document.path in self._files]
        self._entries = {item.id for item in changed}
        self._rows = self._entries | {
            general
            for item in changed
            if item.form == "error"
            for general in item.entry.match.refines
        }
        rules = [rule for rule in built.rules if rule.entry in self._entries]
        self._named = self._entries | {
            str(dict(values)["name"])
            for rule in rules
            for kind, values, _ in rule.conclusions
            if kind == "diagnosis"
        }
        cases = [case for _, file in built.source.tests for case in file.cases]
        facts = [_facts(case, built) for case in cases]
        derived = [kind.name for kind in built.vocabulary.kinds.values() if kind.derived]
        reach = CaseReach(facts, derived, built.forms.patterns)
        reach.settle(built.rules)
        reached = 0
        for rule in rules:
            reached |= reach.of(rule)
        self._reached = {id(cases[place]) for place in bits(reached)}

    def wants(self, file: str, part: Tested) -> bool:
        """Whether something of a file is to be run."""
        if isinstance(part, Item):
            return part.id in self._rows
        if isinstance(part, Sample):
            return part.item.id in self._rows
        return file in self._files or id(part) in self._reached or self._speaks_of(part)

    def _speaks_of(self, case: Case) -> bool:
        expect = case.expect
        named = {case.entry, expect.first, *expect.concludes, *expect.silent, *expect.ruled_out}
        return not self._named.isdisjoint(named | {*(expect.diagnoses or ()), *expect.conflicting})


def _facts(case: Case, built: Built) -> list[Fact]:
    try:
        return case_facts(case, built.vocabulary)
    except ModelMedicError:
        return []  # such a case fails by itself
