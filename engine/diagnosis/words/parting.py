"""Splits a text into parts that may be complaints, or denials, of their own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import combinations, pairwise

_MOST_CLAUSES = 8
_MOST_CUTS = 2
_END = re.compile(r"[,;:!?()\n]|\.(?=\s|$)|[^\W_]+")


def partings(text: str, breaks: frozenset[str]) -> Iterator[tuple[str, ...]]:
    """The ways to part a text in two or three, where a clause starts."""
    clauses = _clauses(text, breaks)
    for cuts in range(1, _MOST_CUTS + 1):
        for places in combinations(range(1, len(clauses)), cuts):
            bounds = (0, *places, len(clauses))
            yield tuple(" ".join(clauses[a:b]) for a, b in pairwise(bounds))


def _clauses(text: str, breaks: frozenset[str]) -> list[str]:
    """The clauses: they end with punctuation, or before a word of ``breaks``."""
    found: list[str] = []
    start = 0
    for match in _END.finditer(text):
        is_word = match[0][0].isalnum()
        if len(found) == _MOST_CLAUSES or (is_word and match[0].lower() not in breaks):
            continue
        found.append(text[start : match.start() if is_word else match.end()])
        start = match.start() if is_word else match.end()
    return [each for each in (*found, text[start:]) if any(map(str.isalpha, each))]
