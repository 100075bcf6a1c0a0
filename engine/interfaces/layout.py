"""Text for people: lines with an indent and a style, written plainly or, on a terminal, with rich.

Wrapping happens here, so that both forms have the same layout. Colour only repeats what the words
say.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import NamedTuple, TextIO

from .safe_text import safe

_STYLES = {
    "heading": "bold",
    "error": "bold red",
    "warning": "bold yellow",
    "good": "green",
    "command": "cyan",
    "dim": "dim",
}
MAX_WIDTH = 100


class Line(NamedTuple):
    """A paragraph. ``mark`` stands before it (``- ``, ``1. ``); wrapped lines hang below the text.
    A line with ``keep`` is never wrapped (commands)."""

    text: str = ""
    indent: int = 0
    style: str = ""
    mark: str = ""
    keep: bool = False


def write(lines: Iterable[Line], stream: TextIO) -> None:
    """Write to a stream, all at once."""
    stream.write(rendered(lines, stream))


def rendered(lines: Iterable[Line], stream: TextIO) -> str:
    """The text for a stream; styled if it is a terminal that wants colour."""
    if stream.isatty() and wants_colour():
        return _styled(lines, stream)
    return text_of(lines, width_of(stream))


def text_of(lines: Iterable[Line], width: int = MAX_WIDTH) -> str:
    """The plain form as one text."""
    return "".join("\n".join(wrapped(line, width)).rstrip() + "\n" for line in lines)


def wants_colour() -> bool:
    """NO_COLOR and TERM=dumb switch colour off."""
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def width_of(stream: TextIO) -> int:
    """Columns to fill: those of the terminal up to a readable width."""
    import shutil

    columns = shutil.get_terminal_size((MAX_WIDTH, 24)).columns if stream.isatty() else MAX_WIDTH
    return max(20, min(columns, MAX_WIDTH))


def wrapped(line: Line, width: int) -> list[str]:
    """The physical lines of one paragraph; control characters are made visible."""
    import textwrap

    first = " " * line.indent + line.mark
    rest = " " * len(first)
    found: list[str] = []
    for part in safe(line.text).split("\n"):
        start = rest if found else first
        if line.keep or len(start) + len(part) <= width:
            found.append(start + part)
        else:
            found += textwrap.wrap(
                part,
                max(width, len(rest) + 12),
                initial_indent=start,
                subsequent_indent=rest,
                break_long_words=False,
                break_on_hyphens=False,
            ) or [start]
    return found


def _styled(lines: Iterable[Line], stream: TextIO) -> str:
    from rich.console import Console
    from rich.text import Text

    console = Console(file=stream, highlight=False, markup=False, emoji=False, soft_wrap=True)
    width = width_of(stream)
    with console.capture() as capture:
        for line in lines:
            for part in wrapped(line, width):
                console.print(Text(part, style=_STYLES.get(line.style, "")))
    return capture.get()
