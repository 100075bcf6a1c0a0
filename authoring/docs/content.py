"""The content of a page in any format: runs of text in blocks in sections."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ...interfaces.reports.charts.layered import Graph


class Run(NamedTuple):
    """A piece of text; ``code`` is shown as it is, ``page`` is the page that it links to."""

    text: str
    code: bool = False
    page: str = ""


Runs = tuple[Run, ...]


class Paragraph(NamedTuple):
    """Text in one piece."""

    runs: Runs


class Point(NamedTuple):
    """A point of a list, with points of its own."""

    runs: Runs
    points: tuple[Point, ...] = ()


class Points(NamedTuple):
    """A list."""

    points: tuple[Point, ...]
    numbered: bool = False


class Table(NamedTuple):
    """Rows of cells below a head."""

    head: tuple[str, ...]
    rows: tuple[tuple[Runs, ...], ...]


class Verbatim(NamedTuple):
    """Text as it is, in lines."""

    text: str


class Drawing(NamedTuple):
    """A graph."""

    graph: Graph


Block = Paragraph | Points | Table | Verbatim | Drawing


class Section(NamedTuple):
    """Blocks under a heading; ``name`` is the target of links."""

    heading: str
    blocks: tuple[Block, ...]
    name: str = ""


class Page(NamedTuple):
    """A page. ``words`` are the search terms, besides title and name."""

    name: str
    form: str
    title: str
    marks: tuple[str, ...]
    sections: tuple[Section, ...]
    words: str = ""


def text(*parts: str | Run) -> Runs:
    """Runs from texts and runs, without empty ones."""
    return tuple(Run(part) if isinstance(part, str) else part for part in parts if part)


def listed(points: Iterable[Point], *, numbered: bool = False) -> tuple[Block, ...]:
    """A list as the blocks of a section; none if it is empty."""
    found = tuple(points)
    return (Points(found, numbered),) if found else ()


def joined(parts: Iterable[Iterable[Run]]) -> Runs:
    """Runs with commas between the parts."""
    return tuple(run for part in parts for run in (Run(", "), *part))[1:]


def code(value: str) -> Run:
    """Text that is shown verbatim."""
    return Run(value, code=True)
