"""The ratios of errors among the records of a text.

A column of ratios has such a name, or most of its values are near 1. Errors of two sides give one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ...facts.statements import Statement
from .records import Record
from .series import Series, Told, last

_LOW, _HIGH = 0.95, 1.19
"""The range of the lower quartile of a column of ratios: most components are sound."""
_LIMITS = (1.1, 3.0)
_LEAST = 3
_SMALL_R = re.compile(r"(?<![A-Za-z])r(?![A-Za-z])")
_ALIKE = 0.05
_OTHER_UNITS = frozenset(("%", "ms", "s"))
_WORDS_OF_A_NAME = 4
_SMALL = 0.1
"""Figures of two sides below it are errors where the text has a word for these."""


class _Ratio(NamedTuple):
    record: Record
    value: float
    subject: str


def ratios(series: Series) -> Iterator[Told]:
    """The ratio of each component, or the largest where they are of no components."""
    statement = series.behaving.get("ratio")
    if statement is None:
        return
    limit = series.limit(*_LIMITS)
    found = [
        _Ratio(record, value, series.subject(statement, record))
        for record, value in _said(series, limit is not None) or _made(series)
        if _is_of_a_part(series, statement, record)
    ]
    now = _odd_one(_current(series, found), limit or _HIGH)
    if any(series.known_subject(statement, each.record) for each in now):
        for each in now:
            yield Told(statement, each.value, each.subject, each.record.line, limit)
    elif now and (largest := series.behaving.get("largest")):
        worst = max(now, key=lambda each: each.value)
        yield Told(largest, worst.value, worst.subject, worst.record.line, limit)


def _is_of_a_part(series: Series, statement: Statement, record: Record) -> bool:
    """Whether a figure has the name of a part beside it, and no sentence, and is of no total."""
    label = last(record.label)
    if series.are("total-words", label) and not series.known_subject(statement, record):
        return False
    is_name = not record.is_line or len(label.split()) <= _WORDS_OF_A_NAME
    return is_name or bool(series.known_subject(statement, record))


def _current(series: Series, found: Sequence[_Ratio]) -> list[_Ratio]:
    """The worst figure of each subject; what was before a change comes last."""
    now: dict[str, _Ratio] = {}
    earlier: dict[str, _Ratio] = {}
    for each in found:
        title = each.record.group.partition(":")[2] if each.record.is_line else ""
        outer = each.record.label.split(" | ")[:-1]
        was = each.record.replaced or series.are("earlier-words", each.record.column, title, *outer)
        told = earlier if was else now
        if each.subject not in told or told[each.subject].value < each.value:
            told[each.subject] = each
    return [*now.values(), *(e for subject, e in earlier.items() if subject not in now)]


def _odd_one(now: Sequence[_Ratio], limit: float) -> list[_Ratio]:
    """Return only the part that heals the rest where parts were replaced one at a time, with the
    ratio of the others."""
    sound = [each for each in now if each.value < limit]
    others = [each.value for each in now if each.value >= limit]
    if len(sound) == 1 and len(others) > _LEAST and max(others) <= min(others) * (1 + _ALIKE):
        return [sound[0]._replace(value=max(others))]
    return list(now)


def _says_ratio(series: Series, text: str) -> bool:
    return series.are("ratio-words", text) and not _SMALL_R.search(text)


def _said(series: Series, has_limit: bool) -> list[tuple[Record, float]]:
    columns: dict[tuple[str, str, int], list[Record]] = {}
    line = block = 0
    for record in series.figures:
        if record.of is None and record.unit not in _OTHER_UNITS and not record.aside:
            own = not record.is_line or _says_ratio(series, record.column)
            block, line = block + (record.line - line > 1), record.line
            place = record.group, record.column if own else "", block * record.is_line
            columns.setdefault(place, []).append(record)
    hinted = has_limit or series.are("ratio-words", series.text)
    found = []
    for (_, column, _), records in columns.items():
        listed = [
            r for r in records
            if (r.broken and not r.column if r.is_line else not series.is_limit(r))
        ]  # fmt: skip
        alike = hinted and not series.side(column) and _lie_about_one(listed)
        for record in records:
            says = _says_ratio(series, record.column)
            says = says or (
                not record.column and record.broken and _says_ratio(series, record.label)
            )
            if (says or (alike and record in listed)) and not series.is_limit(record):
                found.append((record, float(record.value)))
    if len({record.line for record, _ in found}) < _LEAST:  # else the words around them tell
        found = [each for each in found if not each[0].is_line]
    return sorted(found, key=lambda each: each[0].line)


def _lie_about_one(records: Sequence[Record]) -> bool:
    values = sorted(float(r.value) for r in records)
    if len(values) < _LEAST or not all(r.broken for r in records):
        return False
    return values[0] > 1 / 2 and _LOW <= values[len(values) // 4] <= _HIGH


def _made(series: Series) -> list[tuple[Record, float]]:
    """The ratio of the error of the port to that of the reference."""
    found = []
    values = [float(r.value) for pair in series.pairs for r in pair if r.broken]
    small = max(values, default=1.0) < _SMALL
    spoken = small and series.are("error-words", series.text)
    for reference, port in series.pairs:
        a, b = float(reference.value), float(port.value)
        is_error = series.are("error-words", reference.column, port.column, port.label)
        is_error = is_error or (spoken and not port.is_line)
        if is_error and port.of is None and port.broken and (a > 0 or b == 0):
            found.append((port, float(f"{b / a:.4g}") if a > 0 else 1.0))
    return found
