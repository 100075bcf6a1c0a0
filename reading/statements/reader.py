"""Reads the figures that a text states of declared observables.

For each pair of a name and a figure in a row, weights learned from texts of many people
(``weights.json``, written by ``make statements``) tell the chance that the figure is the value of
the name, or its limit. A figure goes to the name that it fits best, if that is likely enough.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ...facts.statements import Statement
from ..text.values import json_table
from .names import Names, names_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .pairs import Pair
    from .rows import Row
    from .series import Series

MAX_CHARACTERS = 200_000
VALUE, LIMIT = 0, 1
ENOUGH = 0.9
"""The chance from which a figure is read."""
_MAYBE = 0.4
"""The chance from which a figure that is not read may be meant."""
_ENOUGH_OF_LIMIT = 0.5
_LABEL = re.compile(r"[A-Za-z][\w./\[\]-]{1,40}(?:[ ,][\w./()\[\]-]{1,20}){0,2}")
_LEADING = re.compile(r"(?<=[\w\])])(?:\s*[:=|]|\s{2,}|\s[-–—])\s*\Z|\A.*\w\s?\Z")
_BECOMES = re.compile(r"->|→|\bto\b|\bthen\b|\bafter\b|\bnow\b", re.IGNORECASE)

Judged = Sequence[tuple[float, float, "Pair"]]
"""The pairs of a row, each with the chances that it is a value and that it is a limit."""

Weights = Mapping[str, Sequence[float]]
"""For each sign those of a value and of a limit; that of neither is 0."""


class Said(NamedTuple):
    """A statement of a text: the name of its declaration, the value in the base unit, the subject
    and the limit if it has them, and its line. It is ``replaced`` where the text goes on to say
    what it has become."""

    statement: str
    value: float | str
    subject: str = ""
    limit: float | str | None = None
    line: int = 1
    quote: str = ""
    replaced: bool = False


class Reading(NamedTuple):
    """The statements of a text, and the numbers of lines with figures that are not understood."""

    said: tuple[Said, ...] = ()
    unsure: tuple[int, ...] = ()


def read_statements(
    text: str, statements: tuple[Statement, ...], weights: Weights | None = None
) -> list[Said]:
    """The observables of ``statements`` in a text, in the order of its rows. A figure without a
    declared name is never read."""
    return list(read(text, statements, weights).said)


def read(
    text: str,
    statements: tuple[Statement, ...],
    weights: Weights | None = None,
    code: Collection[int] = (),
) -> Reading:
    """The same, with the lines whose figures may be meant. Series leave ``code`` lines out."""
    text = text[:MAX_CHARACTERS]
    names = names_of(statements)
    listed = names.listed_subjects(text)
    if not (names.may_be_in(text) or listed or names.has_sides(text)):
        return Reading()  # most texts, for which nothing more is imported
    admitted = names.admitted(text)
    one = _one_by_one(text, names, admitted, weights, listed)
    if not (one.said or listed or names.has_sides(text) or "/" in text or " of " in text):
        return one  # there is nothing to compare
    lines = text.split("\n")
    shown = "\n".join("" if n in code else line for n, line in enumerate(lines, 1))
    from .series import Series

    series = Series(shown, names, admitted)
    limits = {(r.line, r.value) for r in series.figures if series.is_limit(r)}
    once = [each for each in one.said if (each.line, each.value) not in limits]
    told = [each._replace(quote=_line(lines, each.line)) for each in _told(series, once)]
    known = {each.statement for each in told}
    said = (*told, *(each for each in once if each.statement not in known))
    return Reading(said, tuple(_left(series, told)) if told else one.unsure)


def _left(series: Series, told: Sequence[Said]) -> Iterator[int]:
    """The lines with other figures than those that are read, where these are ratios of a sentence
    or a list, or are beside lists of values: those that are read may be the sound ones."""
    read_ = {(each.line, each.value) for each in told}
    kinds = {each.statement for each in told if each.line in series.lines_of_words}
    behaving = {name: s.name for name, s in series.behaving.items()}
    if behaving.get("ratio") in kinds or behaving.get("largest") in kinds:
        lines = (r.line for r in series.figures if r.is_line and series.is_unread(r, read_))
    else:
        lines = (r.line for r in series.records if str(r.value).startswith("[") and "." in r.told)
    yield from sorted(set(lines))


def _line(lines: Sequence[str], number: int) -> str:
    """A line as it is quoted; the tags of a page can make further ones."""
    return lines[number - 1].strip()[:200] if number <= len(lines) else ""


def _told(series: Series, said: Sequence[Said]) -> list[Said]:
    """The figures that are known by those beside them; of what is ``said`` once only those that
    are known by their behaviour alone."""
    from . import compared, ratios, shares

    once = Counter(each.statement for each in said)
    by_name = (*shares.percents(series), *compared.named(series), *shares.shares(series))
    told = [
        *ratios.ratios(series), *compared.scores(series), *compared.structure(series),
        *(each for each in by_name if once[each.statement.name] != 1),
    ]  # fmt: skip
    return [Said(t.statement.name, t.value, t.subject, t.limit, t.line) for t in told]


def _one_by_one(
    text: str,
    names: Names,
    admitted: frozenset[str],
    weights: Weights | None,
    listed: Sequence[int],
) -> Reading:
    """The figures that the words around them tell."""
    from .rows import named_rows, rows_of

    known: Weights = json_table(__file__, "weights.json") if weights is None else weights
    lines = text.split("\n")
    rows = named_rows(rows_of(text), names, admitted)
    judged = [(row, _judged(row, names, admitted, known)) for row in rows]
    limits = _limits(judged)
    found: list[Said] = []
    unsure = {*listed}
    for row, pairs in judged:
        quote = _line(lines, row.line)
        said = [said._replace(quote=quote) for said in _of_row(row, pairs, names, limits)]
        found += said
        if not said and any(chance >= _MAYBE and pair.is_measured for chance, _, pair in pairs):
            unsure.add(row.line)
    unsure -= {said.line for said in found}
    return Reading(tuple(dict.fromkeys(found)), tuple(sorted(unsure)))


def chances(signs: Iterable[str], weights: Weights) -> tuple[float, float]:
    """The chances that a figure is the value, and the limit, of a name."""
    told = [weights[sign] for sign in signs if sign in weights]
    value, limit = (math.exp(min(30.0, math.fsum(w[n] for w in told))) for n in (VALUE, LIMIT))
    return value / (1 + value + limit), limit / (1 + value + limit)


def _judged(
    row: Row, names: Names, admitted: frozenset[str], weights: Weights
) -> list[tuple[float, float, Pair]]:
    from .pairs import pairs_of

    return [(*chances(p.signs, weights), p) for p in pairs_of(row, names, admitted)]


def _limits(judged: Iterable[tuple[Row, Judged]]) -> dict[tuple[str, str, str], float]:
    """The likeliest limit for each record, statement and subject that is a name."""
    best: dict[tuple[str, str, str], tuple[float, float]] = {}
    for row, pairs in judged:
        for _, chance, pair in pairs:
            key = row.record, pair.name.statement.name, pair.name.subject
            if isinstance(pair.value, float) and chance > best.get(key, (_ENOUGH_OF_LIMIT,))[0]:
                best[key] = chance, pair.value
    return {key: value for key, (_, value) in best.items()}


def _of_row(
    row: Row, judged: Judged, names: Names, limits: Mapping[tuple[str, str, str], float]
) -> Iterator[Said]:
    best: dict[int, tuple[float, Pair]] = {}
    for chance, _, pair in judged:
        if chance > best.get(pair.figure.start, (ENOUGH,))[0]:
            best[pair.figure.start] = chance, pair
    chosen = [pair for _, pair in sorted(best.values(), key=lambda each: each[1].figure.start)]
    for pair in chosen:
        name = pair.name
        limit = limits.get((row.record, name.statement.name, name.subject))
        subject = name.subject or names.subject(name.statement, row.text, pair.figure.start)
        if name.statement.behaves == "ratio" and len(name.text) == 1 and not subject:
            continue  # one letter stands for much else
        subject = subject or (_label(row, pair) if name.statement.unnamed else "")
        replaced = _is_replaced(row.text, pair, chosen)
        yield Said(name.statement.name, pair.value, subject, limit, row.line, "", replaced)


def _label(row: Row, pair: Pair) -> str:
    """The words that a row begins with, if they stand for a subject of its own."""
    from .rows import BELOW

    before = row.text[: min(pair.name.start, pair.figure.start)]
    if row.form == BELOW:
        before = row.text[pair.name.end : pair.figure.start]
    words = before.rpartition(" | ")[0] or _LEADING.sub("", before)
    words = words.partition("  ")[0].strip(" |:=*`\"'-\t>")
    return words if _LABEL.fullmatch(words) else ""


def _is_replaced(row: str, pair: Pair, chosen: Sequence[Pair]) -> bool:
    last = [other.figure for other in chosen if other.name == pair.name][-1]
    return pair.figure.end < last.start and bool(_BECOMES.search(row[pair.figure.end : last.start]))
