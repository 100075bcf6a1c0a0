"""A chart: a picture, and its content in words and figures for readers who do not see it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Chart(NamedTuple):
    """``name`` is the chart's own on a page, ``text`` says in a sentence what it shows, ``head``
    and ``rows`` are its figures. ``more`` counts the rows left out."""

    name: str
    title: str
    text: str
    svg: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    more: int = 0


MAX_ROWS = 60


def chart(
    name: str, title: str, text: str, svg: str, head: tuple[str, ...],
    rows: Sequence[tuple[str, ...]],
) -> Chart:  # fmt: skip
    """A chart with at most ``MAX_ROWS`` rows."""
    shown = tuple(rows[:MAX_ROWS])
    return Chart(name, title, text, svg, head, shown, len(rows) - len(shown))
