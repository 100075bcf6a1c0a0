"""Splits plain lines into messages, with their places and weights."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from ...facts.progress import Step, go_on
from ...reading.text.exceptions import ExceptionLine, exception_line, warning_line
from ...reading.text.json_records import JsonRecord, json_record
from ...reading.text.log_lines import LogHead, log_head
from ...reading.text.plain_text import (
    Line,
    is_document,
    is_written,
    without_bullet,
    without_carrier,
    without_stamp,
)
from ...reading.text.traceback_lines import begins_notebook, plain_frame
from ...reading.text.tracebacks import (
    continues_message,
    is_notice,
    is_surrounding,
    read_chain,
    starts_traceback,
)
from .carried_lines import uncarried
from .cut_json import cut_off
from .events import has_signal
from .http_statuses import Response, find_responses, response_of_class
from .message import CAUSE, ERROR, FINAL, LEVEL_RANKS, LOOSE, NAMED, QUIET, WARNING, Message
from .reframed import reframed
from .rejoined import rejoined
from .told import logged, loose, typed, with_told

__all__ = ["Message", "begins_message", "scan", "scan_first", "scan_until", "tidied"]

# A text without any known form is read as one message up to this size, else line by line.
MAX_WHOLE_LINES = 40
# A text this short was pasted on purpose, even if none of its lines looks like an error.
MAX_SHORT_LINES = 4
# Notes of people have fewer lines than this.
MAX_WRITTEN_LINES = 1000
MAX_WHOLE = 65_536
MAX_CONTINUATION = 400
_COMMAND_ERRORS = ("Error: ", "error: ", "fatal: ", "Fatal: ", "Fatal error: ")
_PROMPTS = ("$ ", ">>> ", "# ")
# `[XTP002] text`, `[F139] text`
_CODE = re.compile(r"\[(?:F|(?:NCC_)?[A-Z]{3,4})\d{3}\] \S")
_COMPILERS = ("neuronx-cc", "neuron-cc", "neuronxcc", "NeuronX Compiler", "Neuron Compiler")
# Exceptions that report the end of another process, whose own error says more.
_ECHOES = frozenset({
    "CalledProcessError", "ChildFailedError", "ProcessRaisedException", "ProcessExitedException",
    "RayTaskError", "SystemExit",
})  # fmt: skip


class Scanned(NamedTuple):
    """The messages; ``unread`` is the first line that was not read, 0 if all were."""

    messages: list[Message]
    unread: int = 0


def scan(lines: Sequence[Line]) -> list[Message]:
    """All messages, in order. Text of no known form gives one message, if it is short."""
    return scan_until(tidied(lines), go_on).messages


def tidied(lines: Sequence[Line]) -> list[Line]:
    """Restore the lines as a program printed them, as far as possible."""
    bare = uncarried(lines)
    # "E" alone may be pytest's mark before a line; if no text follows, it is the text itself.
    bare = bare if any(line.text.strip() for line in bare) else list(lines)
    return reframed(rejoined(bare, begins_message), begins_message)


def scan_until(lines: Sequence[Line], step: Step, *, alone: bool = True) -> Scanned:
    """Scan lines that are :func:`tidied` for messages, until ``step``, which is called for every
    line, asks to end. A text ``alone`` is a message if nothing in it is one, unless people wrote
    it as a document."""
    short = len(lines) <= MAX_WRITTEN_LINES
    written = short and is_document([line.text for line in lines])
    scanner = _Scanner(lines, codes=_by_compiler(lines), written=written)
    found = _without_notices(typed(list(scanner.messages(step))))
    if scanner.unread:
        return Scanned(found, scanner.unread)
    said = any(each.keep for each in found)
    is_bare = not scanner.has_form or (not said and len(lines) <= MAX_SHORT_LINES)
    if alone and not written and is_bare:
        whole = _whole(lines)
        if whole:
            return Scanned(whole if not scanner.has_form else found + whole)
    return Scanned(found)


def _without_notices(found: list[Message]) -> list[Message]:
    """Drop messages that only announce an exception that is among them."""
    if not any(each.exception and each.keep for each in found):
        return found
    return [replace(each, keep=each.keep and not _is_notice(each)) for each in found]


def _is_notice(message: Message) -> bool:
    """Whether a message adds nothing to an exception; a log record under a heading does."""
    headed = message.logger and message.text.startswith("=")
    return not message.exception and not headed and is_notice(message.text)


def scan_first(lines: Sequence[Line]) -> tuple[list[Message], int]:
    """The messages of the first event in ``lines`` and the index of the line after it. Unlike
    :func:`scan`, it does not treat a text as a message only because there is nothing else."""
    return _Scanner(lines).first()


class _Scanner:
    """Walks over the lines once; ``has_form`` is true if any of them had a known form. The
    sentences of a document that people have ``written`` do not count."""

    def __init__(
        self, lines: Sequence[Line], *, codes: bool = False, written: bool = False
    ) -> None:
        self._lines = lines
        self._written = written
        self._codes = codes
        self._at = 0
        self._group = 0
        self.has_form = False
        self.unread = 0

    def messages(self, step: Step) -> Iterator[Message]:
        while self._at < len(self._lines):
            before = self._at
            yield from self.first()[0]
            if not step(self._at - before) and self._at < len(self._lines):
                self.unread = self._lines[self._at].number
                return

    def first(self) -> tuple[list[Message], int]:
        while self._at < len(self._lines) and not self._lines[self._at].text.strip():
            self._at += 1
        if self._at == len(self._lines):
            return [], self._at
        self._group += 1
        found = [_with_responses(each, self._group) for each in self._next(self._lines[self._at])]
        return found, self._at

    def _next(self, line: Line) -> Iterator[Message]:
        text = without_carrier(line.text)
        if text.rstrip() in ("{", "["):
            record, below = self._indented_json()
            return self._json(line, record) if record else self._cut(below)
        if text.startswith("{") and (record := json_record(text)):
            self._at += 1
            return self._json(line, record)
        if starts_traceback(line.text) or plain_frame(line.text) or begins_notebook(line.text):
            return self._traceback()
        return self._line(line, text)

    def _traceback(self) -> Iterator[Message]:
        self.has_form = True
        raised, self._at = read_chain(self._lines, self._at, begins_message)
        for each in raised:
            final = each.chain == "final" and each.exception not in _ECHOES
            yield Message(
                each.text, each.number, "traceback", FINAL if final else CAUSE,
                exception=each.exception, module=each.module, chain=each.chain, file=each.file,
                line=each.line, frames=each.frames, may_be_event=False,
            )  # fmt: skip

    def _indented_json(self) -> tuple[JsonRecord | None, Sequence[Line]]:
        """The record of a JSON object that is spread over lines, if it is one, and its lines."""
        start = self._at
        stop = start + 1
        while stop < min(len(self._lines), start + MAX_CONTINUATION):
            text = self._lines[stop].text
            stop += 1
            if text[:1] not in (" ", "\t"):
                break
        self._at = stop
        below = self._lines[start:stop]
        return json_record("\n".join(line.text for line in below)), below

    def _json(self, line: Line, record: JsonRecord | None) -> Iterator[Message]:
        if record is None:
            return
        self.has_form = True
        quiet = record.level in ("DEBUG", "INFO")
        kept = not quiet or (record.level == "INFO" and has_signal(record.message))
        rank = QUIET if quiet else LEVEL_RANKS[record.level]
        source = "log" if record.level or record.logger else "pasted"
        inner = record.traceback
        if starts_traceback(record.message):
            inner = inner or record.message
        elif record.message:
            answer = (Response(record.status),) if record.status else ()
            said = Message(record.message, line.number, source, rank, record.exception,
                           logger=record.logger, level=record.level, keep=kept,
                           responses=answer)  # fmt: skip
            yield from with_told(said) if kept else (said,)
        for each in record.told:
            yield from with_told(Message(
                each.text, line.number, source, min(rank, ERROR), each.exception, each.module,
                logger=record.logger, level=record.level, may_be_event=False,
            ))  # fmt: skip
        yield from _inner_traceback(line.number, inner)

    def _cut(self, below: Sequence[Line]) -> Iterator[Message]:
        found = list(cut_off(below))
        self.has_form = self.has_form or bool(found)
        return iter(found)

    def _line(self, line: Line, text: str) -> Iterator[Message]:
        warned = warning_line(text)
        if warned:
            self.has_form = True
            text = self._warned(warned.message)
            yield Message(text, line.number, "stderr", WARNING, warned.category,
                          file=warned.file, line=warned.line)  # fmt: skip
            return
        named = _named(text)
        if named:
            self.has_form = True
            item = without_bullet(text) != text
            message = self._continued(named.message, in_list=item)
            rank = LOOSE if item else NAMED
            yield Message(message, line.number, "pasted", rank, named.exception, named.module,
                          may_be_event=named.exception.endswith("Warning"))  # fmt: skip
            return
        head = self._coded(text) or _head(text)
        if head:
            self.has_form = True
            message = self._continued(head.message)
            yield from logged(Message(message, line.number, "log", LEVEL_RANKS.get(
                head.level, QUIET), logger=head.logger, level=head.level))  # fmt: skip
            return
        said = self._continued(text.strip(), indented=not text.startswith(_COMMAND_ERRORS))
        if self._written and is_written(said):
            return
        yield from loose(Message(said, line.number, "pasted", LOOSE))

    def _coded(self, text: str) -> LogHead | None:
        """The compiler's own error: it prints a code before the error, and usually no level."""
        bare = without_stamp(text) if self._codes else ""
        return LogHead("ERROR", "", bare.strip()) if _CODE.match(bare) else None

    def _continued(self, first: str, *, indented: bool = False, in_list: bool = False) -> str:
        """A message with the lines that continue it; with ``indented``, only indented ones, as an
        item ``in_list`` up to the next item."""
        parts = [first]
        self._at += 1
        while self._at < len(self._lines) and len(parts) < MAX_CONTINUATION:
            text = self._lines[self._at].text
            after = self._lines[self._at + 1].text if self._at + 1 < len(self._lines) else None
            if indented and text[:1] not in (" ", "\t"):
                break
            if in_list and without_bullet(text) != text:
                break
            if not continues_message(text, after, begins_message):
                break
            parts.append(text.rstrip())
            self._at += 1
        return "\n".join(parts).strip()

    def _warned(self, first: str) -> str:
        """A warning, which goes on below if it ends in a colon, without the line of source that
        Python shows indented below it."""
        self._at += 1
        wanted = MAX_CONTINUATION if first.rstrip().endswith(":") else 1
        below: list[str] = []
        while self._at < len(self._lines) and len(below) < wanted:
            text = self._lines[self._at].text
            if not text.startswith("  "):
                break
            below.append(text.rstrip())
            self._at += 1
        return "\n".join([first, *(below[:-1] or below)]) if wanted > 1 else first


