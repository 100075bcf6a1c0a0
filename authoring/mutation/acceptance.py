"""Faults that maintainers accept, each with a reason, and acceptances that have become stale."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from ...engine.compiler.source.knowledge_source import KnowledgeSource
from ...facts import Location, Problem
from .score import SURVIVED, Verdict


class Acceptances:
    """The ``accepted_faults`` of the test files."""

    def __init__(self, source: KnowledgeSource) -> None:
        self._accepted: dict[tuple[str, str], tuple[str, Location]] = {
            (accepted.entry, accepted.fault): (
                accepted.reason,
                document.where(("accepted_faults", index)),
            )
            for document, file in source.tests
            for index, accepted in enumerate(file.accepted_faults)
        }

    def reason(self, verdict: Verdict) -> str:
        """The reason why a fault may survive; empty without one."""
        return self._accepted.get((verdict.entry, verdict.fault), ("", None))[0]

    def stale(self, tried: Collection[str], verdicts: Iterable[Verdict]) -> Iterator[Problem]:
        """Acceptances of faults that do not survive, among entries whose faults were all tried."""
        alive = {(v.entry, v.fault) for v in verdicts if v.outcome == SURVIVED}
        for (entry, fault), (_, where) in self._accepted.items():
            if entry in tried and (entry, fault) not in alive:
                message = f"no fault of {entry} survives as {fault!r}"
                yield Problem("MM319", message, where, "remove it from accepted_faults")
