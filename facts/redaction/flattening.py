"""Finds secrets that are split by line breaks, invisible characters or terminal sequences."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

from .credentials import API_KEY, PLAIN, TOKEN, issuer_spans
from .detectors import Span
from .look import Look, Seen, Variant, hidden, hides_something, rewritten

MIN_SPLIT = 20
_WRAPS, _NARROW, _WIDE = 2, 16, 1000
_BREAK = r"(?:\\{1,3}n|[ \t]{0,40}\\?\r?\n)[ \t>|#*]{0,40}"
_HEAD = "[A-Za-z0-9]{2,8}[-_.]"
_AROUND = " \t\r>|#*\\"


def flattened_spans(look: Look, seen: Seen) -> Iterator[Span]:
    """Keys that only show once the characters between their parts are removed."""
    if hides_something(look.text):
        flat = without_hidden(look.text)
        yield from _in_all(flat, seen)
    for flat in joined(look.text, seen):
        whole = seen.look(flat.text)
        if whole.issuers:
            yield from _split(flat, whole)
    for flat in (*continued(look.text), *wrapped(look.text)):
        yield from _in_all(flat, seen)


def _in_all(flat: Variant, seen: Seen) -> Iterator[Span]:
    look = seen.look(flat.text)
    for find in PLAIN:
        yield from map(flat.placed, find(look))


def joined(text: str, seen: Seen) -> Iterator[Variant]:
    """The lines that a key spans, joined into one line; and again without joining at breaks after
    which a key seems to begin."""
    if "\n" not in text and "\\n" not in text:
        return
    whole = text.replace("\\n", "\n").split("\n")
    lines = [line.strip(_AROUND) for line in whole]
    apart = [f" {line}" if _begins().match(line) else line for line in lines]
    ways = ((lines, _breaks()), (apart, _breaks_within()))[: 1 + (apart != lines)]
    crossed = [(pair, breaks) for given, breaks in ways for pair in _crossed(given, seen)]
    starts = _starts(text, whole) if crossed else []
    for (first, last), breaks in crossed:
        start, end = starts[first], starts[last] + len(whole[last])
        yield rewritten(text[start:end], breaks).after(start)


def _starts(text: str, lines: Sequence[str]) -> list[int]:
    """The starts of lines; a line break has one or two characters."""
    starts, at = [], 0
    for line in lines:
        starts.append(at)
        at += len(line)
        at += 1 if text[at : at + 1] == "\n" else 2
    return starts


def _crossed(lines: Sequence[str], seen: Seen) -> list[tuple[int, int]]:
    """The first and the last of the lines that a key spans. Only words that join when the breaks
    are removed are looked at: a key has no space in it."""
    words = list(_words_across(lines))
    look = seen.look(" ".join("".join(word.parts) for word in words))
    if not look.issuers:
        return []
    begins, borders, at = [], [], 0
    for word in words:
        begins.append(at)
        for part in word.parts:
            at += len(part)
            borders.append(at)
        at += 1
    found = []
    for span in filter(_is_key, issuer_spans(look)):
        if bisect_right(borders, span.start) < bisect_left(borders, span.end):
            word = words[bisect_right(begins, span.start) - 1]
            found.append((word.first, word.last))
    return list(dict.fromkeys(found))


class _Word(NamedTuple):
    """Parts that lines end and begin with, and the numbers of the first and the last line."""

    first: int
    last: int
    parts: list[str]


def _words_across(lines: Sequence[str]) -> Iterator[_Word]:
    """The text joined across line breaks. A space before a line keeps it apart."""
    parts: list[str] = []
    begin = last = 0
    for number, line in enumerate(lines):
        start, space, rest = line.lstrip(" ").partition(" ")
        if line[:1] == " ":
            if len(parts) > 1:
                yield _Word(begin, last, parts)
            parts = []
        if start:
            begin, last = (begin, number) if parts else (number, number)
            parts.append(start)
        if space:
            if len(parts) > 1:
                yield _Word(begin, last, parts)
            parts, begin, last = [rest.rpartition(" ")[2]], number, number
    if len(parts) > 1:
        yield _Word(begin, last, parts)


def continued(text: str) -> Iterator[Variant]:
    """The text as a shell reads it: a line break after a backslash is ignored."""
    if "\\\n" in text or "\\\r\n" in text or "\\\\n" in text:
        yield rewritten(text, _continued())


def wrapped(text: str) -> Iterator[Variant]:
    """The text without the breaks of something that cuts lines at a width, as terminals and mail
    do: several lines are as long as the longest."""
    if text.count("\n") < _WRAPS:
        return
    sizes = [len(line) for line in text.split("\n")]
    width = max(sizes)
    if not (_NARROW <= width <= _WIDE and sizes.count(width) >= _WRAPS):
        return
    breaks = re.compile(rf"(?m)(?<=^.{{{width}}})\n")
    for start, end in _around(width, sizes):
        yield rewritten(text[start:end], breaks).after(start)


def _around(width: int, sizes: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The positions of lines of this width, with the lines before and after."""
    start = end = at = 0
    before = 0
    for number, size in enumerate(sizes):
        if size == width:
            if before > end:
                yield from [(start, end)] if end else []
                start = before
            following = sizes[number + 1] + 1 if number + 1 < len(sizes) else 0
            end = at + size + following
        before, at = at, at + size + 1
    if end:
        yield start, end


def without_hidden(text: str) -> Variant:
    """The text without invisible characters."""
    return rewritten(text, hidden())


def without_breaks(text: str) -> Variant:
    """The text as one line."""
    return rewritten(text, _breaks())


def _split(flat: Variant, seen: Look) -> Iterator[Span]:
    """Keys across a line break."""
    for span in filter(_is_key, issuer_spans(seen)):
        placed = flat.placed(span)
        if placed.end - placed.start > span.end - span.start:
            yield placed


def _is_key(span: Span) -> bool:
    """Ordinary words that meet at a line break are short or have no digit."""
    long = len(span.secret) >= MIN_SPLIT and any(c.isdigit() for c in span.secret)
    return long and span.kind in (API_KEY, TOKEN)


@cache
def _breaks() -> re.Pattern[str]:
    return re.compile(_BREAK)


@cache
def _breaks_within() -> re.Pattern[str]:
    """Match line breaks after which no key seems to begin."""
    return re.compile(rf"{_BREAK}(?!{_HEAD})")


@cache
def _begins() -> re.Pattern[str]:
    return re.compile(_HEAD)


@cache
def _continued() -> re.Pattern[str]:
    """Line breaks that a shell ignores."""
    return re.compile(r"\\(?:\r?\n|\\{1,2}n)[ \t]{0,40}")
