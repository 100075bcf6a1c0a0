"""Tells what the records of a text are by how they behave, with or without names.

Figures of one column are one observable. Errors of two sides have a ratio, scores of two sides a
difference, k of n is a share, and shares of one column add up. The words that tell a side, a limit
or a total are declared in the vocabulary.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from itertools import groupby
from typing import NamedTuple

from ...facts.records import cached_property
from ...facts.statements import Statement
from .names import Names, normal
from .records import Record, records_of

_TOKEN = re.compile(r"[A-Z]?[a-zäöü]+\d*|[A-Z]+(?![a-z])\d*|\d+")
_LIKE_A_PATH = re.compile(r"[\w.*{}-]+")
_DECORATION = re.compile(r"\s*\(.*\)?|\s+R\Z")
_JOINS = frozenset(("vs", "with", "get", "for", "the", "s", "of"))
_LEAST = 3
_OTHER_UNITS = frozenset(
    ("ms", "s", "sec", "min", "h", "hours", "minutes", "GB", "GiB", "k", "tok")
)
_LOW_PRECISION = frozenset(("bf16", "fp32"))


class Told(NamedTuple):
    """A figure of an observable: its value, subject and line, and the limit, or the figure that it
    is compared with."""

    statement: Statement
    value: float | str
    subject: str
    line: int
    limit: float | str | None = None


def words(text: str) -> set[str]:
    """The words of a name in small letters: ``errPort_2`` has err, port and 2."""
    return {w.lower() for w in _TOKEN.findall(text.replace("_", " "))}


def last(label: str) -> str:
    """The innermost part of a label."""
    return label.rpartition(" | ")[2]


def _lists(records: Iterable[Record]) -> Iterator[Record]:
    """The records, with the name of each in its label where lines are a list: ``[cpu] mlp 1.02``
    above ``[cpu] norm 1.01``."""
    for _, group in groupby(records, key=lambda r: r.is_line and (r.group, r.label)):
        rows = list(group)
        names = {r.column for r in rows}
        is_list = len({r.line for r in rows}) == len(rows) == len(names) >= _LEAST
        for row in rows:
            if row.is_line and row.column and is_list:
                yield row._replace(label=f"{row.label} | {row.column}", column="")
            else:
                yield row


class Series:
    """The records of a text, and what the words of each tell."""

    def __init__(self, text: str, names: Names, admitted: frozenset[str]) -> None:
        self.text, self.names, self.admitted = text, names, admitted
        self.records = [*_lists(records_of(text))]
        self.figures = [r for r in self.records if isinstance(r.value, float)]
        self.behaving = {s.behaves: s for s in names.statements if s.behaves and s.name in admitted}

    def are(self, name: str, *texts: str) -> bool:
        """Whether names have a word of a declared list."""
        return bool(words(" ".join(texts)) & self.names.lists.get(name, frozenset()))

    def named(self, text: str) -> Statement | None:
        """The observable that words name last."""
        found = [n.statement for n in self.names.in_row(text, self.admitted) if not n.subject]
        return found[-1] if found else None

    def known_subject(self, statement: Statement, record: Record) -> str:
        """The declared subject that a record is about."""
        texts = (record.label, record.column)
        for text in reversed(texts) if record.is_line else texts:
            if known := self.names.subject(statement, text, len(text)):
                return known
        return ""

    def subject(self, statement: Statement, record: Record) -> str:
        """The declared subject, or the label where it is another name."""
        label = last(record.label)
        known = self.known_subject(statement, record)
        own = _LIKE_A_PATH.fullmatch(label) and normal(label) != normal(known)
        return known if known and not own else _DECORATION.sub("", label).strip() or label

    def is_limit(self, record: Record) -> bool:
        """Whether a record is a limit of others."""
        label = last(record.label) if not record.column or not record.is_line else ""
        own = self.named(record.column)
        is_name = own is not None and self.are("limit-words", *own.names)
        return self.are("limit-words", record.column, label) and not is_name

    @cached_property
    def lines_of_words(self) -> frozenset[int]:
        """The numbers of the lines outside tables and objects."""
        return frozenset(r.line for r in self.records if r.is_line)

    def is_unread(self, record: Record, told: Collection[tuple[int, float | str]]) -> bool:
        """Whether a measured figure is not among those that are given."""
        known = record.aside or record.replaced or not record.broken or self.is_limit(record)
        known = known or record.unit in _OTHER_UNITS or self.are("total-words", record.label)
        return not known and (record.line, record.value) not in told

    def limit(self, low: float, high: float, statement: Statement | None = None) -> float | None:
        """The only limit of that size: of a statement, if one has its name, or of all."""
        found = [
            r
            for r in self.figures
            if r.broken and low < float(r.value) <= high and self.is_limit(r)
        ]
        own = [r for r in found if statement and statement == self.named(f"{r.label} {r.column}")]
        values = {float(r.value) for r in own or found}
        return values.pop() if len(values) == 1 else None

    # ---- two sides

    def side(self, text: str) -> str:
        """The side that words are about: ``reference``, ``port`` or none."""
        told = words(text)
        port = told & self.names.lists.get("port-side", frozenset())
        reference = told & self.names.lists.get("reference-side", frozenset())
        if port and not reference - _LOW_PRECISION:
            return "port"
        return "reference" if reference and not port else ""

    def rest(self, text: str) -> str:
        """The words that tell no side."""
        sides = (
            self.names.lists.get(f"{side}-side", frozenset()) for side in ("port", "reference")
        )
        return " ".join(sorted(words(text).difference(_JOINS, *sides)))

    @cached_property
    def pairs(self) -> list[tuple[Record, Record]]:
        """The figures of reference and port that are about the same."""
        waiting: dict[tuple[str, str, str], dict[str, Record]] = {}
        for record in self.figures:
            for text, other in self._ways(record):
                if side := self.side(text):
                    group = str(record.line) if record.is_line else record.group
                    group = "" if record.is_line and text == record.label else group
                    row = waiting.setdefault((group, self.rest(text), self.rest(other)), {})
                    if side == "port" or side not in row or "bf16" in words(text):
                        row[side] = record
                    break
        return [(row["reference"], row["port"]) for row in waiting.values() if len(row) > 1]

    def _ways(self, record: Record) -> Iterator[tuple[str, str]]:
        """The texts that may tell the side of a record, each with those that tell what it is."""
        yield record.column, record.label
        yield record.after, record.label
        yield record.label, record.column
