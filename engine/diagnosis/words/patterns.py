"""Phrases as patterns of signs, and how far a reading matches them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from ....facts.records import NamedTuple
from .lexicon import CONTEXT, GENERIC, PLAIN, SUBJECT, TERM, Concept, Topic
from .reading import Mention, Reader, Reading

_ACROSS_CLAUSES = 0.85  # what a match in two clauses is worth of one in a single clause
_CONTEXT_WEIGHT = 0.3
_GENERIC_SHARE = 0.6


class Pattern(NamedTuple):
    """A phrase of a topic: it fits where all its signs are mentioned. ``kind`` is that of its most
    telling sign."""

    symptom: str
    diagnosis: str
    signs: frozenset[str]
    kind: str


class Match(NamedTuple):
    """How a pattern fits: what it is worth, what share of it was found, and where."""

    pattern: Pattern
    worth: float
    share: float
    mentions: tuple[Mention, ...]


def patterns(
    topics: Iterable[Topic], concepts: Mapping[str, Concept], reader: Reader
) -> list[Pattern]:
    """The patterns of all phrases, each once."""
    found: dict[Pattern, None] = {}
    for topic in topics:
        for phrase in topic.phrases:
            signs = reader.read(phrase).signs
            if signs:
                kind = min((kind_of(sign, concepts) for sign in signs), key=_TELLING.index)
                found.setdefault(Pattern(topic.symptom, topic.diagnosis, signs, kind))
    return list(found)


_TELLING = (TERM, SUBJECT, PLAIN, GENERIC, CONTEXT)


def kind_of(sign: str, concepts: Mapping[str, Concept]) -> str:
    """The kind of a sign; a negation tells more than the generic concept that it negates."""
    kind = concepts[sign.removeprefix("~")].kind
    return PLAIN if kind == GENERIC and sign[0] == "~" else kind


def tells_as_much(one: Pattern, other: Pattern) -> bool:
    """Whether the most telling sign of a pattern is of no lower kind than that of another."""
    return _TELLING.index(one.kind) <= _TELLING.index(other.kind)


def weights(known: Sequence[Pattern], concepts: Mapping[str, Concept]) -> dict[str, float]:
    """The weight of a sign: the fewer symptoms use it, the higher."""
    users: dict[str, set[str]] = {}
    for pattern in known:
        for sign in pattern.signs:
            users.setdefault(sign, set()).add(pattern.symptom)
    symptoms = len({pattern.symptom for pattern in known})
    rare = {sign: math.log(1 + symptoms / len(of)) for sign, of in users.items()}
    shares = {GENERIC: _GENERIC_SHARE}
    return {
        sign: _CONTEXT_WEIGHT if kind == CONTEXT else rare[sign] * shares.get(kind, 1)
        for sign, kind in ((sign, kind_of(sign, concepts)) for sign in users)
    }


def said_of(known: Iterable[Pattern]) -> dict[str, frozenset[str]]:
    """The signs in the phrases of each symptom."""
    found: dict[str, frozenset[str]] = {}
    for pattern in known:
        found[pattern.symptom] = found.get(pattern.symptom, frozenset()) | pattern.signs
    return found


def match(
    pattern: Pattern, reading: Reading, weight: Mapping[str, float], cleared: Mapping[int, str]
) -> Match | None:
    """Match a pattern with a reading; None if nothing of it was found. ``cleared`` are the harmless
    clauses by the sign that marks them: they count only for patterns with that sign."""
    places: dict[str, list[Mention]] = {}
    for mention in reading.mentions:
        well = cleared.get(mention.clause)
        if mention.sign in pattern.signs and (well is None or well in pattern.signs):
            places.setdefault(mention.sign, []).append(mention)
    if not places:
        return None
    anchor = max(places, key=lambda sign: (weight[sign], sign))
    chosen = _nearest(places, anchor)
    found = sum(weight[sign] for sign in sorted(places))
    whole = sum(weight[sign] for sign in sorted(pattern.signs))
    scattered = len({mention.clause for mention in chosen}) > 1
    worth = found * (_ACROSS_CLAUSES if scattered else 1)
    share = 1.0 if len(places) == len(pattern.signs) else found / whole
    return Match(pattern, worth, share, chosen)


def _nearest(places: Mapping[str, Sequence[Mention]], anchor: str) -> tuple[Mention, ...]:
    """One mention for each sign, in as few clauses as may be."""

    def beside(first: Mention) -> tuple[Mention, ...]:
        return tuple(
            min(there, key=lambda m: (abs(m.clause - first.clause), abs(m.place - first.place)))
            for there in places.values()
        )

    return min(
        (beside(first) for first in places[anchor]),
        key=lambda chosen: (len({m.clause for m in chosen}), chosen),
    )