def begins_message(text: str) -> bool:
    """Whether a line begins a message, and so does not continue the one above."""
    if text[:1] in (" ", "\t", ""):
        return False
    text = without_carrier(text)
    known = exception_line(text) or log_head(text) or warning_line(text)
    return (
        text.startswith((*_COMMAND_ERRORS, *_PROMPTS)) or known is not None or _CODE.match(text)
        is not None
        or (text.startswith("{") and json_record(text) is not None)
    )  # fmt: skip


def _by_compiler(lines: Sequence[Line]) -> bool:
    """Whether a text comes from the Neuron compiler."""
    return any(word in line.text for line in lines for word in _COMPILERS)


def _named(text: str) -> ExceptionLine | None:
    """The exception that a line names at its beginning, after a stamp, a bullet or `Error: `."""
    bare = without_bullet(without_stamp(text).lstrip())
    bare = bare.removeprefix("Error: ").removeprefix("ERROR: ").removeprefix("error: ")
    return exception_line(text.lstrip()) or exception_line(bare)


def _head(text: str) -> LogHead | None:
    """The head of a log line; the stamp of the program that ran it may precede the head."""
    bare = without_stamp(text)
    if bare == text:
        return log_head(text)
    return log_head(bare) or LogHead("", "", bare.strip())


