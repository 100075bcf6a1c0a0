"""Words of texts, by which sites are found."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from ..python.parts import Parts

_WORD = re.compile(r"[^\W_][^\W]{2,40}")
COMMON = 64
"""A word that more templates have is kept for those only that have no two rarer ones."""
KEPT = 3


def words_of(text: str) -> set[str]:
    """The words of a text, in lower case."""
    return set(_WORD.findall(text.lower()))


def safe_words(parts: Parts) -> set[str]:
    """Return the words of a template that are in each of its messages: those of its constant texts
    that no placeholder touches."""
    found: set[str] = set()
    last = len(parts) - 1
    for at in range(0, len(parts), 2):
        text = parts[at].lower()
        for word in _WORD.finditer(text):
            touches = (word.start() == 0 and at > 0) or (word.end() == len(text) and at < last)
            if not touches:
                found.add(word[0])
    return found


def rare_words(templates: Mapping[int, Parts]) -> tuple[dict[str, list[int]], list[int]]:
    """Templates by their rare words, and those that have no word at all but some constant text."""
    words = {number: safe_words(parts) for number, parts in templates.items()}
    counts = Counter(word for some in words.values() for word in some)
    table: dict[str, list[int]] = {}
    wordless: list[int] = []
    for number, some in words.items():
        rarest = sorted(some, key=lambda word: (counts[word], word))
        for place, word in enumerate(rarest):
            if place < KEPT or counts[word] <= COMMON:
                table.setdefault(word, []).append(number)
        if not some and any(part.strip() for part in templates[number][::2]):
            wordless.append(number)
    return table, wordless


def weights(numbers: Iterable[Sequence[int]]) -> Counter[int]:
    """Weigh a text's words as evidence for each site: a word of few sites counts more."""
    counts: Counter[int] = Counter()
    for some in numbers:
        weight = 1_000_000 // (len(some) + 3)
        for number in some:
            counts[number] += weight
    return counts
