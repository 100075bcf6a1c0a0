"""Texts as sets of short runs of words, each as a number; no text can be read back from them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from hashlib import blake2b

RUN = 4
"""Words of a run; a piece of text with fewer is one run."""
LEAST = 2
MAX_WORDS = 400
_WORD = re.compile(r"[^\W\d]\w*")


def words_of(text: str) -> list[str]:
    """The words and names of a text, in small letters, without figures."""
    return [match[0].lower() for match in _WORD.finditer(text)]


def number_of(words: Sequence[str]) -> int:
    """A run of words as a number of 40 bits."""
    return int.from_bytes(blake2b(" ".join(words).encode(), digest_size=5).digest(), "big")


def runs(words: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    """All runs of ``size`` words."""
    for at in range(len(words) - size + 1):
        yield words[at : at + size]


def numbers_of(text: str) -> set[int]:
    """The numbers of all runs in the first words of a text."""
    words = words_of(text)[:MAX_WORDS]
    return {number_of(run) for size in range(LEAST, RUN + 1) for run in runs(words, size)}
