"""Which of some 240 patterns show in a text: most texts hold none of them.

``build.py`` writes ``first_look.json``: the patterns, and for each the texts of which every match
has at least one, if there are such.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from functools import cache

from .detectors import compiled, options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


LISTED = os.path.join(os.path.dirname(__file__), "first_look.json")
FEW = 8
"""So many texts are looked at one pattern after the other."""

Name = int | str
"""The number of a detector that is data, or the name of one that is code."""
Asked = tuple[str, Name, str, list[str]]
"""Kind and name of a detector, its pattern, and what each match of that has one of."""


class FirstLook:
    """Says which detectors have a chance in a text. The first few texts are searched for what each
    pattern needs; only then is the automaton built that finds all patterns in one pass, since a
    short run ends before."""

    def __init__(self, asked: Iterable[Asked]) -> None:
        self._asked = [(kind, name, pattern, [_with_piece(text.encode("ascii")) for text in needs])
                       for kind, name, pattern, needs in asked]  # fmt: skip
        self._looks = 0
        self._automaton: Automaton | None = None

    @staticmethod
    @cache
    def shipped() -> FirstLook:
        """The one that is shipped."""
        import json

        with open(LISTED, encoding="utf-8") as file:
            return FirstLook(json.load(file))

    def found(self, data: bytes) -> Iterator[tuple[str, Name]]:
        """Kinds and names of the detectors, in their order."""
        self._looks += 1
        if self._looks > FEW:
            return self.by_automaton(data)
        return self.one_by_one(data)

    def one_by_one(self, data: bytes) -> Iterator[tuple[str, Name]]:
        """The same without the automaton."""
        low = data.lower()
        pieces: set[tuple[int, ...]] = {(), *zip(low, low[1:], low[2:], strict=False)}
        for kind, name, pattern, needs in self._asked:
            for piece, text in needs:
                if piece in pieces and text in low:
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
            yield self._asked[number][:2]


def _with_piece(text: bytes) -> tuple[tuple[int, ...], bytes]:
    """Three bytes of a needed text, which tell sooner that another text does not hold it."""
    return tuple(text[:3]) if len(text) >= 3 else (), text


class Automaton:
    """Tells which of many patterns a text holds, in one pass for each of two groups: those that
    count characters make an automaton large, and together with the others it would be larger."""

    def __init__(self, patterns: Iterable[str]) -> None:
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
