"""Answers to what-if and why-not as typed, frozen values; ``plain`` gives their JSON forms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ConfidenceChange:
    """How sure a diagnosis was before a change, and is after it."""

    before: str
    after: str


@dataclass(frozen=True, slots=True)
class WhatIf:
    """The changes in the diagnoses, by id, if facts are added."""

    gained: tuple[str, ...]
    lost: tuple[str, ...]
    unchanged: tuple[str, ...]
    confidence: Mapping[str, ConfidenceChange]
    newly_ruled_out: tuple[str, ...]

    @staticmethod
    def of(plain: Mapping[str, Any]) -> WhatIf:
        """From the JSON form."""
        return WhatIf(
            tuple(plain["gained"]),
            tuple(plain["lost"]),
            tuple(plain["unchanged"]),
            {name: ConfidenceChange(*both) for name, both in plain["confidence"].items()},
            tuple(plain["newly_ruled_out"]),
        )

    def plain(self) -> dict[str, Any]:
        """The JSON form, as :meth:`.Diagnoser.what_if` gives it."""
        return {
            "gained": list(self.gained),
            "lost": list(self.lost),
            "unchanged": list(self.unchanged),
            "confidence": {name: [c.before, c.after] for name, c in self.confidence.items()},
            "newly_ruled_out": list(self.newly_ruled_out),
        }


@dataclass(frozen=True, slots=True)
class OpenCondition:
    """A condition that does not hold: in words, with the ids of the facts that contradict it, and
    what a fact that rules derive would need."""

    text: str
    facts: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()

    @staticmethod
    def of(plain: Mapping[str, Any]) -> OpenCondition:
        """From the JSON form."""
        facts, needs = plain.get("facts", ()), plain.get("needs", ())
        return OpenCondition(plain["condition"], tuple(facts), tuple(needs))

    def plain(self) -> dict[str, Any]:
        """The JSON form."""
        facts = {"facts": list(self.facts)} if self.facts else {}
        needs = {"needs": list(self.needs)} if self.needs else {}
        return {"condition": self.text, **facts, **needs}


@dataclass(frozen=True, slots=True)
class NearestWay:
    """A way to conclude a diagnosis: the entry, and its conditions that hold, that are unknown, and
    that known facts contradict."""

    rule: str
    holds: tuple[str, ...]
    missing: tuple[OpenCondition, ...]
    contradicted: tuple[OpenCondition, ...]

    @staticmethod
    def of(plain: Mapping[str, Any]) -> NearestWay:
        """From the JSON form."""
        missing, against = map(_conditions, (plain["missing"], plain["contradicted"]))
        return NearestWay(plain["rule"], tuple(plain["holds"]), missing, against)

    def plain(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "rule": self.rule,
            "holds": list(self.holds),
            "missing": [condition.plain() for condition in self.missing],
            "contradicted": [condition.plain() for condition in self.contradicted],
        }


@dataclass(frozen=True, slots=True)
class Absence:
    """Why a diagnosis is not concluded: the derivation of its being ruled out, or the nearest ways
    to it."""

    id: str
    title: str
    concluded: bool
    ruled_out: tuple[Mapping[str, Any], ...]
    ways: tuple[NearestWay, ...]

    @staticmethod
    def of(plain: Mapping[str, Any]) -> Absence:
        """From the JSON form."""
        ways = tuple(NearestWay.of(way) for way in plain["ways"])
        ruled_out = tuple(plain["ruled_out"])
        return Absence(plain["id"], plain["title"], plain["concluded"], ruled_out, ways)

    def plain(self) -> dict[str, Any]:
        """The JSON form, as :meth:`.Consultation.explain_absence` gives it."""
        return {
            "id": self.id,
            "title": self.title,
            "concluded": self.concluded,
            "ruled_out": list(self.ruled_out),
            "ways": [way.plain() for way in self.ways],
        }


def _conditions(plain: Sequence[Mapping[str, Any]]) -> tuple[OpenCondition, ...]:
    return tuple(map(OpenCondition.of, plain))
