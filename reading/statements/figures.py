"""The figures in a row: numbers with the unit behind them, and versions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

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
