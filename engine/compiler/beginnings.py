"""Texts that are cut off: which row knows the message that begins like this?

Rows recognise whole messages. The beginning of one is compared with those of their samples, word by
word; words that look like a value (a number, a path, a name with signs in it) count as alike.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ...facts.owners import Owner
    from .source.knowledge_source import Item

MIN_LENGTH = 40
"""Share of the text for an unknown owner."""
MIN_WORDS = 3
MIN_LETTERS = 14
"""Least number of common words: shorter beginnings belong to many messages."""
MAX_WORDS = 60
KEY_WORDS = 3
_CLASS = re.compile(
    r"\A(?:[A-Za-z_][\w.]{0,120}?(?:Error|Exception|Warning|Interrupt|Exit)[\w.]{0,60}: )+"
)
_LEVEL = re.compile(r"\A.{0,80}?(?:\[| - )(?:DEBUG|INFO|WARNING|ERROR|CRITICAL)(?:\]| -) ")
_VALUE = re.compile(r"[\d/\\=@#$%]|\A[({\[]*(['\"`]).*\1\W*\Z")
_ENDS = ("...", "…")
_ANY = "*"

Beginnings = Mapping[str, Sequence[Sequence[Any]]]
"""By first words: the words of a sample, and its rows (none for a near miss). By row: its owners,
its exception classes, and whether its wording is common."""


def beginnings_of(
    items: Iterable[Item], owners: Mapping[str, Owner], below: Beginnings | None = None
) -> dict[str, list[list[Any]]]:
    """The opening words of all samples of error rows that match by pattern or template, by their
    first words (the key). Those in ``below`` (the base knowledge) with the same keys are added."""
    from .row_match import speaks_for  # looking a text up needs no models of entries

    known: dict[tuple[str, ...], dict[str, list[Any]]] = {}
    for item in items:
        row = item.entry
        if item.form != "error" or row.status == "deprecated":
            continue
        if row.match.pattern or row.match.template:
            common = row.emitter.wording != "own"
            said = [item.id, [*speaks_for(item, owners)], [*row.match.exception], common]
            for words in _all_words(row.samples):
                known.setdefault(words, {})[item.id] = said
            for words in _all_words(row.near_misses):
                known.setdefault(words, {})
    for key in {_key(words) for words in known} if below else ():
        for words, rows in (below or {}).get(key, ()):
            before = {row[0]: row for row in rows}
            known[tuple(words)] = before | known.get(tuple(words), {})
    found: dict[str, list[list[Any]]] = {}
    for words, rows in sorted(known.items()):
        found.setdefault(_key(words), []).append([list(words), list(rows.values())])
    return found


def row_of_beginning(beginnings: Beginnings, text: str, owner: str, exception: str) -> str:
    """The one row whose samples begin like a text that is shorter than they; "" if there is none,
    or more than one, or if too little is left of the message. ``owner`` and ``exception`` of the
    message are "" if unknown."""
    text = text.strip()
    for end in _ENDS:
        text = text.removesuffix(end)
    *words, last = _raw_words(text) or [""]
    begun = tuple(map(_word, words))
    if (not owner and len(text) < MIN_LENGTH) or not _tells_enough(begun):
        return ""
    alike = [rows for sample, rows in beginnings.get(_key(begun), ())
             if len(sample) > len(begun) and _goes_on(sample, begun, last)]  # fmt: skip
    rows = {row: rest for each in alike for row, *rest in each}
    if len(rows) != 1 or not all(alike):
        return ""
    [(row, (owners, classes, common))] = rows.items()
    fits = owner in owners or not (common or (owner and owners))
    return row if fits and (not exception or not classes or exception in classes) else ""


def _goes_on(sample: Sequence[str], begun: Sequence[str], last: str) -> bool:
    """Whether a sample begins with these words and a word or a piece of one, and then continues. A
    value at the end counts as the end: rows may ask for other values."""
    following, piece = sample[len(begun)], _word(last)
    whole = len(sample) == len(begun) + 1 and piece == following
    fits = piece != _ANY and (following == _ANY or following.startswith(piece))
    return fits and not whole and all(map(str.__eq__, begun, sample))


def _tells_enough(words: Collection[str]) -> bool:
    same = [word for word in words if word != _ANY]
    return len(same) >= MIN_WORDS and sum(map(len, same)) >= MIN_LETTERS


def _all_words(texts: Iterable[str]) -> Iterator[tuple[str, ...]]:
    for text in texts:
        said = _CLASS.sub("", _LEVEL.sub("", text))
        words = tuple(map(_word, _raw_words(said)))
        if _tells_enough(words):
            yield words


def _raw_words(text: str) -> list[str]:
    return text.split(maxsplit=MAX_WORDS)[:MAX_WORDS]


def _word(word: str) -> str:
    return _ANY if _VALUE.search(word) else word.lower().strip("'\"`")


def _key(words: Sequence[str]) -> str:
    return " ".join(words[:KEY_WORDS])
