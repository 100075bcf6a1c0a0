"""Finds the complaints of a text by the weights of its signs and the phrases that it matches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ....facts.records import NamedTuple
from .by_phrases import ByPhrases
from .lexicon import Lexicon
from .parting import partings
from .reading import Reader, Reading
from .scoring import Score, Scorer
from .understood import Understanding

_MOST_NEAR = 4
_FIRM = 0.7  # the chance from which a symptom is taken
_FIRM_WITH_PHRASE = 0.7  # where a phrase says the same
_FIRM_WORD_FOR_WORD = 0.25  # where a phrase says just the same, and nothing else
_FIRM_AMONG_UNKNOWN = 0.9  # where less than this share of the words is known:
_KNOWN = 0.7
_STRANGE = 0.5  # the share of known words up to which what they say by themselves does not count
_FIRM_WITHOUT_CONCEPT = 0.85  # where no concept of the lexicon tells anything
_WITH_CAUSE = 0.5  # where a phrase names a cause of it
_AHEAD = 3.0  # how many times as likely as the next one
_NOTHING = 0.9  # the chance of no complaint from which nothing is offered
_LIKELY_NOTHING = 0.5  # the chance of no complaint from which unknown words are left alone
_SILENT = 0.5  # the chance of no complaint from which it may be a denial
_PERHAPS = 0.3  # the chance that is offered among words of other matters
_STRONG = 0.7  # the chance that stands among words of other matters
_SURE = 0.99  # the chance that a denied symptom may keep, at most
_PART = 0.6  # the chance from which a part of a text is a complaint of its own
_HEARD = 0.02  # the chance in the whole text that a complaint of its part has
_DOUBT = 0.7  # the chance of each part from which a text may say several things
_DOUBT_DENIED = 0.6  # that of a part that denies something
_OTHER = 0.9  # the chance of a part of another symptom that is asked back
_HEARD_AT_LEAST = 0.01  # if the whole text supports it this much, or
_HEARD_OF_SURE = 0.0003  # so much, where the chance of the part is
_VERY_SURE = 0.92
_NAMED = 0.03  # the chance of a symptom that is named, and
_CLEARLY = 0.65  # its share of all symptoms
_RECORDED = 0.96  # the chance of each part from which several complaints are taken
_HINT = 0.5  # the chance of a part of another symptom that keeps a text from being one complaint
_HINT_HEARD = 0.04  # the chance in the whole text that a hint of its part has
_SURE_OF_ALL = 0.9  # the chance of the whole text that no mere hint changes
_DENIED = 0.6  # the chance of a symptom, without its negation, from which it is denied


class _Part(NamedTuple):
    """The symptom of a part of a text, if any, and its chance."""

    chance: float = 0.0
    symptom: str = ""
    denied: bool = False


class Understander:
    """Understands texts with one lexicon."""

    def __init__(self, plain: Mapping[str, Any]) -> None:
        """``plain`` is the section ``words`` of the catalogue of a knowledge base."""
        self._lexicon = Lexicon(plain)
        self._reader = Reader(self._lexicon)
        self._phrases = ByPhrases(self._lexicon, self._reader)
        self._scorer = Scorer(plain.get("weights") or {})

    def understand(self, text: str) -> Understanding:
        """The complaints of a text."""
        reading = self._reader.read(text)
        said = self._phrases.understand(reading)
        if not self._scorer:
            return said
        score = self._scorer.score(text)
        if not (any(map(str.isalpha, text)) or (score.known and score.chance >= _FIRM)):
            return Understanding()  # a number without a meaning here
        found = self._weighed(text, score, reading, said)
        nothing = score.known > _STRANGE and score.nothing >= _LIKELY_NOTHING
        if found.denied or (nothing and not found.symptoms):
            return found
        known = self._in_known_words(text, reading)
        if found.symptoms:
            return self._unless_misread(known, found, score)
        again = self._weighed(known, self._scorer.score(known), reading, said) if known else found
        agrees = again.symptoms == (score.best,) or score.known <= _STRANGE
        if again.symptoms and agrees:
            return again
        strange = not any(self._scorer.knows(w) for _, words in reading.forms for w in words)
        return said if strange and said.symptoms and not (known and score.known) else found

    def _unless_misread(
        self, known: str | None, found: Understanding, score: Score
    ) -> Understanding:
        """The complaints found, unless the text in ``known`` words has another meaning: a typing
        error may hide the decisive word."""
        other = self._scorer.score(known) if known else Score()
        if other.chance < _FIRM or other.best in found.symptoms:
            return found
        return Understanding(near=_near((*found.symptoms, other.best), score))

    def is_sure(self, text: str) -> bool:
        """Whether the words alone name one symptom beyond doubt."""
        return self._scorer.score(text).chance >= _SURE_OF_ALL

    def _weighed(
        self, text: str, score: Score, reading: Reading, said: Understanding
    ) -> Understanding:
        if self._phrases.is_foreign(reading) and score.chance < _STRONG:
            likely = score.nothing < _LIKELY_NOTHING and score.chance >= _PERHAPS
            return Understanding(near=_near((), score) if likely else ())
        if word_for_word := self._word_for_word(reading, score):
            return Understanding((word_for_word,), said.diagnoses)
        if several := self._several(text, score):
            return several
        found = self._one(text, score, reading, said)
        others = self._hinted(text, score) if found.symptoms else ()
        return Understanding(near=_near((*found.symptoms, *others), score)) if others else found

    def _word_for_word(self, reading: Reading, score: Score) -> str:
        """The symptom that has a phrase with just the concepts of the text, if it is the likeliest
        or no other symptom has such a phrase."""
        exact = self._phrases.exact(reading)
        name = score.best if score.best in exact or len(exact) != 1 else next(iter(exact))
        return name if name in exact and score.of(name) >= _FIRM_WORD_FOR_WORD else ""

    def _in_known_words(self, text: str, reading: Reading) -> str | None:
        """The text, with a word that has weights for each concept whose words have none (of an
        overlay, or misspelt); None if a concept has no such word."""
        added = []
        for concept, words in reading.forms:
            if not any(map(self._scorer.knows, words)):
                written = (concept, *self._lexicon.words_for(concept))
                same = (word for word in written if all(map(self._scorer.knows, word.split())))
                added.append(next(same, None))
        told = [word for word in added if word]
        return " ".join([*told, text]) if len(told) == len(added) else None

    def _one(self, text: str, score: Score, reading: Reading, said: Understanding) -> Understanding:
        """One complaint or denial, or what it may be."""
        best = score.best
        if said.diagnoses and score.chance < _STRONG:
            named = max(score.of(name) for name in said.symptoms)
            if named >= _WITH_CAUSE:
                return said._replace(denied=(), near=())
        least = _FIRM_WITH_PHRASE if best in said.symptoms else self._firm(score, reading)
        second = max(score.ranked[1][0] if len(score.ranked) > 1 else 0.0, score.nothing)
        ahead = 0.0 if best in said.symptoms else _AHEAD
        if score.chance >= least and score.chance >= ahead * second:
            return Understanding((best,), said.diagnoses if best in said.symptoms else ())
        if score.nothing >= _SILENT and best not in said.symptoms:
            denied, _ = self._denial(text, score)
            if denied or score.nothing >= _NOTHING:
                return Understanding(denied=(denied,) if denied else ())
        return Understanding(near=_near((), score))

    def _hinted(self, text: str, score: Score) -> tuple[str, ...]:
        """Other symptoms that parts of a text may state or deny."""
        parts = {each for texts in partings(text, self._lexicon.breaks) for each in texts}
        plain = {self._reader.read(each).affirmed for each in parts} - {""}
        weighed = map(self._scorer.score, sorted(parts | plain))
        hints = [(p.chance, p.best) for p in weighed if _may_be_another(p, score)]
        return tuple(dict.fromkeys(name for _, name in sorted(hints, reverse=True)))

    def _firm(self, score: Score, reading: Reading) -> float:
        """The chance from which a symptom is taken: higher where words are unknown, or where no
        concept of ours is mentioned."""
        if not self._phrases.tells(reading):
            return _FIRM_WITHOUT_CONCEPT
        return _FIRM_AMONG_UNKNOWN if score.known < _KNOWN else _FIRM

    def _several(self, text: str, score: Score) -> Understanding | None:
        """Several complaints, or complaints and denials, where the text falls into such parts."""
        known: dict[str, _Part] = {}
        found: list[tuple[float, Understanding]] = []
        for texts in partings(text, self._lexicon.breaks):
            for each in texts:
                if each not in known:
                    known[each] = self._part(each)
            parts = [known[each] for each in texts if known[each].symptom]
            if meant := _together(parts, score):
                found.append((min(part.chance for part in parts), meant))
        if not found:
            return None
        least, best = max(found, key=lambda each: each[0])
        whole = score.chance if score.best not in (*best.symptoms, *best.near) else 0.0
        if least <= whole:
            return None
        return best if best.symptoms else Understanding(near=_near(best.near, score))

    def _part(self, text: str) -> _Part:
        score = self._scorer.score(text)
        denied, chance = self._denial(text, score)
        rest = score.best_of_rest
        if not denied and score.nothing >= _SILENT and score.chance >= _NAMED and rest >= _CLEARLY:
            denied, chance = score.best, rest  # it names a symptom, and complains of nothing
        if denied:
            return _Part(chance, denied, denied=True)
        sure = score.chance >= max(_PART, self._firm(score, self._reader.read(text)))
        return _Part(score.chance, score.best) if sure else _Part()

    def _denial(self, text: str, score: Score) -> tuple[str, float]:
        """The symptom that is said not to occur, if any, with its chance: without the negation it
        would be likely, and no less so."""
        affirmed = self._reader.read(text).affirmed
        if not affirmed:
            return "", 0.0
        plain = self._scorer.score(affirmed)
        kept = score.of(plain.best)
        if plain.chance < _DENIED or kept > min(plain.chance, _SURE):
            return "", 0.0
        other = score.best != plain.best and score.chance >= max(_PART, plain.chance)
        return ("", 0.0) if other else (plain.best, plain.chance)


def _may_be_another(part: Score, score: Score) -> bool:
    """Whether a part of a text may complain of something else besides. ``score``: of the text."""
    if part.best == score.best:
        return False
    heard = score.of(part.best)
    if part.chance >= _OTHER and heard >= _HEARD_AT_LEAST:
        return True
    return part.chance >= _HINT and heard >= _HINT_HEARD and score.chance < _SURE_OF_ALL


def _near(first: Sequence[str], score: Score) -> tuple[str, ...]:
    """The symptoms to offer: some given ones, then the likeliest."""
    return tuple(dict.fromkeys((*first, *(name for _, name in score.ranked))))[:_MOST_NEAR]


def _is_heard(part: _Part, score: Score) -> bool:
    """Whether the full text supports the symptom found in one of its parts. Otherwise the words
    mean something else there ("nothing happens between two steps" is not a hang)."""
    least = _HEARD_OF_SURE if part.chance >= _VERY_SURE else _HEARD_AT_LEAST
    return score.of(part.symptom) >= least


def _together(parts: Sequence[_Part], score: Score) -> Understanding | None:
    """The complaints of all parts together, if there are several."""
    told = [part for part in parts if part.denied or _is_heard(part, score)]
    names = tuple(dict.fromkeys(part.symptom for part in told if not part.denied))
    denied = tuple(dict.fromkeys(p.symptom for p in told if p.denied and p.symptom not in names))
    if not names or len(names) + len(denied) < 2:
        return None
    if any(part.chance < (_DOUBT_DENIED if part.denied else _DOUBT) for part in told):
        return None
    if len(names) == 1:
        sure = score.best == names[0] and score.chance >= _FIRM
        sure = sure or min(part.chance for part in told) >= _RECORDED
        return Understanding(names, (), denied) if sure else Understanding(near=(*names, *denied))
    least = min(part.chance for part in told)
    taken = least >= _RECORDED and min(map(score.of, names)) >= _HEARD
    return Understanding(names, (), denied) if taken else Understanding(near=names)