def _inner_traceback(number: int, text: str) -> Iterator[Message]:
    """The exceptions of a traceback that a log record holds."""
    lines = [Line(number, each) for each in text.splitlines()]
    # Where the head of the traceback is cut off, nothing more can be read from it.
    at = next((i for i, each in enumerate(lines) if starts_traceback(each.text)), None)
    if at is None:
        return
    for each in read_chain(lines, at, begins_message)[0]:
        yield Message(each.text, number, "traceback", ERROR, each.exception, each.module,
                      each.chain, file=each.file, line=each.line, frames=each.frames,
                      may_be_event=False)  # fmt: skip


def _whole(lines: Sequence[Line]) -> list[Message]:
    """The text as one message; nothing if it is long and some of its lines are of interest."""
    inner = [line for line in lines if not is_surrounding(line.text)]
    lines = inner if any(line.text.strip() for line in inner) else lines
    text = "\n".join(line.text.rstrip() for line in lines).strip()
    filled = [line for line in lines if line.text.strip()]
    if len(text) > MAX_WHOLE or len(filled) > MAX_WHOLE_LINES:
        if any(has_signal(line.text) for line in filled):
            return []
        text = text[: MAX_WHOLE + 1]
    number = filled[0].number
    record = json_record(text)
    if record and record.message:
        answer = (Response(record.status),) if record.status else ()
        return [_with_responses(Message(record.message, number, "pasted", NAMED,
                                        record.exception, responses=answer), 1)]  # fmt: skip
    message = Message(text, number, "pasted", NAMED)
    return [_with_responses(each, 1) for each in with_told(message)]


def _with_responses(message: Message, group: int) -> Message:
    found = (*message.responses, *find_responses(message.text))
    of_class = found or response_of_class(message.exception, message.module, message.text)
    return replace(message, group=group, responses=tuple(of_class))
