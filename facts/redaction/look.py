"""One pass over a text that finds which of some 240 patterns may match. Most texts hold none of
them.

``authoring/detectors.py`` writes ``first_look.json``: the patterns, and for each the texts, at
least one of which every match contains, if there are any.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial

from ..json_text import loads
from ..records import NamedTuple
from .detectors import Span, compiled, options, searchable

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from typing import Any

LISTED = os.path.join(os.path.dirname(__file__), "first_look.json")
FEW = 8
"""Up to this number of texts, the patterns are tried one after the other."""

Name = int | str
"""The number of a detector that is data, or the name of one that is code."""
Asked = tuple[str, Name, str, list[str]]
"""Kind and name of a detector, its pattern, and what each match of that has one of: texts that
begin with three characters of a word (:func:`is_quick`)."""


_HIDDEN = "\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff"
_HIDDEN += "\ufff9-\ufffb\U000e0000-\U000e007f\u115f\u1160\u3164\uffa0\ufe00-\ufe0f"
_ESCAPES = r"\x1b(?:\[[0-9;:?]{0,40}[@-~]|\][^\x07\x1b]{0,400}(?:\x07|\x1b\\)|[@-Z\\-_])"
ENCODED = frozenset(("escapes", "runs"))


class FirstLook:
    """Says which detectors have a chance in a text. The first few texts are searched for what each
    pattern needs; only then is the automaton built that finds all patterns in one pass, since a
    short run ends before."""

    def __init__(self, asked: Iterable[Asked]) -> None:
        self._asked = list(asked)
        self._looks = 0
        self._automaton: Automaton | None = None

    @staticmethod
    @cache
    def shipped() -> FirstLook:
        """The one that is shipped."""
        with open(LISTED, encoding="utf-8") as file:
            return FirstLook(loads(file.read()))

    def found(self, data: bytes) -> Iterator[tuple[str, Name]]:
        """Kinds and names of the detectors, in their order."""
        self._looks += 1
        if self._looks > FEW:
            return self.by_automaton(data)
        return self.one_by_one(data)

    def one_by_one(self, data: bytes) -> Iterator[tuple[str, Name]]:
        """Find the patterns without the automaton, one by one."""
        low = data.decode("latin-1").lower()
        pieces = _pieces(low)
        for kind, name, pattern, needs in self._asked:
            for need in needs:
                if need[:3] in pieces and need in low:
                    break
            else:
                if needs:
                    continue
            if compiled(pattern).search(data):
                yield kind, name

    def by_automaton(self, data: bytes) -> Iterator[tuple[str, Name]]:
        """Find the patterns with the automaton."""
        if self._automaton is None:
            self._automaton = Automaton(pattern for _, _, pattern, _ in self._asked)
        for number in self._automaton.found(data):
            kind, name, *_ = self._asked[number]
            yield kind, name


def is_quick(need: str) -> bool:
    """Whether a need begins with three characters of a word."""
    return len(need) >= 3 and len(need[:3].split()) == 1 and need[:3] == need[:3].strip()


def _pieces(text: str) -> set[str]:
    """All pieces of three characters in its words. Of hundreds of needs they leave a few to look
    for."""
    words = " ".join(set(text.split()))
    return set(map("".join, zip(words, words[1:], words[2:], strict=False)))


class Automaton:
    """Finds which of many patterns a text contains, in one pass for each of two groups: those that
    count characters make an automaton large, and together with the others it would be larger."""

    def __init__(self, patterns: Iterable[str]) -> None:
        import re

        import re2

        counts = re.compile(r"\{(?:[6-9]|[1-9][0-9]+)")
        new = re2.Set.SearchSet
        self._groups: list[tuple[Any, list[int]]] = [(new(options()), []), (new(options()), [])]
        for number, pattern in enumerate(patterns):
            members, numbers = self._groups[bool(counts.search(pattern))]
            members.Add(pattern.encode("latin-1"))
            numbers.append(number)
        for members, _ in self._groups:
            members.Compile()

    def found(self, data: bytes) -> list[int]:
        """The numbers of the patterns, in order."""
        found: list[int] = []
        for members, numbers in self._groups:
            found += map(numbers.__getitem__, members.Match(data) or ())
        found.sort()
        return found


class Look:
    """A text, its bytes, one for each character, and what shows in it at first sight: numbers of
    ``issuers`` and ``contexts``, names of detectors that are code (``code``), and whether anything
    shows without decoding (``plainly``)."""

    __slots__ = ("code", "contexts", "data", "issuers", "plainly", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.data = searchable(text)
        self.issuers: list[int] = []
        self.contexts: list[int] = []
        self.code: set[str] = set()
        by_kind: dict[str, Callable[[Any], None]]
        by_kind = {"issuers": self.issuers.append, "contexts": self.contexts.append}
        for kind, name in FirstLook.shipped().found(self.data):
            by_kind.get(kind, self.code.add)(name)
        self.plainly = bool(self.issuers or self.contexts or self.code - ENCODED)


Place = Callable[[int], int]


class Variant(NamedTuple):
    """A text that another one hides; ``start`` and ``end`` map a position here to the one in that
    text: of the beginning of a character, and of the end of those before it."""

    text: str
    start: Place
    end: Place

    def placed(self, span: Span) -> Span:
        """A span of this text in the one that hides it."""
        return span._replace(start=self.start(span.start), end=self.end(span.end))

    def after(self, before: int) -> Variant:
        """This variant, if ``before`` more characters precede the text that contains it."""
        return Variant(
            self.text, partial(_after, before, self.start), partial(_after, before, self.end)
        )

    def part(self, text: str, at: int, width: int = 1) -> Variant:
        """A text at position ``at`` of this one, ``width`` characters for each of its own."""
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


Reading = Callable[[str], "Iterable[Variant]"]


class Seen:
    """The results for the texts of one document: the same texts occur again and again, alone,
    together, decoded, and when the document is searched again without its secrets."""

    __slots__ = ("_hidden", "_looks", "clean")

    def __init__(self) -> None:
        self._looks: dict[str, Look] = {}
        self.clean: set[str] = set()
        """Texts in which nothing was found."""
        self._hidden: dict[tuple[Reading, str], tuple[Variant, ...]] = {}

    def look(self, text: str) -> Look:
        """The look at a text."""
        known = self._looks.get(text)
        if known is None:
            known = self._looks[text] = Look(text)
        return known

    def hidden(self, read: Reading, part: str) -> tuple[Variant, ...]:
        """The plain text of a part of a text."""
        known = self._hidden.get((read, part))
        if known is None:
            known = self._hidden[read, part] = tuple(read(part))
        return known


def hides_something(text: str) -> bool:
    """Whether invisible characters may split a secret."""
    if text.isascii():  # without compiling a pattern
        return not text.replace("\n", " ").replace("\t", " ").isprintable()
    return hidden().search(text) is not None


@cache
def hidden() -> re.Pattern[str]:
    """Invisible characters and terminal sequences."""
    import re

    return re.compile(f"{_ESCAPES}|[{_HIDDEN}]")
