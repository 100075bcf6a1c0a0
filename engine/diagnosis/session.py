"""Sessions: facts that arrive and change over time, with a report at any moment."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ...facts import Fact
from ...facts.fact import canonical
from ..inference.working_memory import WorkingMemory
from .report import Report

if TYPE_CHECKING:
    from .consultation import Consultation
    from .diagnoser import Diagnoser


class Session:
    """Facts of one run, as they arrive. Belongs to one thread at a time.

    A fact is matched when it arrives; joins and conclusions are made on demand. Each answer equals
    that of a diagnosis from scratch.
    """

    def __init__(self, doctor: Diagnoser, facts: Iterable[Fact] = ()) -> None:
        self._doctor = doctor
        self._facts: dict[Fact, Fact] = {}
        self._memory = WorkingMemory(doctor.matcher)
        self._consultation: Consultation | None = None
        self.add(*facts)

    @property
    def facts(self) -> tuple[Fact, ...]:
        """The given facts in canonical order."""
        return canonical(self._facts.values())

    def add(self, *facts: Fact) -> None:
        """Add facts. One that is known already gains the new provenance."""
        for fact in facts:
            known = self._facts.pop(fact, None)
            if known is not None:
                self._memory.forget(known)
                (fact,) = canonical((known, fact))
            self._facts[fact] = fact
            self._memory.add(fact)
            self._consultation = None

    def retract(self, *facts: Fact) -> None:
        """Retract facts. Raises KeyError for one that is not there."""
        for fact in facts:
            del self._facts[fact]
            self._memory.forget(fact)
            self._consultation = None

    def change(self, *facts: Fact) -> None:
        """Add facts in place of those that say something else about the same thing (the same key of
        a functional kind)."""
        for fact in facts:
            replaced = [known for known in self._facts if self._doctor.replaces(fact, known)]
            self.retract(*(known for known in replaced if known != fact))
            self.add(fact)

    def consult(self) -> Consultation:
        """The current facts with everything that can be asked about them."""
        if self._consultation is None:
            self._consultation = self._doctor.consult(self._facts.values(), self._memory.copy())
        return self._consultation

    def report(self) -> Report:
        """The report on the current facts."""
        return self.consult().report()
