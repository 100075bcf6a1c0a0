"""The place of the last traceback in a text: its innermost call, the code there, the calls that led
to it, and whether the line that names the error is missing."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from .message import FINAL, Message

_MAX_LINE = 2_000
_MAX_CODE = 400
_MAX_CALLS = 60
_HEADER = "Traceback (most recent call last)"
_PLAIN = re.compile(r'File "([^"]{1,400})", line (\d{1,9})(?:, in (.{1,120}))?')
_NOTEBOOK = re.compile(r"\A\s{0,8}File (\S{1,400}\.py):(\d{1,9}), in ([\w.<>]{1,120})\(")
_HEADED = re.compile(r"([A-Za-z_][\w.]{2,80}) {2,80}Traceback \(most recent call last\)")
_CODE = re.compile(r"-{2,8}> ?\d{1,6} (.{1,2000})")
_NUMBERED = re.compile(r"\A\s{0,12}(?:-{2,8}> ?)?\d{1,6}(?: |\Z)")
_ERROR = re.compile(r"\b(?:[A-Z]\w{0,60}(?:Error|Exception|Iteration|Interrupt)|SystemExit)\b")
_CARRIER = re.compile(r"\A\([\w.]{1,60} pid=\d{1,9}\) ?")
_RAISED = re.compile(
    r"\Araise ([A-Z]\w{2,60})\((?:\w{1,40}\()?[rf]{0,2}(?:\"([^\"]{6,300})\"|'([^']{6,300})')"
)
_INSTALLED = ("/site-packages/", "/dist-packages/")


class FailingLine(NamedTuple):
    """``place`` is the file, for an installed package from the package's folder on; ``calls`` are
    all frames, outermost first; ``cut`` is true if no line after the frames names an error;
    ``lines`` are those whose code is shown: path, number and code, outermost first."""

    number: int
    place: str
    line: int
    function: str
    code: str
    exception: str
    calls: str
    cut: bool
    lines: tuple[tuple[str, int, str], ...] = ()


class _Reader:
    def __init__(self) -> None:
        self.exception = ""
        self.start("")

    def start(self, exception: str) -> None:
        """Begin a traceback, and forget the one before."""
        self.exception = exception or self.exception
        self.calls: list[str] = []
        self.number = self.line = 0
        self.place = self.function = self.code = ""
        self.lines: list[tuple[str, int, str]] = []
        self._path = ""
        self.cut = self._first = True

    def frame(self, number: int, found: re.Match[str]) -> None:
        """Begin the next frame."""
        self.keep()
        self.number, self.line = number, int(found[2])
        self.place = _within_package(found[1])
        self._path = found[1]
        self.function = (found[3] or "").strip()
        self.code, self.cut, self._first = "", True, True
        self.calls.append(f"{self.place}:{self.function}")

    def keep(self) -> None:
        """Keep the line of the last frame, if its code is shown."""
        if self.code and len(self.lines) < _MAX_CALLS:
            self.lines.append((self._path, self.line, self.code))

    def behind(self, text: str) -> None:
        """Read a line after a frame: its code, or the error."""
        marked = _CODE.search(text)
        first, self._first = self._first, False
        if marked:
            self.code = marked[1].strip()[:_MAX_CODE]
        elif (
            not self.code
            and not _NUMBERED.match(text)
            and (text[:1].isspace() or (first and not _ERROR.search(text)))
        ):
            self.code = text.strip()[:_MAX_CODE]
        elif not _NUMBERED.match(text) and _ERROR.search(text):
            self.cut = False


def _within_package(path: str) -> str:
    """A path, of an installed file from the folder of its package on."""
    for folder in _INSTALLED:
        path = path.rpartition(folder)[2]
    return path


def failing_line(lines: Sequence[str]) -> FailingLine | None:
    """Find the failing line of the last traceback in ``lines``; None without frames."""
    read = _Reader()
    for number, whole in enumerate(lines, 1):
        text = _CARRIER.sub("", whole[:_MAX_LINE])
        if _HEADER in text:
            headed = _HEADED.search(text)
            read.start(headed[1] if headed else "")
            continue
        if "File " in text and (found := _PLAIN.search(text) or _NOTEBOOK.match(text)):
            read.frame(number, found)
        elif read.number:
            read.behind(text)
    if not read.number:
        return None
    read.keep()
    return FailingLine(
        read.number, read.place, read.line, read.function, read.code, read.exception,
        " > ".join(read.calls[-_MAX_CALLS:]), read.cut, tuple(read.lines),
    )  # fmt: skip


def raised_there(place: FailingLine) -> Message | None:
    """The message that the code of a cut traceback raises, if it is written out there."""
    found = _RAISED.match(place.code) if place.cut else None
    if found is None:
        return None
    return Message(
        found[2] or found[3], place.number, "traceback", FINAL, exception=found[1],
        file=place.place, line=place.line, may_be_event=False,
    )  # fmt: skip
