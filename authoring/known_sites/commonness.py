"""The runs of words that other software uses too, and the rarity of words in messages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from math import log2

from .reading import Template, numbers_in, words_in

LEAST_BITS = 30.0
"""How unlikely the words of a message have to be, by their frequency in messages of others."""
LEAST_WORDS = 4
LEAST_OWN = 0.34
"""The share of the runs of a message that no message of others may have: more than may be missing
where it is known again, so that the words of others alone are never enough."""
NAME_BITS, NAME_WORDS, NAME_LETTERS = 21.0, 3, 8
"""The same for a message with a name of code that no message of others has."""


class Commonness:
    """The frequency of words and of runs of words in messages of other software."""

    def __init__(self, others: Iterable[Template]) -> None:
        self.runs: set[int] = set()
        self._words: Counter[str] = Counter()
        self._count = 1
        for template in others:
            self.runs.update(numbers_in(template))
            self._words.update(set(words_in(template)))
            self._count += 1

    def bits(self, words: Iterable[str]) -> float:
        """How unlikely it is that a message has all these words."""
        return sum(log2(self._count / (1 + self._words[word])) for word in set(words))

    def is_distinct(self, template: Template) -> bool:
        """Whether a template has enough words of its own to be known by them."""
        words, numbers = words_in(template), numbers_in(template)
        own = sum(number not in self.runs for number in numbers)
        if not numbers or own < LEAST_OWN * len(numbers):
            return False
        bits = self.bits(words)
        named = len(words) >= NAME_WORDS and bits >= NAME_BITS and self._has_name(words)
        return named or (len(words) >= LEAST_WORDS and bits >= LEAST_BITS)

    def _has_name(self, words: Sequence[str]) -> bool:
        """Whether one of the words is a name of code that others do not use in messages."""
        return any(
            "_" in word.strip("_") and len(word) >= NAME_LETTERS and not self._words[word]
            for word in words
        )
