"""Reads the lines of interest of a log: each kind of message closely, its repetitions by count.

The log passes as a window over the stream. The result of a hit depends on the lines around it, not
on the end of the window: it always reaches :data:`BACK` bytes back and :data:`AHEAD` forward.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from ...reading.text.plain_text import Line, plain_text
from ...reading.text.tracebacks import starts_traceback
from ..messages.events import find_events
from ..messages.message import Message
from ..messages.scan import begins_message, scan_first
from ..shared.redaction import SessionNames, without_keys, without_rest
from .files import MAX_LINE, Piece
from .filter import TRACEBACK, WORD, key_of, log_filter

BACK = 64 << 10
AHEAD = 256 << 10
# Kinds of messages that are read with care, by the reason for which their line was found: events,
# HTTP statuses and tracebacks; warnings and errors; lines with a word of trouble.
BUDGETS = (1_500, 2_000, 1_000)
# As many again of those in the last part of the log, which holds the error that ended it.
TAIL = 256 << 10
MAX_READ = 5
MAX_BACK_LINES = 50
_FIRST_TRY = 12
_SECOND_TRY = 400
_LAST_TRY = 5_000
# A traceback of the plain style up to the line of its exception.
_PLAIN = re.compile(rb"(?:[ \t][^\n]*\n|\r?\n(?=[ \t]))*[^\n]*\n")


@dataclass(slots=True)
class _Kind:
    """A kind of message: its first messages, how often it was read and seen further times."""

    messages: list[Message]
    read: int = 1
    more: int = 0
    longest_s: float = 0.0
    inner: bool = False


class Tally:
    """Counts and reads the messages of a log. Feed it every piece, then :meth:`finish`.

    ``left_out`` is the number of events, warnings and errors of kinds for which the budget was used
    up; ``words_until`` is the line up to which lines with a word of trouble were read, 0 if all.
    """

    def __init__(self) -> None:
        self.left_out = 0
        self.words_until = 0
        self._filter = log_filter()
        self._kinds: dict[tuple[bytes, ...], _Kind] = {}
        self._budgets = list(BUDGETS)
        self._sessions = SessionNames()
        self._messages: list[Message] = []
        self._text = b""
        self._line = 1  # of the first byte of the text
        self._from = 0  # start of the part that has not been searched
        self._covered = 0  # end of the last message that was read
        self._group = 0

    def feed(self, piece: Piece) -> None:
        """Take the next piece of the stream."""
        self._text += piece.data
        behind = piece.line + piece.lines
        end = self._text.rfind(b"\n", 0, max(len(self._text) - AHEAD, 0)) + 1
        if end > self._from:
            self._search(end)
            keep = self._text.rfind(b"\n", 0, max(end - BACK, 0)) + 1
            self._text = self._text[keep:]
            self._line = behind - self._text.count(b"\n")
            self._from = end - keep
            self._covered = max(self._covered - keep, 0)

    def finish(self) -> list[Message]:
        """All messages, after the last piece."""
        self._search(len(self._text))
        if self.left_out or self.words_until:
            self._budgets = list(BUDGETS)
            before = self.left_out, self.words_until
            self._from = self._text.rfind(b"\n", 0, max(len(self._text) - TAIL, 0)) + 1
            self._covered = 0
            self._search(len(self._text), again=True)
            self.left_out, self.words_until = before
        for kind in self._kinds.values():
            self._messages += _with_count(kind)
        self._messages.sort(key=lambda message: (message.number, message.group))
        return self._messages

    def _search(self, end: int, *, again: bool = False) -> None:
        """Find the lines of interest up to ``end``; ``again`` takes only lines that were left
        out."""
        text, at = self._text, self._from
        counted, number = 0, self._line
        while at < end:
            # In a text full of such words, for example model output, they mean nothing.
            pattern = self._filter.any if self._budgets[WORD] else self._filter.strong
            hit = pattern.search(text, at, end)
            if hit is None:
                break
            found = hit.start()
            start = text.rfind(b"\n", 0, found) + 1
            at = text.find(b"\n", found) + 1
            if start < self._covered:
                continue
            number += text.count(b"\n", counted, start)
            counted = start
            at = max(at, self._take(start, at, number, again=again))
        self._from = end

    def _take(self, start: int, end: int, number: int, *, again: bool) -> int:
        """Read or count the line of interest at ``start``; return the place to continue."""
        line = self._text[start:end]
        region = self._region(start, end)
        key = key_of(self._text[start:region])
        kind = self._kinds.get(key)
        if kind is None:
            reason = self._filter.reason(line)
            if not self._budgets[reason]:
                self.left_out += 1
                return end
            self._budgets[reason] -= 1
            if reason == WORD and not self._budgets[WORD]:
                self.words_until = number
            messages, stop = self._read(start, number)
            longest_s = max((_longest(each.text) for each in messages), default=0.0)
            read = MAX_READ if reason == WORD else 1
            self._kinds[key] = _Kind(messages, read, longest_s=longest_s)
            self._mark_inner(end, stop)
            self._covered = stop
            return stop
        if again or kind.inner:
            return region
        if kind.read < MAX_READ:
            kind.read += 1
            messages, self._covered = self._read(start, number)
            self._messages += messages
            return self._covered
        kind.more += 1
        if kind.longest_s:
            kind.longest_s = max(kind.longest_s, _longest(_decode(line)))
        return region

    def _mark_inner(self, at: int, stop: int) -> None:
        """Mark the further lines of interest in a message as read, so that they are not counted as
        messages of their own."""
        while at < stop:
            hit = self._filter.any.search(self._text, at, stop)
            if hit is None:
                return
            start = self._text.rfind(b"\n", 0, hit.start()) + 1
            at = self._text.find(b"\n", hit.start()) + 1
            key = key_of(self._text[start : self._region(start, at)])
            if key not in self._kinds:
                self._kinds[key] = _Kind([], inner=True)

    def _region(self, start: int, end: int) -> int:
        """The end of the text that identifies a message: its line, or a plain traceback."""
        if not self._text.startswith(TRACEBACK, start):
            return end
        plain = _PLAIN.match(self._text, end, end + AHEAD)
        return plain.end() if plain else end

    def _read(self, start: int, number: int) -> tuple[list[Message], int]:
        """The messages of the line at ``start`` and the end of the last of them."""
        begin, first = self._begin(start, number)
        messages, stop = self._message(begin, first)
        if stop <= start:  # the message above ends before this line
            messages, stop = self._message(start, number)
        self._group += 1
        return [replace(each, group=self._group) for each in messages], stop

    def _message(self, start: int, number: int) -> tuple[list[Message], int]:
        """The messages that begin at ``start`` and their end."""
        for size in (_FIRST_TRY, _SECOND_TRY, _LAST_TRY):
            lines, ends = self._lines(start, number, size)
            messages, stop = scan_first(lines)
            if stop < len(lines) or ends[-1] >= len(self._text):
                break
        return messages, ends[stop - 1]

    def _begin(self, start: int, number: int) -> tuple[int, int]:
        """The start and the line number of the message that the line at ``start`` belongs to."""
        at = start
        line = self._at(at)
        if _begins(line):
            return start, number
        indented = line[:1] in (" ", "\t")
        for back in range(1, MAX_BACK_LINES + 1):
            if at == 0 or start - at > BACK // 2:
                break
            at = self._text.rfind(b"\n", 0, at - 1) + 1
            line = self._at(at)
            if not line.strip():
                if not indented:
                    break
            elif _begins(line):
                return at, number - back
            indented = line[:1] in (" ", "\t")
        return start, number

    def _at(self, start: int) -> str:
        end = self._text.find(b"\n", start)
        return _decode(self._text[start : min(end, start + MAX_LINE)])

    def _lines(self, start: int, number: int, size: int) -> tuple[list[Line], list[int]]:
        """At most ``size`` lines from ``start``, cleaned, and the end of each in the text."""
        lines: list[Line] = []
        ends: list[int] = []
        at, limit = start, min(start + AHEAD, len(self._text))
        while len(lines) < size and at < limit:
            end = self._text.find(b"\n", at) + 1
            text = _decode(self._text[at : min(end, at + MAX_LINE)].rstrip(b"\n"))
            for part in self._clean(text):
                before = lines[-1].text if lines else ""
                lines.append(Line(number, without_rest(part, before)))
                ends.append(end)
            number += 1
            at = end
        return lines, ends

    def _clean(self, text: str) -> Iterator[str]:
        """A line without colours, keys and session ids; a progress bar as its several lines."""
        text = self._sessions.hide(without_keys(text.removesuffix("\r")))
        for line in plain_text(text, MAX_LINE).lines:
            yield line.text


def _begins(line: str) -> bool:
    return begins_message(line) or starts_traceback(line) or line.rstrip() in ("{", "[")


def _decode(line: bytes) -> str:
    return line.decode("utf-8", "replace")


def _longest(text: str) -> float:
    return max((event.duration_s or 0.0 for event in find_events(text)), default=0.0)


def _with_count(kind: _Kind) -> Iterator[Message]:
    """The messages of a kind; the first ones represent all that were only counted."""
    for message in kind.messages:
        yield replace(message, count=1 + kind.more, longest_s=kind.longest_s)
