"""The exchange of a consultation: questions and offers, and the answers to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ....facts import Fact
from ..next_step.triage import UNKNOWN

MORE = "more"  # the entry of a user who wants more questions


class HistoryEntry(NamedTuple):
    """One step of the exchange: an answered question (``facts`` is empty for 'do not know'), or
    facts from a probe, a file or the person's own words."""

    question: str
    answer: str
    facts: tuple[Fact, ...]


def not_known(entries: Sequence[HistoryEntry]) -> int:
    """How many questions and offers in a row, up to the last, gave nothing."""
    known = (n for n, entry in enumerate(reversed(entries)) if entry.answer != UNKNOWN)
    return next(known, len(entries))


class AskedQuestion(NamedTuple):
    """A question to the person. ``choices`` maps each answer to its meaning; empty: a typed value.

    ``unit`` belongs to a number. ``why`` says what the answer separates.
    """

    id: str
    text: str
    why: str
    choices: Mapping[str, str]
    unit: str
    separates: tuple[str, ...]
    sets: Mapping[str, Any]


class Offer(NamedTuple):
    """A probe that could settle it. ``reads`` says that the person has to name what it reads."""

    probe: str
    text: str
    command: str
    seconds: float
    separates: tuple[str, ...]
    reads: bool = False
