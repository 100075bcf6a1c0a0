"""A text as tokens: words in a form that their inflections share, and where clauses end."""

from __future__ import annotations

import re

from ....facts.records import NamedTuple
from ...compiler.issue_index import stem

_MOST_CHARACTERS = 2_000
_MOST_TOKENS = 200
_TOKEN = re.compile(r"\d+(?:[.,]\d+)+|[^\W_]+|[,;:!?()\n]|\.(?=\s|$)")
_APOSTROPHE = re.compile(r"(?<=\w)['’`´](?=\w)")
_DRAWN_OUT = re.compile(r"([a-z])\1{2,}")  # "slooow"
_BREAK = frozenset(".,;:!?()\n")


class Token(NamedTuple):
    """A word as ``typed`` (in lower case) and its ``stem``; ``clause`` counts from 0."""

    typed: str
    stem: str
    clause: int

    @property
    def is_number(self) -> bool:
        """Whether it is a number, perhaps with a unit."""
        return self.typed[0].isdigit()


def tokens(text: str, breaks: frozenset[str] = frozenset()) -> list[Token]:
    """The words of a text; punctuation and ``breaks`` (such as "but") start a new clause."""
    plain = _APOSTROPHE.sub("", text[:_MOST_CHARACTERS].lower())
    plain = _DRAWN_OUT.sub(r"\1", plain)
    found: list[Token] = []
    clause = 0
    for match in _TOKEN.finditer(plain):
        word = match[0]
        if word in _BREAK:
            clause += 1
            continue
        clause += word in breaks
        found.append(Token(word, stem(word), clause))
        if len(found) == _MOST_TOKENS:
            break
    return found
