"""Finds the silences of a log without reading each of its lines.

Lines are in order of time. So a stretch whose first and last line are less than the threshold apart
holds no gap, however long it is; only other stretches are halved and looked at again.
"""

from __future__ import annotations

import re
from datetime import date
from typing import NamedTuple

from .files import Piece

_CLOCK = rb"(?P<h>\d{1,2}):(?P<m>[0-5]\d):(?P<s>[0-5]\d)(?:[.,](?P<f>\d{1,9}))?"
_DAY = rb"(?P<Y>\d{4})[-/](?P<M>\d\d)[-/](?P<D>\d\d)"
# The name of each is the origin of its times: only times of one name can be subtracted.
_FORMS = tuple(
    (name, re.compile(pattern))
    for name, pattern in (
        ("date", rb"(?:\[?[A-Z]{4,8}\]?[ :|]{1,3})?\[?" + _DAY + rb"[ T]" + _CLOCK),
        ("start", rb"\[t=(?P<t>-?\d{1,12}(?:\.\d{1,9})?)s\]"),
        ("month", rb"(?:[A-Z]{4,8} )?(?P<M>\d\d)-(?P<D>\d\d) " + _CLOCK),
        ("month", rb"[IWEF](?P<M>\d\d)(?P<D>\d\d) " + _CLOCK),
        ("name", rb"(?P<N>[A-Z][a-z]{2}) {1,2}(?P<D>\d{1,2}) " + _CLOCK),
        ("clock", rb"\[?" + _CLOCK + rb"\b"),
        ("date", rb"\{[^\n]{0,300}?\"(?:@?timestamp|time|ts|asctime|datetime)\": ?\""
                 + _DAY + rb"[ T]" + _CLOCK),
    )
)  # fmt: skip
_MONTHS = (b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov",
           b"Dec")  # fmt: skip
_SOME_YEAR = 2001
DAY_S = 86_400.0


class Stamp(NamedTuple):
    """Seconds since some moment, which the form decides."""

    form: str
    seconds: float


def stamp_at(text: bytes, start: int = 0) -> Stamp | None:
    """The time of the line that begins at ``start``, or None. Time zones are ignored."""
    head = text[start : start + 1]
    if not head or head in b" \t\r\n":
        return None
    for form, pattern in _FORMS:
        found = pattern.match(text, start)
        if found:
            seconds = _seconds(found)
            return None if seconds is None else Stamp(form, seconds)
    return None


def between(first: Stamp, second: Stamp) -> float | None:
    """Seconds from one line to a later one; None if they cannot be compared. A clock without a
    date may pass midnight."""
    if first.form != second.form:
        return None
    seconds = second.seconds - first.seconds
    return seconds + DAY_S if first.form == "clock" and seconds < -DAY_S / 2 else seconds


def _seconds(found: re.Match[bytes]) -> float | None:
    parts = found.groupdict()
    if parts.get("t"):
        return float(parts["t"])
    hour = int(parts["h"])
    if hour > 23:
        return None
    clock = hour * 3600.0 + int(parts["m"]) * 60 + int(parts["s"])
    if parts["f"]:
        clock += int(parts["f"]) / 10 ** len(parts["f"])
    if "D" not in parts:
        return clock
    name = parts.get("N")
    if name is not None and name not in _MONTHS:
        return None
    month = _MONTHS.index(name) + 1 if name is not None else int(parts["M"])
    try:
        day = date(int(parts.get("Y") or _SOME_YEAR), month, int(parts["D"]))
    except ValueError:
        return None
    return day.toordinal() * DAY_S + clock


# Lines without a time that are skipped in search of one that has it.
PROBE_LINES = 200
# The text between two lines with times may be the rest of the first one's message; lines that were
# printed meanwhile prove that there was no silence.
MAX_BETWEEN = 16 << 10
_CONTINUES = b" \t\r\n|+=-*#}])<>{(~_\xe2"
_CONTINUATIONS = (b"Your connection may be unreliable", b"Traceback (most recent call last")
# After a gap they show that a new process continues the file of an older one.
_STARTS = (b"Command line invocation:", b"Logging to: ")
_START_LINES = 4
# So does a second session, a little later.
_SESSION = b"ServiceClient initialized for session"
_SESSION_REACH = 2 << 10


class Gap(NamedTuple):
    """A silence: its length in seconds, and the line before it with its number."""

    seconds: float
    line: int
    text: bytes


