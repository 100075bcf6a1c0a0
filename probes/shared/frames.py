"""The frames of a traceback, one line each, in the styles that are in use."""

from __future__ import annotations

import re
from collections import deque
from typing import NamedTuple

# Of a long traceback (a recursion) the outermost and the innermost frames are kept.
MAX_OUTER = 50
MAX_INNER = 50
_LONGEST_LINE = 2_000
_BOX = re.compile(r"[│|] (\S.*):(\d{1,9}) in ([^│|]*)")
_NOTEBOOK = re.compile(
    r"File (.+):(\d{1,9})(?:, in (.*)|\s*\Z)|(Cell In ?\[\d+\]), line (\d{1,9})(?:, in (.*))?"
)


class Frame(NamedTuple):
    """A call that an exception passed through; ``function`` is "" where it is not shown."""

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
