"""Comments that accept a finding: ``# modelmedic: ignore[pattern-or-diagnosis] reason``."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator
from typing import NamedTuple

from ...facts.problems import Location, Problem
from ...reading.python.sources import Source

_MARK = "modelmedic:"
_COMMENT = re.compile(r"#\s*modelmedic:\s*(.{0,500})")
_IGNORE = re.compile(r"ignore\[([\w.\-]{1,120}(?:\s*,\s*[\w.\-]{1,120}){0,9})\]\s*(.*)\Z")
MAX_COMMENTS = 200


class Ignored(NamedTuple):
    """An id that a comment accepts, for the code in a line of the source (from 1)."""

    id: str
    line: int
    reason: str


def ignored(source: Source) -> tuple[list[Ignored], list[Problem]]:
    """Read the comments that accept findings. A comment at the end of a line applies to this line,
    a comment on a line of its own to the next line of code. A comment that is malformed or gives no
    reason is a problem (MM469)."""
    found: list[Ignored] = []
    problems: list[Problem] = []
    if not any(_MARK in line for line in source.lines):
        return found, problems
    for number, text in _comments(source):
        said = _IGNORE.match(text)
        if said and said[2].strip():
            line = _line_of(source, number)
            found += [Ignored(name.strip(), line, said[2].strip()) for name in said[1].split(",")]
            continue
        place = source.places[number - 1]
        where = f"{source.name}:cell {place.cell}" if place.cell else source.name
        message = "this comment accepts nothing: " + (
            "it gives no reason" if said else "it is not of the form ignore[id] reason"
        )
        hint = "write # modelmedic: ignore[pattern-or-diagnosis] why this is right here"
        problems.append(Problem("MM469", message, Location(where, place.line), hint))
    return found, problems


def _comments(source: Source) -> Iterator[tuple[int, str]]:
    """The line of each comment of ours, and what it says."""
    seen = 0
    reader = io.StringIO("\n".join(source.lines) + "\n").readline
    try:
        for token in tokenize.generate_tokens(reader):
            mark = _COMMENT.match(token.string) if token.type == tokenize.COMMENT else None
            if mark and seen < MAX_COMMENTS:
                seen += 1
                yield token.start[0], mark[1].strip()
    except (tokenize.TokenError, SyntaxError, RecursionError):
        return  # the part behind is not read as code either


def _line_of(source: Source, number: int) -> int:
    """The line of code that a comment stands for."""
    if not source.lines[number - 1].lstrip().startswith("#"):
        return number
    for at in range(number, len(source.lines)):
        text = source.lines[at].strip()
        if text and not text.startswith("#"):
            return at + 1
    return number
