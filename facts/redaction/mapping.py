"""Texts made of another text, and where each of their characters was in it."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable
from functools import partial

from ..records import NamedTuple
from .detectors import Span

Place = Callable[[int], int]


class Variant(NamedTuple):
    """A text that another one hides; ``start`` and ``end`` tell where its character begins there,
    and where those before it end."""

    text: str
    start: Place
    end: Place

    def placed(self, span: Span) -> Span:
        """A span of this text in the one that hides it."""
        return span._replace(start=self.start(span.start), end=self.end(span.end))

    def after(self, before: int) -> Variant:
        """The same where so many characters stand before the text that hides it."""
        return Variant(
            self.text, partial(_after, before, self.start), partial(_after, before, self.end)
        )

    def part(self, text: str, at: int, width: int = 1) -> Variant:
        """A text that lies at ``at`` within this one, ``width`` characters for each of its own."""
        return Variant(
            text, lambda n: self.start(at + n * width), lambda n: self.end(at + n * width)
        )


ITSELF = Variant("", int, int)
"""A text that stands for itself: each character is where it is."""


def _after(before: int, place: Place, number: int) -> int:
    return before + place(number)


def rewritten(
    text: str, pattern: re.Pattern[str], replace: Callable[[re.Match[str]], str] | None = None
) -> Variant:
    """The text without the matches, or with one character, or none, for each of them."""
    parts: list[str] = []
    flat: list[int] = []  # where each part begins in the new text,
    begins: list[int] = []  # where it began in the old one,
    ends: list[int] = []  # and where it ended if it is the replacement of a match, else -1
    at = size = 0
    for found in pattern.finditer(text):
        new = replace(found) if replace else ""
        if replace and new == found[0]:
            continue
        if found.start() > at:
            parts.append(text[at : found.start()])
            flat.append(size)
            begins.append(at)
            ends.append(-1)
            size += found.start() - at
        if new:
            parts.append(new)
            flat.append(size)
            begins.append(found.start())
            ends.append(found.end())
            size += 1
        at = found.end()
    parts.append(text[at:])
    flat.append(size)
    begins.append(at)
    ends.append(-1)

    def start(number: int) -> int:
        part = bisect_right(flat, number) - 1
        return begins[part] if ends[part] >= 0 else begins[part] + number - flat[part]

    def end(number: int) -> int:
        if number <= 0:
            return start(0)
        part = bisect_right(flat, number - 1) - 1
        return ends[part] if ends[part] >= 0 else begins[part] + number - flat[part]

    return Variant("".join(parts), start, end)
