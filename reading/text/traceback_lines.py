"""The lines of a chain of tracebacks, without the prefix of each line."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

from .plain_text import Line

# Of a long traceback (a recursion) the outermost and the innermost frames are kept.
MAX_OUTER = 50
MAX_INNER = 50
_LONGEST_LINE = 2_000
_BOX = re.compile(r"[│|] (\S.*):(\d{1,9}) in ([^│|]*)")
_NOTEBOOK = re.compile(
    r"File (.+):(\d{1,9})(?:, in (.*)|\s*\Z)|(Cell In ?\[\d+\]), line (\d{1,9})(?:, in (.*))?"
)


class Frame(NamedTuple):
    """A call that an exception passed through; ``function`` is "" if it is not shown."""

    file: str
    line: int
    function: str = ""


class Frames:
    """Collects the frames of one traceback, outermost first, and drops the middle of too many."""

    def __init__(self) -> None:
        self._outer: list[Frame] = []
        self._inner: deque[Frame] = deque(maxlen=MAX_INNER)

    def add(self, frame: Frame | None) -> None:
        """Take the next frame; None, for a line that shows none, changes nothing."""
        if frame is None:
            return
        if len(self._outer) < MAX_OUTER:
            self._outer.append(frame)
        else:
            self._inner.append(frame)

    def all(self) -> tuple[Frame, ...]:
        """The frames that are kept, outermost first."""
        return (*self._outer, *self._inner)


def plain_frame(text: str) -> Frame | None:
    """The frame in ``  File "a.py", line 3, in f``, or None. loguru marks one with ``> File``."""
    if text.startswith('> File "'):
        text = "  " + text[2:]
    if not text.startswith('  File "'):
        return None
    path, mark, rest = text[8:].rpartition('", line ')
    digits, _, place = rest.partition(",")
    digits = digits.strip()
    if not (mark and digits.isascii() and digits.isdigit() and len(digits) < 10):
        return None
    return Frame(path, int(digits), place.strip().removeprefix("in ").strip())


def boxed_frame(text: str) -> Frame | None:
    """The frame in ``│ a.py:3 in f    │``, as rich prints it, or None."""
    found = _BOX.match(text.lstrip()[:_LONGEST_LINE])
    return Frame(found[1], int(found[2]), _name(found[3])) if found else None


def notebook_frame(text: str) -> Frame | None:
    """The frame in ``File a.py:3, in f(x)`` or ``Cell In[1], line 3``, or None."""
    found = _NOTEBOOK.match(text[:_LONGEST_LINE])
    if found is None:
        return None
    if found[1]:
        return Frame(found[1], int(found[2]), _name(found[3] or ""))
    return Frame(found[4], int(found[5]), _name(found[6] or ""))


def begins_notebook(text: str) -> bool:
    """Whether a line shows a frame of a notebook beyond doubt, in whatever text it stands."""
    if not text.startswith(("File ", "Cell In")):
        return False
    frame = notebook_frame(text)
    return frame is not None and (frame.file.startswith("Cell") or (
        " " not in frame.file and frame.function != "" and text.rstrip().endswith(")")
    ))  # fmt: skip


def _name(call: str) -> str:
    """The function in ``f(x, y)``."""
    return call.partition("(")[0].strip()


HEADER = "Traceback (most recent call last)"
CONNECTORS = {
    "The above exception was the direct cause of the following exception:": "cause",
    "During handling of the above exception, another exception occurred:": "context",
}
NOTEBOOK_HEADER = re.compile(r"([A-Za-z_][\w.]{0,200}) +Traceback \(most recent call last\)\s*\Z")
# Stands for the line between the members of a group; no cleaned line holds a NUL.
MEMBER = "\0"
_BOX_TOP = ("╭", "┌", "+-")
_INDENTED_FRAME = re.compile(r"( {1,100}) {2}File \"")
_MARGIN = re.compile(r" *\| ?")
_SEPARATOR = re.compile(r" *\+[-+]+(?: [\d.]+ -+)?\s*\Z")
_DIGITS = str.maketrans("0123456789", "0" * 10)

Boundary = Callable[[str], bool]


def starts_traceback(text: str) -> bool:
    """Whether a line is the header of a traceback of any style."""
    return HEADER in text


def is_connector(text: str) -> bool:
    """Whether a line joins two exceptions of a chain."""
    return text.strip() in CONNECTORS


def is_box(text: str) -> bool:
    """Whether a line is the top of a box that rich draws around frames."""
    return text.lstrip().startswith(_BOX_TOP) and HEADER in text


class ChainReader:
    """The lines of one chain, without the prefix and the group margin that each may have."""

    def __init__(self, lines: Sequence[Line], start: int, is_boundary: Boundary) -> None:
        self.lines = lines
        self.at = start
        self.is_boundary = is_boundary
        self.in_group = False
        self.in_member = False
        self._prefix = ""
        self._header = -1
        self._prefix = self._find_prefix()

    def text(self, offset: int = 0) -> str | None:
        """A line without prefix and margin; None if the chain cannot go on."""
        if self.at + offset >= len(self.lines):
            return None
        text = self.lines[self.at + offset].text
        if self._prefix and self.at + offset != self._header:
            size = len(self._prefix)
            bare = text.translate(_DIGITS) == self._prefix.rstrip()
            if not bare and text[:size].translate(_DIGITS) != self._prefix:
                return None
            text = text[size:]
        return _without_margin(text) if self.in_group else text

    def number(self) -> int:
        return self.lines[self.at].number

    def connector(self) -> str:
        """Pass a "direct cause" or "during handling" line; return the role of the exception before
        it."""
        self._skip_blank()
        self._leave_group()
        role = CONNECTORS.get((self.text() or "").strip(), "")
        if role:
            self.at += 1
            self._skip_blank()
        return role

    def next_member(self) -> bool:
        """Pass the line before a member of an exception group, if there is one here."""
        if not self.in_group or self.text() != MEMBER:
            return False
        while self.text() == MEMBER:
            self.at += 1
        self.in_member = True
        return True

    def _leave_group(self) -> None:
        """Pass the last line of a group, if it ends here."""
        if not self.in_group:
            return
        marks = 0
        while self.text(marks) == MEMBER:
            marks += 1
        if self.text(marks) is None:
            self.at += marks
            self.in_group = self.in_member = False
            self._skip_blank()

    def _skip_blank(self) -> None:
        while (text := self.text()) is not None and not text.strip():
            self.at += 1

    def _find_prefix(self) -> str:
        """Find the text before the header, if the following line has it too."""
        header = self.text() or ""
        end = header.find("+ Exception Group " + HEADER)
        self.in_group = end >= 0
        if end < 0 and is_box(header):
            end = len(header) - len(header.lstrip())
        elif end < 0 and not NOTEBOOK_HEADER.match(header):
            end = header.find(HEADER)
        elif self.in_group:
            # The margin of a group belongs to its style, not to a prefix.
            end = len(header[:end].rstrip())
        prefix = header[: max(end, 0)].translate(_DIGITS)
        following = self.lines[self.at + 1].text if self.at + 1 < len(self.lines) else ""
        deeper = _INDENTED_FRAME.match(following)
        if deeper and not self.in_group and len(deeper[1]) > len(header) - len(header.lstrip()):
            # The header follows a label, the rest is indented below it.
            self._header = self.at
            return deeper[1]
        carried = following[: len(prefix)].translate(_DIGITS) == prefix
        if not carried or (not prefix.strip() and not following[len(prefix) :].strip()):
            return ""
        return prefix


def _without_margin(text: str) -> str | None:
    if _SEPARATOR.match(text):
        return MEMBER
    stripped = text.lstrip(" ")
    if stripped.startswith("+ Exception Group"):
        return stripped[2:]
    margin = _MARGIN.match(text)
    return text[margin.end() :] if margin else None
