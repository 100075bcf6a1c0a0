"""The shares among the records of a text: k of n, columns of counts, and percentages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from ...facts.statements import Statement
from .records import Record
from .series import Series, Told, last, words

_STEPS = 3


class _Share(NamedTuple):
    k: float
    n: float
    is_total: bool
    line: int


def shares(series: Series) -> Iterator[Told]:
    """The share of generated tokens that both sides have alike: of the row for all, or of the sum
    of all rows."""
    statement = series.behaving.get("share")
    if statement is None:
        return
    found = _counted(series) or _columns(series)
    yield from _summed(statement, found)


def percents(series: Series) -> Iterator[Told]:
    """The same where percentages are given: of the row for all, or their mean."""
    if statement := series.behaving.get("share"):
        yield from _summed(statement, _percents(series))


def _summed(statement: Statement, found: list[_Share]) -> Iterator[Told]:
    """The share of the row for all, or of the sum of rows that are alike."""
    chosen = [each for each in found if each.is_total][-1:] or found
    k, n = sum(each.k for each in chosen), sum(each.n for each in chosen)
    if chosen and (len(chosen) < 2 or min(each.k / each.n for each in chosen) > k / n / 3):
        yield Told(statement, float(f"{k / n:.6g}"), "", chosen[0].line)


def _counted(series: Series) -> list[_Share]:
    """Each k of n, where the text is about generated tokens; the largest n may be that of all."""
    spoken = {word.strip(".,:;()'\"*`").lower() for word in series.text.split()}
    if not spoken & series.names.lists.get("generated-words", frozenset()):
        return []
    score = series.behaving.get("score")
    counts = Counter(r.of for r in series.figures if r.of)
    found = [
        _Share(float(r.value), r.of, series.are("total-words", r.column, r.label, r.after), r.line)
        for r in series.figures
        if r.of
        and float(r.value) <= r.of
        and not (score and series.known_subject(score, r))
        and (counts[r.of] > 1 or series.are("equal-words", r.label, r.column, r.after, r.group))
        and not series.are("ranked-words", r.column, r.label, r.after)
    ]
    counters = _progress(found)
    found = [each for each in found if each.n not in counters]
    most = max((each.n for each in found), default=0)
    whole = [each for each in found if each.n == most]
    parts = sum(each.n for each in found if each.n < most)
    if len({each.k for each in whole}) == 1 and parts in (0, most):
        return whole[-1:]
    return found


def _progress(found: list[_Share]) -> set[float]:
    """The n of counters, such as 16/48, 32/48, 48/48."""
    counters, steps = set(), 1
    for before, each in pairwise(found):
        steps = steps + 1 if each.n == before.n and each.k > before.k else 1
        if steps >= _STEPS and each.k == each.n:
            counters.add(each.n)
    return counters


def _columns(series: Series) -> list[_Share]:
    """A column of counts that are equal, beside one of all."""
    rows: dict[tuple[str, str], list[Record]] = {}
    for record in series.figures:
        if not record.is_line and not record.broken:
            rows.setdefault((record.group, record.label), []).append(record)
    found = []
    for (_, label), row in rows.items():
        equal = [
            r for r in row
            if series.are("equal-words", r.column)
            and not series.are("ranked-words", r.column)
            and not series.are("share-words", r.column)
        ]  # fmt: skip
        for one in equal[:1]:
            others = [
                float(r.value) for r in row
                if r not in equal and series.are("count-words", r.column)
                and float(r.value) >= float(one.value)
            ]  # fmt: skip
            if others and others[-1]:
                is_total = series.are("total-words", label)
                found.append(_Share(float(one.value), others[-1], is_total, one.line))
    return found


def _percents(series: Series) -> list[_Share]:
    found = []
    for record in series.figures:
        if record.is_line:
            continue
        texts = record.column, last(record.label)
        told = series.are("equal-words", *texts) and not series.are("ranked-words", *texts)
        is_share = record.unit == "%" or series.are("share-words", *texts)
        if told and is_share and not series.are("limit-words", *texts):
            value = float(record.value)
            whole = (
                100.0
                if record.unit == "%" or words(" ".join(texts)) & {"pct", "percent"} or value > 1
                else 1.0
            )
            if 0 <= value <= whole:
                found.append(_Share(value, whole, series.are("total-words", *texts), record.line))
    return found
