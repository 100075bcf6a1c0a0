"""The mutation score: the share of faults that some case notices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from typing import NamedTuple

from ...engine.compiler.build import Built
from ...engine.compiler.source.knowledge_source import Item
from ...facts import Location
from .entry_faults import EntryFaults
from .fault import Fault
from .trials import Trials
from .witness import Witness, Witnesses

KILLED, SURVIVED, EQUIVALENT, INVALID = "killed", "survived", "equivalent", "invalid"


class Verdict(NamedTuple):
    """The result of one mutant. ``missing`` is the test that would detect it; ``noticed_by`` a case
    that does."""

    entry: str
    where: Location
    operator: str
    what: str
    outcome: str
    missing: str
    noticed_by: str

    @property
    def fault(self) -> str:
        """The fault in words, as acceptances name it."""
        return f"{self.operator}: {self.what}"


class Score(NamedTuple):
    """Counts over verdicts. Equivalent mutants and those that do not compile are listed apart."""

    killed: int
    survived: int
    equivalent: int
    invalid: int

    @staticmethod
    def of(verdicts: Iterable[Verdict]) -> Score:
        """The counts."""
        found = Counter(verdict.outcome for verdict in verdicts)
        return Score(found[KILLED], found[SURVIVED], found[EQUIVALENT], found[INVALID])

    @property
    def percent(self) -> float:
        """The share of mutants killed among those that a test could kill, to two places and never
        rounded up; 100 if there are none."""
        faults = self.killed + self.survived
        return self.killed * 10_000 // faults / 100 if faults else 100.0


class Mutation:
    """Mutates entries of a knowledge base and tries the cases on them."""

    def __init__(self, built: Built, trials: Trials) -> None:
        self._trials = trials
        self._patterns = built.forms.patterns
        self._faults = EntryFaults(built)
        self._witnesses = Witnesses(built, trials)

    @property
    def failing(self) -> Sequence[str]:
        """The cases that fail on the knowledge as it is; they can notice nothing."""
        return self._trials.failing

    def faults(self, item: Item) -> list[Fault]:
        """The faults of an entry."""
        return self._faults.of(item)

    def verdicts(self, item: Item, wanted: Container[int] | None = None) -> Iterator[Verdict]:
        """The results of the faults of an entry (of those with ``wanted`` numbers)."""
        for place, fault in enumerate(self.faults(item)):
            if wanted is None or place in wanted:
                yield self.verdict(fault)

    def verdict(self, fault: Fault) -> Verdict:
        """The result of a fault."""
        item, outcome, noticed = fault.item, SURVIVED, ""
        if not fault.compiles(self._patterns):
            outcome = INVALID
        elif fault.equivalent:
            outcome = EQUIVALENT
        elif (case := self._trials.noticed(fault)) is not None:
            outcome, noticed = KILLED, case
        missing = fault.missing if outcome == SURVIVED else ""
        where = item.where(*fault.path)
        return Verdict(item.id, where, fault.operator, fault.what, outcome, missing, noticed)

    def missing_tests(self, item: Item, survivors: Container[int]) -> Iterator[tuple[str, Witness]]:
        """Cases, with names, that would notice the faults of an entry with these numbers, if facts
        are found that show them; each case covers all the faults that it shows."""
        found: list[Witness] = []
        for place, fault in enumerate(self.faults(item)):
            if place in survivors and not self._witnesses.shown(fault, found):
                witness = self._witnesses.find(fault)
                if witness is not None:
                    found.append(witness)
                    yield fault.case_name, witness
