"""The declared names of observables in a row, their units, and their subjects."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from ...facts.statements import Statement

_WORD = re.compile(r"[A-Za-z0-9²]+")
_JOINT = re.compile(r"[\s_/.-]?|\s\|\s")
_QUANTILE = re.compile(r"(?:q|pct|perc|percentile_?)(?=\d{1,2}\Z)")
_KEY_UNIT = re.compile(r"[_ ]?[(\[]?(%|[A-Za-zµ]{1,12})[)\]]?(?![A-Za-z])")
# Digits may follow a name of so few letters: TP8.
_GLUED = re.compile(r"([A-Za-z]{1,2})\d{1,3}\Z")
_FILE = re.compile(r"(?<!\S)[('\"]?(?:[.~]{0,2}/[\w.~-]|[\w.~-]+/[\w.~-]+/)[^\s|]*")
_LIMITED = re.compile(r"(?:max|min)[_-]\Z")
_PATH = re.compile(r"[\w.\[\]]{1,80}\Z")
_NUMBERED = re.compile(
    r"(?<![\w.])((?:layers?|blocks?|[Lh])[ ._\[]?\d{1,4}\]?[\s:/_-]{1,2})\Z", re.IGNORECASE
)
_BROKEN = re.compile(r"(?<![\w./:-])(?:\d{1,6}\.(?!0+(?!\d))\d{1,6}|\d{1,3} ?%)(?![\w./-])")
_SIDE = re.compile(r"[A-Za-z]+\d*")
_HEAD = 2_000
_LISTED = 120
_MANY, _MANY_VALUES = 2, 3
_BEFORE = 40
_MOST_WORDS = 5


class Name(NamedTuple):
    """A name in a row, its statement, and the subject if the name is one; ``is_unit`` where a unit
    tells the observable (``tok/s``), with its factor."""

    start: int
    end: int
    text: str
    statement: Statement
    subject: str = ""
    is_unit: bool = False
    factor: float = 1.0


def normal(name: str) -> str:
    """The words of a name joined, in small letters."""
    return "".join(map(_word, _WORD.findall(name)))


def _word(word: str) -> str:
    return _QUANTILE.sub("p", word.lower())


def found_in(row: str, known: Collection[str]) -> Iterator[tuple[int, int, str]]:
    """The places of known names in a row, the longest at each, and their normal forms. Their words
    may be joined by one space, hyphen, underscore, slash, point or bar, or by nothing."""
    words = [(m.start(), m.end(), _word(m[0])) for m in _WORD.finditer(row)]
    at = 0
    while at < len(words):
        joined, longest = "", None
        for last in range(at, min(at + _MOST_WORDS, len(words))):
            if last > at and not _JOINT.fullmatch(row, words[last - 1][1], words[last][0]):
                break
            joined += words[last][2]
            if joined in known:
                longest = last, joined
        if longest:
            yield words[at][0], words[longest[0]][1], longest[1]
            at = longest[0]
        at += 1


class Names:
    """The names of ``statements``; which of them count depends on the words of the text."""

    def __init__(self, statements: Iterable[Statement]) -> None:
        every = tuple(statements)
        self.statements = tuple(each for each in every if each.form != "words")
        self.lists = {
            s.name: frozenset(map(str.lower, s.names)) for s in every if s.form == "words"
        }
        self._entries: dict[str, list[tuple[str, Statement, str]]] = {}
        for statement in self.statements:
            for text, subject in _entries(statement):
                self._entries.setdefault(normal(text), []).append((text, statement, subject))
        self._telling = {
            unit.lower(): (statement, factor)
            for statement in self.statements
            for unit, factor in statement.telling
        }
        self._heard = {*self._entries, *map(normal, self._telling)}
        self._units = {unit for s in self.statements for unit, _ in s.units}
        self._subjects = {
            s.name: {normal(word): subject for subject, told in s.subjects for word in told}
            for s in self.statements
        }
        self._any_subject = {
            word for s in self.statements if s.names for word in self._subjects[s.name]
        }
        self.words = [
            (s, re.compile(rf"(?<!\w)({s.pattern})(?!\w)", re.IGNORECASE))
            for s in self.statements if s.pattern
        ]  # fmt: skip

    def may_be_in(self, text: str) -> bool:
        """Whether a text has any name, or a word that needs none."""
        told = next(found_in(text, self._heard), None)
        return told is not None or any(pattern.search(text) for _, pattern in self.words)

    def has_sides(self, text: str) -> bool:
        """Whether the first lines name both sides, as the head of a comparison does."""
        heard = {word.lower() for word in _SIDE.findall(text[:_HEAD])}
        sides = ("port-side", "reference-side")
        return all(heard & self.lists.get(side, frozenset()) for side in sides)

    def listed_subjects(self, text: str) -> tuple[int, ...]:
        """The numbers of the lines that are a subject and a broken number (``mlp 1.31``), if there
        are several; else of all with such a number, if these are many."""
        broken = [
            (number, line) for number, line in enumerate(text.split("\n"), 1)
            if len(line) < _LISTED and _BROKEN.search(line)
        ]  # fmt: skip
        listed = [
            number for number, line in broken if next(found_in(line, self._any_subject), None)
        ]
        if len(listed) > 1:
            return tuple(listed)
        many = _MANY_VALUES if text.lstrip().startswith(("{", "[")) else _MANY
        return tuple(number for number, _ in broken) if len(broken) >= many else ()

    def admitted(self, text: str) -> frozenset[str]:
        """The statements for which the text has words that they need, and none that bars them."""
        heard = {word.lower() for word in _WORD.findall(text)}

        def says(words: Iterable[str]) -> bool:
            return any(heard.issuperset(_WORD.findall(word.lower())) for word in words)

        return frozenset(
            s.name for s in self.statements
            if (not s.about or says(s.about)) and not (s.unless and says(s.unless))
        )  # fmt: skip

    def in_row(self, row: str, admitted: frozenset[str]) -> list[Name]:
        """The names in a row, in their order."""
        found: list[Name] = []
        places = [*found_in(row, self._entries), *self._before_digits(row)]
        paths = [match.span() for match in _FILE.finditer(row)]
        places = [
            each for each in places
            if not _LIMITED.search(row, max(0, each[0] - 4), each[0])
            and not any(a <= each[0] < b for a, b in paths)
        ]  # fmt: skip
        for start, end, name in sorted(places):
            for text, statement, subject in self._entries[name]:
                same = len(text) > 1 or text == row[start:end]
                if statement.name in admitted and same:
                    found.append(Name(start, end, row[start:end], statement, subject))
        return found

    def _before_digits(self, row: str) -> Iterator[tuple[int, int, str]]:
        """Short names of whole numbers that digits follow."""
        for match in _WORD.finditer(row):
            if glued := _GLUED.match(match[0]):
                told = self._entries.get(glued[1].lower(), ())
                if any(statement.integer for _, statement, _ in told):
                    yield match.start(), match.start() + len(glued[1]), glued[1].lower()

    def glued(self, row: str) -> list[int]:
        """The ends of the names that digits follow."""
        return [end for _, end, _ in self._before_digits(row)]

    def unit_behind(self, row: str, at: int, admitted: frozenset[str]) -> Name | None:
        """The unit at a place that tells the observable."""
        start = at + (row[at : at + 1] in (" ", "-"))
        behind = row[start : start + _BEFORE].lower()
        fitting = [
            unit for unit in self._telling
            if behind.startswith(unit) and not re.match(r"[\w/]", behind[len(unit) :])
        ]  # fmt: skip
        if not fitting:
            return None
        unit = max(fitting, key=len)
        statement, factor = self._telling[unit]
        if statement.name not in admitted:
            return None
        return Name(at, start + len(unit), unit, statement, "", True, factor)

    def key_unit(self, row: str, name: Name) -> tuple[float | None, int]:
        """The factor of the unit joined to a name (``step_time_ms``, ``match rate (%)``), and its
        end; None without one."""
        match = _KEY_UNIT.match(row, name.end)
        factor = dict(name.statement.units).get(match[1]) if match else None
        return factor, match.end() if match and factor is not None else name.end

    def is_unit(self, word: str) -> bool:
        """Whether some statement has the unit."""
        return word in self._units

    def without_subjects(self, text: str) -> str:
        """A text with the same word for each subject."""
        parts, at = [], 0
        for start, end, _ in found_in(text, self._any_subject):
            parts += [text[at:start], " SUBJECT "]
            at = end
        return "".join((*parts, text[at:]))

    def subject(self, statement: Statement, row: str, place: int) -> str:
        """The subject nearest before a place in the row, else the first behind it. A path of
        modules is one as a whole."""
        known = self._subjects[statement.name]
        found = [*found_in(row, known)] if known else []
        before = [each for each in found if each[1] <= place]
        for start, end, word in (*before[-1:], *found[:1]):
            if numbered := _NUMBERED.search(row[max(0, start - _BEFORE) : start]):
                return f"{numbered[1]}{row[start:end]}"
            path = _PATH.search(row[max(0, start - 80) : start])
            if path and re.search(r"\w\.\d", path[0]):
                return (path[0] + row[start:end]).strip(".")
            return known[word]
        return ""


def _entries(statement: Statement) -> Iterator[tuple[str, str]]:
    yield from ((name, "") for name in statement.names)
    if not statement.names:
        yield from ((word, subject) for subject, told in statement.subjects for word in told)


@lru_cache(maxsize=4)
def names_of(statements: tuple[Statement, ...]) -> Names:
    """The names of the statements of a vocabulary."""
    return Names(statements)
