"""The lexicon as it is looked things up in: forms of concepts, and the patterns of topics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ....facts.records import NamedTuple, cached_property
from .tokens import tokens

Form = tuple[str, ...]

NEGATION = "#not"
AFFIRMED = "#affirmed"
PASSED_OVER = "#passed"
FILLER = "#filler"
FOREIGN = "#foreign"
_MARKS = (
    ("fillers", FILLER),
    ("foreign", FOREIGN),
    ("affirmed", AFFIRMED),
    ("passed_over", PASSED_OVER),
    ("negations", NEGATION),
)


CONTEXT, GENERIC, PLAIN, TERM, SUBJECT = "context", "generic", "plain", "term", "subject"


class Concept(NamedTuple):
    """``kind`` is how much a concept means. ``clears`` marks its clause as harmless. ``negated_is``
    is the concept of its negation."""

    name: str
    kind: str = PLAIN
    clears: bool = False
    negated_is: str = ""


class Topic(NamedTuple):
    """The subject of phrases."""

    symptom: str
    diagnosis: str
    phrases: Sequence[str]


class Lexicon:
    """The words of all files, and what they mean."""

    def __init__(self, plain: Mapping[str, Any]) -> None:
        """``plain`` is the section ``words`` of the catalogue."""
        self.concepts = {
            name: Concept(name, said["kind"], said["clears"], said["negated_is"])
            for name, said in plain["concepts"].items()
        }
        self.topics = [Topic(*topic) for topic in plain["topics"]]
        self._words = {name: said["words"] for name, said in plain["concepts"].items()}
        self._lists = plain["lists"]

    def words_for(self, concept: str) -> Sequence[str]:
        """The words that stand for a concept."""
        words: Sequence[str] = self._words[concept]
        return words

    @cached_property
    def breaks(self) -> frozenset[str]:
        """Words that start a new clause."""
        return frozenset(self._lists["breaks"])

    @cached_property
    def negations(self) -> frozenset[str]:
        """Words that negate the next concept."""
        return frozenset(self._lists["negations"])

    @cached_property
    def forms(self) -> dict[Form, str]:
        """The meaning of each form: a concept, or one of the marks above. If a form has several, a
        concept comes before a mark."""
        found: dict[Form, str] = {}
        for name, mark in _MARKS:
            found |= dict.fromkeys(map(form, self._lists[name]), mark)
        for name, words in self._words.items():
            found |= dict.fromkeys(map(form, (*words, name)), name)
        found.pop((), None)
        return found

    @cached_property
    def longest(self) -> int:
        """The number of words of the longest form."""
        return max(map(len, self.forms), default=0)

    @cached_property
    def stems(self) -> frozenset[str]:
        """Every stem in some form."""
        return frozenset(each for words in self.forms for each in words)

    @cached_property
    def correctable(self) -> dict[str, str]:
        """The words that a misspelt one may be meant to be, those of concepts, with their stems."""
        written = (
            word for words in self._words.values() for each in words for word in tokens(each)
        )
        return {word.typed: word.stem for word in written}

    @cached_property
    def parts(self) -> frozenset[str]:
        """The stems of concepts, which a compound word may consist of."""
        return frozenset(self.correctable.values())


def form(text: str) -> Form:
    """The stems of a form."""
    return tuple(token.stem for token in tokens(text))


def clashes(words: Iterable[tuple[str, str]]) -> list[tuple[str, str, str]]:
    """Forms (as written) that two concepts claim: the form, and both concepts."""
    seen: dict[Form, str] = {}
    found = []
    for concept, written in words:
        first = seen.setdefault(form(written), concept)
        if first != concept:
            found.append((written, first, concept))
    return found


__all__ = [
    "AFFIRMED", "CONTEXT", "FILLER", "FOREIGN", "GENERIC", "NEGATION", "PASSED_OVER", "PLAIN",
    "SUBJECT", "TERM", "Concept", "Form", "Lexicon", "Topic", "clashes", "form",
]  # fmt: skip
