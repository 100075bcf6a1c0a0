"""Text for people: lines with an indent and a style, written plainly or, on a terminal, in colour.

Wrapping happens here, so that both forms have the same layout. Colour only repeats what the words
say.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence

from ...facts.records import NamedTuple, lazy
from ...facts.redaction import Redacted
from .output_guard import redacted
from .safe_text import safe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TextIO


MAX_PROBLEMS = 30
_STYLES = {
    "heading": "1",
    "error": "1;31",
    "warning": "1;33",
    "good": "32",
    "command": "36",
    "dim": "2",
}
# Characters that occur in Python code and in no shell command.
_CODE = lazy(
    r"^(?:with|from|import|for|if) |^[\w., ]+ = |^[\w.]+\(|[,(]\s*\w+="
    r"|^while .*: \w+\.|^\w+\[.*\] = |^\w+\[.* : .*\]$|^[a-z]+\.[a-z_]+$"
)
_PIECES = lazy(" +|[^ ]+")
_SHELL = lazy(r"(?:python3?|pip|diagnose|curl|env|grep) |for \w+ in [^:]*; do ")
STRING = lazy(r"'[^']{0,500}'|\"[^\"]{0,500}\"")
_SETTING = lazy(r"\"?[a-z_]+\"?: ")
_ARGUMENTS = lazy(r"-|[a-z][\w.]*=\S+(?: |$)")
MAX_WIDTH = 100
MAX_MARK = 0.4


class Line(NamedTuple):
    """A paragraph. ``mark`` precedes it (``- ``, ``1. ``); wrapped lines hang below the text. A
    line with ``keep`` is never wrapped (commands)."""

    text: str = ""
    indent: int = 0
    style: str = ""
    mark: str = ""
    keep: bool = False


def counted(number: int, noun: str) -> str:
    """``1 fact``, ``2 facts``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


Lines = Iterable[Line] | Redacted[list[Line]]


def write(lines: Lines, stream: TextIO) -> None:
    """Write to a stream, all at once."""
    stream.write(rendered(lines, stream))


def rendered(lines: Lines, stream: TextIO) -> str:
    """The text for a stream; styled if it is a terminal that wants colour."""
    if stream.isatty() and wants_colour():
        text = _styled(_checked(lines), stream)
    else:
        text = text_of(lines, width_of(stream))
    return text if text.isascii() else _drawable(text, stream)


def _drawable(text: str, stream: TextIO) -> str:
    """Plots in ASCII if the stream cannot show their dots and lines."""
    try:
        "⠁┤".encode(stream.encoding or "utf-8")
    except (UnicodeEncodeError, LookupError):
        dots = "".join(map(chr, range(0x2801, 0x2900)))
        return text.translate(str.maketrans(f"{dots}┤└─▲╷╌", "*" * len(dots) + "|+-^|."))
    return text


def text_of(lines: Lines, width: int = MAX_WIDTH) -> str:
    """The plain form as one text."""
    return "".join("\n".join(wrapped(line, width)).rstrip() + "\n" for line in _checked(lines))


def _checked(lines: Lines) -> list[Line]:
    """Redacted lines; lines that are not redacted yet are redacted now."""
    return lines.value if isinstance(lines, Redacted) else redacted(list(lines)).value


def prompt(command: str) -> str:
    """The prompt of a command: ``$`` for a shell; empty for code and mere arguments."""
    if _SHELL.match(command):
        return "$ "
    is_other = _CODE.search(command) or is_arguments(command) or is_setting(command)
    return "" if is_other else "$ "


def is_arguments(command: str) -> bool:
    """Whether this is to be added to a command at hand: ``--option``, ``log_path=FOLDER``."""
    return bool(_ARGUMENTS.match(command))


def is_setting(command: str) -> bool:
    """Whether this is a line of a configuration file: ``batch_size: 8``."""
    return bool(_SETTING.match(command))


def balanced(part: str) -> bool:
    """Whether each parenthesis and quote that is opened is closed."""
    bare = STRING.sub("", part)  # a pattern in quotes may hold a single parenthesis
    pairs = all(bare.count(a) == bare.count(b) for a, b in ("()", "[]", "{}"))
    return pairs and quoted(part)


def quoted(part: str) -> bool:
    """Whether each quote that is opened is closed."""
    return part.count("'") % 2 == 0 == part.count('"') % 2


def wants_colour() -> bool:
    """NO_COLOR and TERM=dumb switch colour off."""
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def width_of(stream: TextIO) -> int:
    """Columns to fill: those of the terminal up to a readable width."""
    if not stream.isatty():
        return MAX_WIDTH
    import shutil

    return max(20, min(shutil.get_terminal_size((MAX_WIDTH, 24)).columns, MAX_WIDTH))


def wrapped(line: Line, width: int) -> list[str]:
    """The physical lines of one paragraph; control characters are made visible."""
    first = " " * line.indent + line.mark
    rest = " " * len(first)
    found: list[str] = []
    wraps = line.text and not line.keep
    if wraps and len(first) > width * MAX_MARK:  # the mark alone, and the text below it
        found, rest = [first.rstrip()], " " * (line.indent + 4)
    for part in safe(line.text).split("\n"):
        start = rest if found else first
        if line.keep or len(start) + len(part) <= width:
            found.append(start + part)
        else:
            found += _filled(part, max(width, len(rest) + 12), start, rest) or [start]
    return found


def _filled(text: str, width: int, start: str, rest: str) -> list[str]:
    """The text in lines, without breaking words. (`textwrap.wrap` takes longer to import than this
    module to run.)"""
    lines: list[str] = []
    text = text.expandtabs()
    if "  " in text or text != text.strip(" "):
        words = _PIECES.findall(text)[::-1]
    else:  # nearly always, and without an expression
        words = text.replace(" ", "\0 \0").split("\0")[::-1]
    while words:
        if lines and not words[-1].strip():
            words.pop()
        parts = [rest if lines else start]
        used = len(parts[0])
        while words and (len(parts) == 1 or used + len(words[-1]) <= width):
            used += len(words[-1])
            parts.append(words.pop())
        if not parts[-1].strip():
            parts.pop()
        if len(parts) > 1:
            lines.append("".join(parts))
    return lines


def _styled(lines: Iterable[Line], stream: TextIO) -> str:
    """Style the lines with standard ANSI codes; a library would take longer to import than all this
    to write."""
    width = width_of(stream)
    return "".join(_in_style(part, line.style) for line in lines for part in wrapped(line, width))


def _in_style(part: str, style: str) -> str:
    code = _STYLES.get(style)
    return f"\x1b[{code}m{part}\x1b[0m\n" if code else f"{part}\n"


def section(heading: str, lines: Iterable[Line], style: str = "heading") -> Iterator[Line]:
    """Lines under a heading; nothing if there are none."""
    for number, line in enumerate(lines):
        if number == 0:
            yield from (Line(), Line(heading, style=style))
        yield line


def problem_lines(problems: Iterable[Any]) -> Iterator[Line]:
    """Errors for people: what, where, what to do next."""
    for problem in problems:
        place = f"{problem.where}: " if problem.where else ""
        yield Line(f"{place}{problem.message}", mark=f"{problem.code} ", style="error")
        if problem.hint:
            yield Line(problem.hint, 6, mark="-> ")


def first_problem_lines(problems: Sequence[Any], everything: bool) -> Iterator[Line]:
    """The first problems, and the number of the others."""
    shown = problems if everything else problems[:MAX_PROBLEMS]
    yield from problem_lines(shown)
    if left := len(problems) - len(shown):
        yield Line(f"and {counted(left, 'problem')} more: --all", style="dim")
