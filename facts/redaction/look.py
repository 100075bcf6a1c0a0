"""One look at a text: which of some 240 patterns show in it. Most texts hold none of them.

``build.py`` writes ``first_look.json``: the patterns, and for each the texts of which every match
has at least one, if there are such.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from functools import cache

from ..json_text import loads
from .detectors import compiled, options, searchable

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from typing import Any

    from .mapping import Variant

LISTED = os.path.join(os.path.dirname(__file__), "first_look.json")
FEW = 8
"""So many texts are looked at one pattern after the other."""

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
        """The same without the automaton."""
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
        """The same with the automaton."""
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
    """Tells which of many patterns a text holds, in one pass for each of two groups: those that
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


Reading = Callable[[str], "Iterable[Variant]"]


class Seen:
    """What has been looked at in one document: the same texts show again and again, alone,
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
        """What a part of a text stands for."""
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


def suspicious(text: str, seen: Seen | None = None) -> bool:
    """False only if no detector can find anything in ``text``, apart from known homes and hosts."""
    seen = seen or Seen()
    look = seen.look(text)
    if look.plainly or hides_something(text):
        return True
    if "\n" in text or "\\" in text:
        from .flattening import continued, joined, wrapped

        for flat in (*joined(text, seen), *continued(text), *wrapped(text)):
            if seen.look(flat.text).plainly:
                return True
    if not look.code:
        return False
    from .decoding import hides_a_secret

    return hides_a_secret(look, seen)
