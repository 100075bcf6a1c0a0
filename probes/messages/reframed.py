"""Frames of tracebacks that lost their form on a page: without indentation, broken over lines."""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Sequence

from ...reading.text.exceptions import exception_line
from ...reading.text.plain_text import Line
from ...reading.text.traceback_lines import HEADER, NOTEBOOK_HEADER
from ...reading.text.tracebacks import is_connector, starts_traceback

_BEGUN = re.compile(r"\s{0,40}File(?: \"|(?: [^\s\"]{1,400})?\s*\Z)")
_FRAME = re.compile(r"\s{0,40}File \"[^\"]{1,400}\", line \d{1,9}(?:, in \S.{0,200})?\s*\Z")
_HEADED = re.compile(r"(\S.{0,200}?)  File \"[^\"]{1,400}\", line \d")
_OF_NOTEBOOK = re.compile(r"File [^\s\"]{1,400}:\d{1,9}, in [\w.<>]{1,200}\(")
_OF_NAMES = f"{string.ascii_letters}{string.digits}_."
_BREAKS_OFF = (", in", ", ", ",")
_DIGITS = str.maketrans("0123456789", "0" * 10)
_MOST_PIECES = 4
_MOST_CODE = 16
_LONGEST = 400

Boundary = Callable[[str], bool]


def reframed(lines: Sequence[Line], is_boundary: Boundary) -> list[Line]:
    """Return the lines, with frames in the form that Python gives them.

    ``is_boundary`` recognises lines that begin a message. Lines in the right form are unchanged.
    """
    lines = _unheaded(_dedented(lines))
    found: list[Line] = []
    at = 0
    while at < len(lines):
        text, used = _frame(lines, at)
        if not used:
            found.append(lines[at])
            at += 1
            continue
        if _OF_NOTEBOOK.match(text):
            found.append(Line(lines[at].number, text))
            at += used
            continue
        margin = text[: len(text) - len(text.lstrip())]
        lost = margin in ("", " ") or not margin.strip("\t")
        found.append(Line(lines[at].number, f"  {text.lstrip()}" if lost else text))
        at += used
        if not lost and margin != "  ":
            continue
        stop = _end_of_code(lines, at, is_boundary, lost=lost)
        found += [_indented(line) for line in lines[at:stop]]
        at = stop
    return found


def _indented(line: Line) -> Line:
    if line.text.startswith("  ") or not line.text.strip():
        return line
    return Line(line.number, f"    {line.text.strip()}")


def _frame(lines: Sequence[Line], at: int) -> tuple[str, int]:
    """The frame that begins at a line and its number of lines; 0 if there is none."""
    text = lines[at].text
    if len(text) > _LONGEST or not _BEGUN.match(text):
        return "", 0
    if _FRAME.match(text) and not text.rstrip().endswith(_BREAKS_OFF):
        return text, 1
    tried = [text]
    for used, line in enumerate(lines[at + 1 : at + _MOST_PIECES], 2):
        piece = line.text
        if not piece.strip() or len(piece) > _LONGEST:
            break
        # Terminals break anywhere, programs between words: two ways each time, eight in all.
        tried = [each.rstrip() + blank + piece.lstrip() for each in tried for blank in ("", " ")]
        for each in tried:
            if _FRAME.match(each) and not each.rstrip().endswith(_BREAKS_OFF):
                return each, used
            if _OF_NOTEBOOK.match(each):
                return each, used
    return "", 0


def _end_of_code(
    lines: Sequence[Line], start: int, is_boundary: Boundary, *, lost: bool
) -> int:  # fmt: skip
    """The index after the source lines that are shown below a frame. Lines at the left border
    belong to it only if a frame or an exception follows; if the indentation is ``lost``, the first
    is in any case."""
    sure = start
    for at in range(start, min(len(lines), start + _MOST_CODE)):
        text = lines[at].text
        if starts_traceback(text) or is_connector(text):
            return sure
        if not text.strip():
            if at + 1 < len(lines) and (_frame(lines, at + 1)[1] or _is_error(lines[at + 1].text)):
                continue
            return sure
        if _frame(lines, at)[1] or _is_error(text):
            return at
        if is_boundary(text):
            return sure
        if text.startswith("  ") and sure == at:
            sure = at + 1
        elif lost and at == start:
            sure = at + 1
    return sure


def _is_error(text: str) -> bool:
    """Whether a line ends a traceback: a class of any name, if a message follows it."""
    named = exception_line(text, strict=False)
    if named is None:
        return False
    return exception_line(text) is not None or (
        named.exception[0].isupper() and named.message != ""
    )


def _dedented(lines: Sequence[Line]) -> Sequence[Line]:
    """Move tracebacks of notebooks back to the left border: remove blanks or another prefix before
    each of their lines."""
    if not any(HEADER in line.text for line in lines):
        return lines
    found: list[Line] = []
    prefix = ""
    for at, line in enumerate(lines):
        if HEADER in line.text:
            below = lines[at + 1].text if at + 1 < len(lines) else ""
            prefix = _prefix_of(line.text, below)
        text = line.text
        if prefix and not _bare(text).startswith(prefix):
            # An empty line has lost the blanks at the end of the prefix.
            empty = _bare(text).strip() in ("", prefix.strip())
            prefix, text = (prefix, "") if empty else ("", text)
        found.append(Line(line.number, text[len(prefix) :] if prefix else text))
    return found


def _unheaded(lines: Sequence[Line]) -> Sequence[Line]:
    """Remove the head of a log line before each frame, up to the exception if there is one; for
    tracebacks whose first line is missing."""
    found: list[Line] = []
    prefix = known = ""
    stop = seen = 0
    for at, line in enumerate(lines):
        text = line.text
        if HEADER in text:
            known = _bare(text[: text.index(HEADER)])
        elif at >= seen and (headed := _HEADED.match(text)) and _bare(headed[1]) != known:
            prefix = _bare(headed[1])
            seen, raised = _run(lines, at, prefix)
            stop = seen if raised else 0
        found.append(Line(line.number, text[len(prefix) :]) if at < stop else line)
    return found


def _run(lines: Sequence[Line], start: int, prefix: str) -> tuple[int, bool]:
    """The index after the lines with a prefix, up to the first exception, and whether there is
    one."""
    for at in range(start, len(lines)):
        text = lines[at].text
        if _bare(text[: len(prefix)]) != prefix:
            return at, False
        if _is_error(text[len(prefix) :]):
            return at + 1, True
    return len(lines), False


def _prefix_of(header: str, below: str) -> str:
    """The common prefix of the header of a notebook's traceback and the next line."""
    head = header[: header.index(HEADER)]
    start = len(head.rstrip().rstrip(_OF_NAMES))
    if not head.endswith("  ") or not NOTEBOOK_HEADER.match(header[start:]):
        return ""
    prefix = _bare(header[:start])
    return prefix if _bare(below).startswith(prefix) else ""


def _bare(text: str) -> str:
    return text.translate(_DIGITS)
