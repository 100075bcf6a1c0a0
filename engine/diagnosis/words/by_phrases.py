"""Finds the complaints of a text by phrases whose concepts it all mentions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .lexicon import CONTEXT, GENERIC, PLAIN, SUBJECT, TERM, Lexicon
from .patterns import Match, kind_of, match, patterns, said_of, tells_as_much, weights
from .reading import Reader, Reading
from .understood import Understanding

_MOST_NEAR = 4
_NEAR = 0.3  # the share of a phrase that comes near
# What is worth so much of the best may be meant as well; the second where it tells less.
_CLOSE = 0.7
_AS_GOOD = 0.93
# Number of unknown words that a match tolerates, by its most specific sign.
_UNKNOWN_BESIDE_ONE = {TERM: 3, SUBJECT: 1, PLAIN: 1}
_UNKNOWN_BESIDE_SEVERAL = {TERM: 6, SUBJECT: 6, PLAIN: 3, GENERIC: 1}


class ByPhrases:
    """Matches texts with the phrases of one lexicon."""

    def __init__(self, lexicon: Lexicon, reader: Reader) -> None:
        self._lexicon = lexicon
        concepts = lexicon.concepts
        self._patterns = patterns(lexicon.topics, concepts, reader)
        self._weights = weights(self._patterns, concepts)
        self._said_of = said_of(self._patterns)

    def exact(self, reading: Reading) -> frozenset[str]:
        """The symptoms that have a phrase with just the concepts of a text, and nothing else."""
        if reading.unknown:
            return frozenset()
        return frozenset(p.symptom for p in self._patterns if p.signs == reading.signs)

    def tells(self, reading: Reading, *, subjects: bool = True) -> bool:
        """Whether a text mentions more than what fits everything."""
        kinds = [kind_of(sign, self._lexicon.concepts) for sign in reading.signs]
        enough = {PLAIN, TERM, SUBJECT} if subjects else {PLAIN, TERM, GENERIC}
        return not enough.isdisjoint(kinds) or (subjects and kinds.count(GENERIC) > 1)

    def understand(self, reading: Reading) -> Understanding:
        """The complaints of a text."""
        if not reading.mentions or self.is_foreign(reading):
            return Understanding()
        found = self._matches(reading)
        whole = [m for m in found if m.share == 1 and self._bears(m, reading)]
        taken = _several(whole)
        near = self._near(found, reading)
        if not taken:
            denied = self._denied(reading)
            if len(reading.mentions) * 2 < reading.unknown:
                near = []
            return Understanding(
                (), (), denied, tuple(n for n in near if n not in denied)[:_MOST_NEAR]
            )
        symptoms = _symptoms(taken)
        if rivals := [name for each in taken for name in _rivals(each, whole, symptoms)]:
            return Understanding(near=tuple(dict.fromkeys([*rivals, *near]))[:_MOST_NEAR])
        denied = self._denied(reading)
        causes = dict.fromkeys(m.pattern.diagnosis for m in taken if m.pattern.diagnosis)
        return Understanding(
            tuple(symptoms), tuple(causes), tuple(n for n in denied if n not in symptoms)
        )

    def _matches(self, reading: Reading) -> list[Match]:
        """All matches, the best first."""
        concepts = self._lexicon.concepts
        cleared = {
            m.clause: m.sign
            for m in reading.mentions
            if m.sign in concepts and concepts[m.sign].clears
        }
        found = (match(p, reading, self._weights, cleared) for p in self._patterns)
        return sorted((m for m in found if m is not None), key=_order)

    def is_foreign(self, reading: Reading) -> bool:
        """Whether the text is about other subjects only."""
        concepts = self._lexicon.concepts
        ours = sum(
            m.sign in concepts and concepts[m.sign].kind in (CONTEXT, SUBJECT, TERM)
            for m in reading.mentions
        )
        return reading.foreign > 0 and reading.foreign >= ours

    def _near(self, found: Sequence[Match], reading: Reading) -> list[str]:
        """The symptoms that may be meant, filled up with what shares any word with the text."""
        near = [m for m in found if m.share >= _NEAR and self._tells(m)]
        telling = any(map(self._tells, found)) or reading.unknown < len(reading.signs) > 1
        return _symptoms([*near, *(found if telling else ())])

    def _tells(self, found: Match) -> bool:
        """Whether what was found of a pattern is more than a word that fits everything."""
        kinds = {kind_of(m.sign, self._lexicon.concepts) for m in found.mentions}
        return bool(kinds & {PLAIN, SUBJECT, TERM}) or (
            len(found.mentions) > 1 and GENERIC in kinds
        )

    def _bears(self, found: Match, reading: Reading) -> bool:
        """Whether a match is strong enough for the unknown words."""
        kind, signs = found.pattern.kind, found.pattern.signs
        concepts = self._lexicon.concepts
        clauses = {m.clause for m in found.mentions}
        known = self._said_of[found.pattern.symptom]
        if any(
            kind_of(m.sign, concepts) in (SUBJECT, TERM) and m.sign not in known
            for m in reading.mentions
            if m.clause in clauses
        ):
            return False  # it has a specific word that no phrase of this symptom has
        if not self._explains(found, reading):
            return False
        scattered = len({m.clause for m in found.mentions}) > 1
        if kind == CONTEXT or (kind == GENERIC and len(signs) < (3 if scattered else 2)):
            return False
        if len(signs) > 1:
            return reading.unknown <= _UNKNOWN_BESIDE_SEVERAL[kind]
        most = _UNKNOWN_BESIDE_ONE[kind]
        return reading.unknown <= (most if kind == TERM or len(reading.signs) > 1 else 0)

    def _explains(self, found: Match, reading: Reading) -> bool:
        """Whether a match outweighs the words in its clauses that no phrase of the symptom has."""
        clauses = {m.clause for m in found.mentions}
        known = self._said_of[found.pattern.symptom]
        other = {m.sign for m in reading.mentions if m.clause in clauses} - known
        unsaid = sum(self._weights.get(sign, 0.0) for sign in sorted(other))
        return sum(self._weights[m.sign] for m in found.mentions) >= unsaid

    def _denied(self, reading: Reading) -> tuple[str, ...]:
        """The symptom that is denied most clearly, if any."""
        negated = {m.sign[1:] for m in reading.mentions if m.sign[0] == "~"}
        signs = reading.signs | negated
        found = [p.symptom for p in self._patterns if p.signs & negated and p.signs <= signs]
        return tuple(sorted(set(found), key=lambda name: (-found.count(name), name)))[:1]


def _order(found: Match) -> tuple[float, float, str, str]:
    return (
        -found.worth * found.share,
        -found.share,
        found.pattern.symptom,
        found.pattern.diagnosis,
    )


def _symptoms(found: Iterable[Match]) -> list[str]:
    """The symptoms, each once, in the order of the matches."""
    return list(dict.fromkeys(m.pattern.symptom for m in found))


def _several(whole: Sequence[Match]) -> list[Match]:
    """The best match, and those of other symptoms in other clauses."""
    taken: list[Match] = []
    for each in whole:
        if all(_apart(each, other) for other in taken):
            taken.append(each)
    return sorted(taken, key=lambda m: min(x.place for x in m.mentions))


def _apart(one: Match, other: Match) -> bool:
    """Whether two matches are two complaints: each has words of its own, in clauses of its own."""
    if one.pattern.symptom == other.pattern.symptom:
        return False
    clauses = {m.clause for m in other.mentions}
    own = set(one.mentions) - set(other.mentions)
    return bool(own) and not any(m.clause in clauses for m in own)


def _rivals(best: Match, whole: Sequence[Match], taken: Sequence[str]) -> list[str]:
    """The symptom, and those not taken that the same words may mean as well; empty if there are
    none."""
    spoken = {m.clause for m in best.mentions}
    close = [
        m
        for m in whole
        if m.worth >= (_CLOSE if tells_as_much(m.pattern, best.pattern) else _AS_GOOD) * best.worth
        and {x.clause for x in m.mentions} & spoken
        and not m.pattern.signs < best.pattern.signs
        and m.pattern.symptom not in taken
    ]
    return _symptoms([best, *close]) if close else []
