"""Shows how far the work is: one line on stderr, on a terminal only, erased in the end.

The line is drawn by a thread, which reads the gauge a few times a second: the work itself only adds
up numbers. It is plain text because the libraries that draw such lines take longer to import than
half of the work that is shown: 20 to 60 ms, where a log of 50 MB takes 400.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

from ..reports.safe_text import one_line
from .gauge import Gauge, Part

DELAY_S = 0.5
INTERVAL_S = 0.2
BAR = 20
NARROW = 60
"""A terminal with fewer columns has room for a name and a number only."""
_terminal = threading.Lock()
"""There is room for one line."""
_ERASED = "\r\x1b[2K"
_SIZES = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"))


def is_wanted(stream: TextIO) -> bool:
    """Whether a stream is a terminal that can redraw a line, and progress is not switched off."""
    refused = any(os.environ.get(name) for name in ("NO_PROGRESS", "CI"))
    return not refused and os.environ.get("TERM") != "dumb" and stream.isatty()


@contextmanager
def shown(gauge: Gauge) -> Iterator[None]:
    """Shows the gauge while the block runs; inside another such block, that one goes on."""
    if not is_wanted(sys.stderr) or not _terminal.acquire(blocking=False):
        yield
        return
    ended = threading.Event()
    thread = threading.Thread(target=_show, args=(gauge, ended), daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        _join(thread)
        _terminal.release()


def _join(thread: threading.Thread) -> None:
    """Wait until the line is erased, even where Ctrl-C comes meanwhile."""
    try:
        thread.join()
    except KeyboardInterrupt:
        thread.join()
        raise


def _show(gauge: Gauge, ended: threading.Event) -> None:
    if ended.wait(DELAY_S):
        return
    with suppress(OSError, ValueError):  # a terminal that has gone must not harm the work
        _Line(gauge, sys.stderr).draw_until(ended)


class _Line:
    """The line on the terminal."""

    def __init__(self, gauge: Gauge, stream: TextIO) -> None:
        self._gauge = gauge
        self._stream = stream
        self._part: Part | None = None
        self._since = 0.0

    def draw_until(self, ended: threading.Event) -> None:
        """Redraw the line until the work has ended; then erase it."""
        try:
            while True:
                self._write(_ERASED + self._text())
                if ended.wait(INTERVAL_S):
                    return
        finally:
            self._write(_ERASED)

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()

    def _text(self) -> str:
        parts = list(self._gauge.parts)
        part = parts[-1] if parts else None
        if part is not self._part:
            self._part, self._since = part, time.monotonic()
        columns = os.get_terminal_size(self._stream.fileno()).columns - 1
        what = what_of(parts, stopped=self._gauge.stopped)
        told = "" if part is None else amount_of(part)
        if part is not None and columns >= NARROW:
            seconds = time.monotonic() - self._since
            told = " ".join(filter(None, (_bar(part), told, _left(part, seconds))))
        return f"{cut(what, max(columns - len(told) - 1, 8))} {told}"


def cut(text: str, columns: int) -> str:
    """The beginning of a text that fits, by the width of its characters."""
    from unicodedata import combining, east_asian_width

    widths = [0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text]
    if sum(widths) <= columns:
        return text
    room, kept = columns - 3, 0
    for width in widths:
        room -= width
        if room < 0:
            break
        kept += 1
    return f"{text[:kept]}..."


def what_of(parts: list[Part], *, stopped: bool = False) -> str:
    """The current work in words that are safe to show, after its number of how many."""
    named = [part.what for part in parts if part.what]
    text = one_line(named[-1]) if named else "working"
    whole = parts[0] if len(parts) > 1 else None
    if whole is not None and whole.total > 1:
        text = f"{min(whole.done + 1, whole.total):,}/{whole.total:,} {text}"
    return f"stopping: {text}" if stopped else text


def amount_of(part: Part) -> str:
    """How much is done: the share where the whole is known, else the number."""
    if part.total:
        share = f"{min(part.done, part.total) * 100 // part.total} %"
        return f"{share} {part.note}".rstrip()
    if part.unit == "bytes":
        return _size(part.done)
    return f"{part.done:,} {part.unit}" if part.done else ""


def _size(count: int) -> str:
    for unit, name in _SIZES:
        if count >= unit:
            return f"{count / unit:.1f} {name}"
    return f"{count} bytes"


def _bar(part: Part) -> str:
    if not part.total:
        return ""
    filled = min(part.done, part.total) * BAR // part.total
    return f"[{'#' * filled}{'.' * (BAR - filled)}]"


def _left(part: Part, seconds: float) -> str:
    """The time that the rest takes at the same pace."""
    if not 0 < part.done < part.total:
        return ""
    minutes, rest = divmod(int(seconds * (part.total - part.done) / part.done), 60)
    return f"{minutes}:{rest:02} left"
