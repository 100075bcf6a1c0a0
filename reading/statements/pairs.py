"""The figures in a row, and their pairs with a name, with signs of whether they belong together.

Signs are the words between the two, beside them and in the row, their order, the punctuation and
the unit, but not what is measured. So weights learned from one observable hold for any other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from .names import Name, Names
from .rows import CELL, Row

_NUMBER = re.compile(
    r"(?<![\w./@#^+])(?<!\w-)[-+]?(?:\d{1,3}(?:,\d{3})+(?![\d,])|\d[\d_]{0,30}|(?=\.\d))"
    r"(?:\.\d{1,30})?(?:[eE][-+]?\d{1,3})?"
    r"(?:\s?[×x*]\s?10(?:\^|\*\*)?([-⁻]?[\d⁰¹²³⁴⁵⁶⁷⁸⁹]{1,3}))?([kKM](?![A-Za-z]))?"
)
_RAISED = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
_THOUSANDS = {"k": 1e3, "K": 1e3, "M": 1e6}
_GLUED = re.compile(r"\d{1,3}(?![\w.])")
_WHOLE = re.compile(r"(?:x|%|ms|us|µs|s|sec|min|h|tok/s|t/s|s/it)(?![A-Za-z])|-way")
_PART = re.compile(r"\.\d|[-/:]\d|[A-Za-z_]")
_UNIT = re.compile(r"\s?(%|[A-Za-zµ]{1,20})")
_VERSION = re.compile(
    r"(?<![\w.])(?<!\d:)v?(?!0\.0\.0\.0|127\.0)(\d{1,9}(?:\.\d{1,9}){1,6}(?:\.?(?:rc|a|b|dev|post)\d{1,9})?(?:\+\w{1,30}(?:\.\w{1,30})?)?)"
    r"(?!\w|\.\d|\.\*)"
)
FARTHEST, FARTHEST_AHEAD = 90, 30
"""Characters between a name and a figure behind it, or ahead of it."""
_MOST = 40
_TOKEN = re.compile(r"[A-Za-z][A-Za-z']*|->|=>|==|>=|<=|\d+(?:\.\d+)?|[^\w\s]")
_BREAK = re.compile(r"[.!?]\s+[A-Z]|;\s")
_TIMED = re.compile(r"sec|latency|time|duration|s/|_s\b", re.IGNORECASE)
_JOINED = re.compile(r"([A-Za-z0-9]{1,40})[_\-./]\Z")
_OTHER_UNITS = frozenset((
    "ms", "us", "s", "sec", "seconds", "min", "minutes", "hours", "hour", "h", "%", "percent", "gb",
    "mb", "gib", "mib", "kb", "b", "usd", "k", "x", "bytes", "days",
))  # fmt: skip


class Figure(NamedTuple):
    """A number or version, its place in the row, and the word right behind it."""

    start: int
    end: int
    value: float | str
    unit: str = ""


def numbers(row: str, glued: list[int]) -> list[Figure]:
    """The numbers that are not parts of dates, versions or words; ``glued`` are the places behind
    names that digits may follow without a space (``TP8``)."""
    found = {Figure(at, m.end(), float(m[0])) for at in glued if (m := _GLUED.match(row, at))}
    for match in _NUMBER.finditer(row):
        rest = row[match.end() : match.end() + 24]
        value = _value(match)
        if value is not None and (_WHOLE.match(rest) or not _PART.match(rest)):
            unit = _UNIT.match(rest)
            found.add(Figure(match.start(), match.end(), value, unit[1] if unit else ""))
    return sorted(found, key=lambda figure: figure.start)


def _value(match: re.Match[str]) -> float | None:
    plain = match[0][:-1] if match[2] else match[0]
    if match[1]:
        plain = re.split(r"\s?[×x*]", plain)[0]
    try:
        value = float(plain.replace(",", "").replace("_", ""))
        return times(value, _power(match[1]) * _THOUSANDS.get(match[2] or "", 1.0))
    except (ValueError, OverflowError):
        return None


def _power(exponent: str | None) -> float:
    return 10.0 ** int(exponent.translate(_RAISED)) if exponent else 1.0


def versions(row: str) -> Iterator[Figure]:
    """The versions of two parts or more."""
    for match in _VERSION.finditer(row):
        yield Figure(match.start(1), match.end(1), match[1])


def times(value: float, factor: float) -> float:
    """The product as people write it: 71.2 % is 0.712."""
    return float(f"{value * factor:.12g}")


class Pair(NamedTuple):
    """A name with a figure that may be its value; ``value`` in the base unit."""

    name: Name
    figure: Figure
    value: float | str
    signs: tuple[str, ...]

    @property
    def is_measured(self) -> bool:
        """Whether the figure has decimals."""
        return isinstance(self.value, float) and not self.value.is_integer()


def pairs_of(row: Row, names: Names, admitted: frozenset[str]) -> Iterator[Pair]:
    """The pairs in a row whose value is possible."""
    text = row.text
    for statement, pattern in names.words:
        if statement.name in admitted:
            for match in pattern.finditer(text):
                name = Name(*match.span(1), match[1], statement)
                figure = Figure(match.start(1), match.end(1), match[1].lower())
                yield Pair(name, figure, figure.value, tuple(_word_signs(row, match)))
    if not any(map(str.isdigit, text)):
        return
    told = names.in_row(text, admitted)
    own = text.rfind(" | ") if row.form == CELL else -1  # what is before has its row
    figures = [f for f in numbers(text, names.glued(text)) if f.start > own][:_MOST]
    units = [unit for f in figures if (unit := names.unit_behind(text, f.end, admitted))]
    released = [f for f in versions(text) if f.start > own][:_MOST]
    if not told and not units:
        return
    reader = _RowReader(row, names, [*told[:_MOST], *units])
    for name in (*told[:_MOST], *units):
        yield from reader.pairs(name, released if name.statement.form == "version" else figures)


class _RowReader:
    def __init__(self, row: Row, names: Names, told: Sequence[Name]) -> None:
        self._row = row
        self._names = names
        self._told = told
        self._whole = tuple(f"in:{word}" for word in sorted(set(self._tokens(row.text))))

    def pairs(self, name: Name, figures: Sequence[Figure]) -> Iterator[Pair]:
        for figure in figures:
            if name.is_unit and figure.end != name.start:
                continue
            if figure.start < name.end and name.start < figure.end:
                continue
            start, end = self._between(name, figure)
            if end - start > (FARTHEST if figure.start >= name.end else FARTHEST_AHEAD):
                continue
            if figure.end <= name.start and _BREAK.search(self._row.text[start:end]):
                continue  # the name is in the next sentence
            read = self._value(name, figure)
            if read is not None:
                value, unit, behind = read
                signs = (*self._signs(name, figure, figures, unit, behind), *self._whole)
                yield Pair(name, figure, value, tuple(dict.fromkeys(signs)))

    def _between(self, name: Name, figure: Figure) -> tuple[int, int]:
        return (name.end, figure.start) if figure.start >= name.end else (figure.end, name.start)

    def _value(self, name: Name, figure: Figure) -> tuple[float | str, str, int] | None:
        """The value of a figure under a name, the kind of its unit, and where that ends."""
        statement = name.statement
        if isinstance(figure.value, str):
            return figure.value, "version", figure.end
        factor, unit, end = self._unit(name, figure)
        if factor is None:
            return None
        is_timed = unit != "foreign" and _TIMED.search(self._row.text[name.start : name.end + 2])
        if statement.needs_unit and unit in ("none", "word", "foreign") and not is_timed:
            return None
        value = times(figure.value, factor)
        return (value, unit, end) if statement.fits(value) else None

    def _unit(self, name: Name, figure: Figure) -> tuple[float | None, str, int]:
        text, statement = self._row.text, name.statement
        if name.is_unit:
            return name.factor, "tell", name.end
        for unit in self._told:
            if unit.is_unit and unit.start == figure.end:
                same = unit.statement == statement
                return (unit.factor, "tell", unit.end) if same else (None, "", 0)
        own = dict(statement.units)
        for said in (figure.unit, figure.unit.lower()):
            if said in own:
                return own[said], "own", text.index(figure.unit, figure.end) + len(figure.unit)
        if figure.unit.lower() in _OTHER_UNITS or self._names.is_unit(figure.unit):
            return 1.0, "foreign", figure.end
        factor, _ = self._names.key_unit(text, name)
        if factor is not None:
            return factor, "key", figure.end
        return 1.0, "word" if figure.unit else "none", figure.end

    def _tokens(self, text: str) -> list[str]:
        plain = self._names.without_subjects(text)
        return ["0" if t[0].isdigit() else t if t == "SUBJECT" else t.lower()
                for t in _TOKEN.findall(plain)]  # fmt: skip

    def _signs(
        self, name: Name, figure: Figure, figures: Sequence[Figure], unit: str, unit_end: int
    ) -> Iterator[str]:
        text = self._row.text
        behind = figure.start >= name.end
        start, end = self._between(name, figure)
        key_end = max(name.end, self._names.key_unit(text, name)[1])
        gap = self._tokens(text[key_end : figure.start] if behind else text[unit_end : name.start])
        yield from ("always", f"form:{self._row.form}", f"behind:{behind}", f"unit:{unit}")
        yield f"behind:{behind}:{unit}"
        yield from self._crowd(name, figure, figures, start, end)
        yield from _gap_signs("g" if behind else "h", gap)
        if _BREAK.search(text[start:end]):
            yield "break"
        before_name = self._tokens(text[max(0, name.start - 40) : name.start])
        before = self._tokens(text[max(0, figure.start - 40) : figure.start])
        after = self._tokens(text[unit_end : unit_end + 40])
        yield f"name after {before_name[-1] if before_name else '^'}"
        yield f"figure after {before[-1] if before else '^'}"
        yield f"figure before {after[0] if after else '$'}"
        yield from (f"before name:{word}" for word in before_name[-4:])
        yield from (f"before:{word}" for word in before[-5:])
        yield f"figure after {' '.join(before[-2:])}"
        yield f"figure before {' '.join(after[:2])}"
        yield from (f"after:{word}" for word in after[:3])
        if joined := _JOINED.search(text[max(0, name.start - 41) : name.start]):
            yield from ("joined", f"joined:{joined[1].lower()}")
        if re.match(r"[_\-./]?[A-Za-z]", text[name.end : name.end + 2]):
            yield "goes on:" + " ".join(self._tokens(text[name.end : name.end + 20])[:2])
        short = len(name.text) <= 2
        yield from (f"short:{short}", "capitals" if name.text.isupper() else "small")
        if short:
            yield f"short gap:{_shape(gap)[:6]}"
        if isinstance(figure.value, str):
            yield f"parts:{figure.value.count('.')}"
        whole = isinstance(figure.value, float) and figure.value.is_integer()
        yield from (f"whole:{whole}", f"whole:{whole}:{name.statement.integer}")
        yield from self._alone(name, figures, whole=whole)

    def _alone(self, name: Name, figures: Sequence[Figure], *, whole: bool) -> Iterator[str]:
        """How many figures and names the row has for each other."""
        others = {n.statement.name for n in self._told} - {name.statement.name}
        broken = sum(isinstance(f.value, float) and not f.value.is_integer() for f in figures)
        kind = f"{whole}:{name.statement.integer}"
        yield f"alone:{min(len(figures), 4)}:{min(broken, 3)}:{bool(others)}:{kind}"
        yield f"broken:{min(broken, 3)}:{kind}"

    def _crowd(
        self, name: Name, figure: Figure, figures: Sequence[Figure], start: int, end: int
    ) -> Iterator[str]:
        """The number of other names and figures between the two."""
        others = [n for n in self._told if start <= n.start < end and not n.is_unit]
        same = sum(other.statement == name.statement for other in others)
        amid = sum(start <= f.start < end and f != figure for f in figures)
        yield f"figures between:{min(amid, 3)}"
        yield f"names between:{min(len(others) - same, 2)}"
        yield f"again:{min(same, 2)}"
        crowd = f"{min(amid, 2)}:{min(len(others) - same, 1)}:{min(same, 1)}"
        yield f"{'g' if figure.start >= name.end else 'h'}:{crowd}:{(end - start) // 6}"


def _gap_signs(side: str, gap: Sequence[str]) -> Iterator[str]:
    words = sum(token[0].islower() for token in gap)
    yield from (f"words:{min(words, 9)}", f"long:{min(sum(map(len, gap)) // 8, 8)}")
    yield from (f"{side}:{token}" for token in gap)
    yield f"{side} shape:{_shape(gap)[:12]}"
    if gap:
        yield from (f"{side} first:{gap[0]}", f"{side} last:{gap[-1]}")
        yield f"{side} end:{' '.join(gap[-2:])}"
    else:
        yield f"{side} empty"


def _shape(tokens: Sequence[str]) -> str:
    return "".join("w" if t[0].islower() else "S" if t[0].isalpha() else t for t in tokens)


def _word_signs(row: Row, match: re.Match[str]) -> Iterator[str]:
    """The signs of a word that needs no name."""
    before = [
        t.lower() for t in _TOKEN.findall(row.text[max(0, match.start() - 60) : match.start()])
    ]
    after = [t.lower() for t in _TOKEN.findall(row.text[match.end() : match.end() + 40])]
    yield from ("word", f"word form:{row.form}")
    yield from (f"word before:{word}" for word in before)
    yield from (f"word after:{word}" for word in after)
    yield f"word at:{before[-1] if before else '^'}"
    yield f"word then:{after[0] if after else '$'}"
    if "?" in row.text:
        yield "word asked"
