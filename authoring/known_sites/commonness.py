"""Which runs of words other software uses too, and how rare a word is in messages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from math import log2

from .reading import Template, numbers_in, words_in

LEAST_BITS = 30.0
"""How unlikely the words of a message have to be, by their frequency in messages of others."""
LEAST_WORDS = 4
LEAST_OWN = 0.5
"""The share of the runs of a message that no message of others may have."""


class Commonness:
    """What messages of others share with each other, and with those of the stack."""

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
        return (
            len(words) >= LEAST_WORDS and self.bits(words) >= LEAST_BITS
            and own >= LEAST_OWN * len(numbers) > 0
        )  # fmt: skip
