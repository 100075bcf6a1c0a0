"""Reads a text as its concepts, with their negations, and its unknown words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ....facts.records import NamedTuple
from .lexicon import CONTEXT, FOREIGN, NEGATION, PASSED_OVER, SUBJECT, Lexicon
from .spelling import nearest
from .tokens import Token, tokens

_SHORTEST_PART = 4


class Mention(NamedTuple):
    """A concept in a text, in a clause. A ``sign`` is the concept, or "~" and the concept."""

    sign: str
    clause: int
    place: int


class Reading(NamedTuple):
    """``unknown`` counts words without a meaning here, ``foreign`` those of other matters.
    ``affirmed`` are all words but those that negate, or say that all is well; it is empty if
    there are none of these. ``forms`` are the concepts with the words that stood for them."""

    mentions: tuple[Mention, ...]
    unknown: int
    foreign: int
    affirmed: str = ""
    forms: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @property
    def signs(self) -> frozenset[str]:
        """The concepts with their signs."""
        return frozenset(mention.sign for mention in self.mentions)


class _Meant(NamedTuple):
    """A meaning (a concept or a mark, or "" for none), its clause, and its words."""

    meaning: str
    clause: int
    words: tuple[str, ...]


class Reader:
    """Reads texts with one lexicon."""

    def __init__(self, lexicon: Lexicon) -> None:
        self._lexicon = lexicon

    def read(self, text: str) -> Reading:
        """The concepts of a text."""
        return self.of(tokens(text, self._lexicon.breaks))

    def of(self, words: Sequence[Token]) -> Reading:
        """The concepts of words."""
        known = self._spelt(words)
        meant = list(self._meanings(known))
        return Reading(
            tuple(self._mentions(meant)),
            sum(not each.meaning for each in meant),
            sum(each.meaning == FOREIGN for each in meant),
            self._affirmed(meant),
            tuple((m.meaning, m.words) for m in meant if m.meaning in self._lexicon.concepts),
        )

    def _affirmed(self, meant: Sequence[_Meant]) -> str:
        kept = [each for each in meant if not self._denies(each.meaning)]
        words = (word for each in kept for word in each.words)
        return " ".join(words) if len(kept) < len(meant) else ""

    def _denies(self, meaning: str) -> bool:
        concepts = self._lexicon.concepts
        well = meaning in concepts and (concepts[meaning].clears or concepts[meaning].negated_is)
        return meaning == NEGATION or bool(well)

    def _meanings(self, known: Sequence[Token]) -> Iterator[_Meant]:
        """The longest forms, from left to right."""
        at = 0
        while at < len(known):
            for size in range(min(self._lexicon.longest, len(known) - at), 0, -1):
                part = known[at : at + size]
                meaning = self._lexicon.forms.get(tuple(token.stem for token in part))
                if meaning and self._is_together(part):
                    yield _Meant(meaning, part[0].clause, tuple(token.typed for token in part))
                    at += size
                    break
            else:
                if not known[at].is_number and known[at].typed not in self._lexicon.breaks:
                    yield _Meant("", known[at].clause, (known[at].typed,))
                at += 1

    def _is_together(self, part: Sequence[Token]) -> bool:
        """Whether no punctuation parts the words; a form may hold a break: "up and down"."""
        breaks = sum(token.typed in self._lexicon.breaks for token in part[1:])
        return part[-1].clause - part[0].clause == breaks

    def _spelt(self, words: Sequence[Token]) -> list[Token]:
        """The words with slips mended and joined words parted."""
        found: list[Token] = []
        for word in words:
            if word.stem in self._lexicon.stems:
                found.append(word)
            else:
                found += [word._replace(stem=stem) for stem in self._mended(word)]
        return found

    def _mended(self, word: Token) -> Sequence[str]:
        known = self._lexicon.correctable
        meant = {stem: stem for stem in self._parts(word.stem)}
        if not meant and (near := nearest(word.typed, known)):
            return (known[near],)
        return tuple(meant) or (word.stem,)

    def _parts(self, stem: str) -> Sequence[str]:
        """Two known words written as one, such as "smoketest" and "stage0"."""
        for at in range(len(stem) - 1, 0, -1):
            left, right = stem[:at], stem[at:]
            digits = left.isdigit() != right.isdigit()
            if not digits and min(len(left), len(right)) < _SHORTEST_PART:
                continue
            known = (left in self._lexicon.parts, right in self._lexicon.parts)
            if all(known) or (digits and any(known)):
                return (left, right)
        return ()

    def _mentions(self, meant: Sequence[_Meant]) -> Iterator[Mention]:
        """The concepts, with their signs."""
        concepts = self._lexicon.concepts
        open_: int | None = None  # the clause of a negation that waits for its concept
        passed: int | None = None  # the clause in which everything is passed over
        last: Mention | None = None
        for place, (meaning, clause, _) in enumerate(meant):
            if last and open_ is not None and clause != open_ and last.clause == open_:
                yield self._negated(last)  # "it goes not": nothing follows
                last, open_ = None, None
            if meaning == PASSED_OVER:
                passed = clause
            if meaning == NEGATION:
                open_ = clause
            if not meaning:
                open_ = None  # it negates an unknown word
            if not meaning or meaning[0] == "#" or passed == clause:
                continue
            if last:
                yield last
            last = Mention(meaning, clause, place)
            if open_ is not None and concepts[meaning].kind not in (CONTEXT, SUBJECT):
                if open_ == clause:
                    yield self._negated(last)
                    last = None
                open_ = None
        if last:
            yield self._negated(last) if open_ == last.clause else last

    def _negated(self, mention: Mention) -> Mention:
        concept = self._lexicon.concepts[mention.sign]
        if concept.kind in (CONTEXT, SUBJECT):
            return mention
        return mention._replace(sign=concept.negated_is or f"~{mention.sign}")
