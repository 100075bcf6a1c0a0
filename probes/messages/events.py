"""Known log lines: the table ``log_events.json`` and how it is applied."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from ...reading.text.values import json_table
from .http_statuses import operation_of

# A placeholder stands for an id, a name or a number, not for half a log.
_LONGEST_GAP = 500


class Template(NamedTuple):
    """A text with gaps: ``pieces`` are searched one after the other, ``gaps`` are the names of the
    gaps between them."""

    pieces: tuple[str, ...]
    gaps: tuple[str, ...]


class Table(NamedTuple):
    """The events with their templates, in the order of the file, the signal words, and the owners
    whose log lines the events are."""

    events: tuple[tuple[str, tuple[Template, ...]], ...]
    signals: tuple[str, ...]
    owners: frozenset[str] = frozenset()


class Event(NamedTuple):
    """A known event in a message; ``duration_s`` is None and ``operation`` "" if not shown."""

    event: str
    duration_s: float | None = None
    operation: str = ""


@lru_cache(maxsize=1)
def table() -> Table:
    """The table of the file, read once."""
    data = json_table(__file__, "log_events.json")
    events = tuple((row["event"], tuple(map(_template, row["templates"])))
                   for row in data["events"])  # fmt: skip
    return Table(events, tuple(data["signals"]), frozenset(data["owners"]))


def find_events(text: str) -> Iterator[Event]:
    """Find the known events of a message, each once."""
    for name, templates in table().events:
        for template in templates:
            gaps = _fit(template, text)
            if gaps is not None:
                yield Event(name, _seconds(gaps), operation_of(gaps.get("operation", "")))
                break


def has_signal(text: str) -> bool:
    """Whether a line holds a word that makes it worth keeping."""
    lower = text.lower()
    return any(word in lower for word in table().signals)


def _template(text: str) -> Template:
    pieces: list[str] = []
    gaps: list[str] = []
    rest = text
    while True:
        piece, brace, rest = rest.partition("{")
        pieces.append(piece)
        if not brace:
            return Template(tuple(pieces), tuple(gaps))
        gap, _, rest = rest.partition("}")
        gaps.append(gap)


def _fit(template: Template, text: str) -> dict[str, str] | None:
    """The texts in the named gaps; None if the text does not fit."""
    at = text.find(template.pieces[0])
    if at < 0:
        return None
    at += len(template.pieces[0])
    named: dict[str, str] = {}
    for gap, piece in zip(template.gaps, template.pieces[1:], strict=True):
        end = text.find(piece, at, at + _LONGEST_GAP + len(piece))
        if end < 0:
            return None
        named[gap] = text[at:end]
        at = end + len(piece)
    return named if _seconds(named) is not None or "duration_s" not in named else None


def _seconds(gaps: dict[str, str]) -> float | None:
    try:
        seconds = float(gaps.get("duration_s", ""))
    except ValueError:
        return None
    return seconds if 0 <= seconds < 1e9 else None