class _Mark(NamedTuple):
    """A line with a time: its start and end in its piece."""

    start: int
    end: int
    stamp: Stamp


class SilenceFinder:
    """Feed it every piece of a log; ``longest`` is then the longest silence of at least
    ``threshold_s`` seconds, and ``count`` the number of such silences."""

    def __init__(self, threshold_s: float) -> None:
        self.longest: Gap | None = None
        self.count = 0
        self._threshold_s = threshold_s
        self._has_session = False
        # The last line with a time of the pieces so far, and the text after it.
        self._before: tuple[Stamp, int, bytes, bytes] | None = None

    def feed(self, piece: Piece) -> None:
        """Take the next piece of the stream."""
        text = piece.data
        first = _first(text, 0, len(text))
        last = _last(text, 0, len(text)) if first else None
        if first is None or last is None:
            self._before = None
            self._has_session = self._has_session or _SESSION in text
            return
        if self._before is not None:
            stamp, line, said, rest = self._before
            self._judge(stamp, first, rest + text[: first.start], text, line, said)
        stretches = [(first, last)]
        while stretches:
            stretches += self._inside(piece, *stretches.pop())
        self._has_session = self._has_session or _SESSION in text
        line = piece.line + piece.lines - text.count(b"\n", last.start)
        rest = text[last.end : last.end + MAX_BETWEEN + 1]
        self._before = (last.stamp, line, text[last.start : last.end][:4096], rest)

    def _inside(self, piece: Piece, first: _Mark, last: _Mark) -> list[tuple[_Mark, _Mark]]:
        """The parts of a stretch that need a closer look."""
        seconds = between(first.stamp, last.stamp)
        if first.start >= last.start or (seconds is not None and 0 <= seconds < self._threshold_s):
            return []
        text = piece.data
        middle = text.find(b"\n", max((first.start + last.start) // 2, first.end - 1)) + 1
        mark = _first(text, middle, last.start) or _last(text, first.end, min(middle, last.start))
        if mark is None:
            if last.start - first.end <= MAX_BETWEEN:
                line = piece.line + text.count(b"\n", 0, first.start)
                said = text[first.start : first.end][:4096]
                rest = text[first.end : last.start]
                self._judge(first.stamp, last, rest, text, line, said)
            return []
        return [(first, mark), (mark, last)]

    def _judge(
        self, before: Stamp, after: _Mark, rest: bytes, text: bytes, line: int, said: bytes
    ) -> None:
        """Record the silence between two lines, if it is long enough."""
        seconds = between(before, after.stamp)
        if seconds is None or seconds < self._threshold_s:
            return
        if len(rest) > MAX_BETWEEN or not _continues(rest) or self._begins(text, after.start):
            return
        self.count += 1
        gap = Gap(seconds, line, said)
        if self.longest is None or (-seconds, line) < (-self.longest.seconds, self.longest.line):
            self.longest = gap

    def _begins(self, text: bytes, at: int) -> bool:
        """Whether a new process begins to write here."""
        if text.find(_SESSION, at, at + _SESSION_REACH) >= 0 and (
            self._has_session or text.find(_SESSION, 0, at) >= 0
        ):
            return True
        for _ in range(_START_LINES):
            end = text.find(b"\n", at)
            if end < 0:
                return False
            if any(start in text[at:end] for start in _STARTS):
                return True
            at = end + 1
        return False


def _first(text: bytes, at: int, end: int) -> _Mark | None:
    """The first line with a time from ``at`` on, which is the start of a line."""
    for _ in range(PROBE_LINES):
        if at >= end:
            return None
        stamp = stamp_at(text, at)
        following = text.find(b"\n", at) + 1
        if stamp is not None:
            return _Mark(at, following, stamp)
        at = following
    return None


def _last(text: bytes, begin: int, end: int) -> _Mark | None:
    """The last line with a time before ``end``, which is the end of a line."""
    for _ in range(PROBE_LINES):
        if end <= begin:
            return None
        at = text.rfind(b"\n", begin, end - 1) + 1 or begin
        stamp = stamp_at(text, at)
        if stamp is not None:
            return _Mark(at, end, stamp)
        end = at
    return None


def _continues(rest: bytes) -> bool:
    """Whether lines without a time look like parts of a message, not like messages of their own."""
    for line in rest.splitlines():
        if line and line[:1] not in _CONTINUES and not line.startswith(_CONTINUATIONS):
            return False
    return True
