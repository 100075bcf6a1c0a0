"""Transcripts of calls (JSON records with exception, status, outcome ...) -> facts.

A transcript is written by a test harness or a wrapper about calls of the SDK: one JSON object a
line, a JSON array, or a single object; see :mod:`.records` for the content of a record.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from ...facts.kinds import Vocabulary
from ...facts.problems import Location
from ...facts.progress import UNWATCHED, Progress
from ...reading.text.exceptions import exception_line
from ...reading.text.files import Ending, LineProblems, read_rows, read_text
from ...reading.text.plain_text import Line, plain_text
from ..messages.message import Message
from ..messages.probe import add_messages
from ..messages.scan import scan
from ..outcome import Collector, Outcome
from ..shared.redaction import SessionNames, without_keys
from .records import CallRecord, call_record, is_call_record

MAX_BYTES = 50_000_000
MAX_RECORDS = 20_000
# Pending calls that are reported, the longest first.
MAX_PENDING = 50
_SOURCE = "transcript"
_BUILTINS = "builtins"
_FINAL, _ERROR, _QUIET = 0, 3, 6  # as ranked in message_scan


class Found(NamedTuple):
    """A record and the line where it begins."""

    line: int
    record: CallRecord


def gather_transcripts(
    path: Path | str, vocabulary: Vocabulary, *, progress: Progress = UNWATCHED
) -> Outcome:
    """The ``error_message``, ``http_response`` and ``log_event`` facts of a transcript, a
    ``call_timing`` with ``pending_s`` for each call that had not come back, and the versions of
    SDK and Python if all records agree on them.

    Equal messages are merged and counted, as in a log; API keys are cut out, session ids become
    ``session-1`` and so on. Problems: MM440 the file cannot be read, MM441 a line or record cannot
    be used, MM442 a part was left out, MM485 no record tells how a call went, MM412 different
    messages were left out. Never raises over a file.
    """
    path = Path(path)
    collector = Collector(vocabulary, "probe:transcripts")
    found = collector.attempt(_read, collector, path, progress)
    if found is None:
        return collector.outcome()
    if not found:
        hint = "give JSON records with an exception, a message or an HTTP status"
        collector.problem("MM485", "no record tells how a call went", Location(str(path)), hint)
    _add_versions(collector, path, found)
    sessions = SessionNames()
    messages = [message for group, each in enumerate(found, 1)
                for message in _messages(each, group, sessions)]  # fmt: skip
    add_messages(collector, messages, lambda line: f"{path}:{line}", Location(str(path)))
    _add_pending(collector, path, found)
    return collector.outcome()


def _read(collector: Collector, path: Path, progress: Progress) -> list[Found]:
    """All records, in order. A file of one object a line costs a bad line that line only."""
    lines = _Lines(path)
    if lines.is_one_document():
        found, bad = _document(path)
        collector.extend(bad.all())
    else:
        found = list(lines.records(progress))
        collector.extend(lines.bad.all())
    if lines.ending.cut or len(found) > MAX_RECORDS:
        text = f"the file is long: what follows its first {MAX_RECORDS:,} records is left out"
        collector.problem("MM442", text, Location(str(path)))
    return found[:MAX_RECORDS]


class _Lines:
    """Reads one record a line."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.ending = Ending()
        self.bad = LineProblems(path, "its call is missing from the facts")

    def is_one_document(self) -> bool:
        """Whether the first line that is not blank is not a JSON object of its own."""
        for row in read_rows(self._path, MAX_BYTES):
            return not isinstance(row.value, dict) and self._opens_a_document()
        return False

    def _opens_a_document(self) -> bool:
        text, _ = read_text(self._path, 4096)
        return text.lstrip("\ufeff \t\r\n")[:1] == "[" or text.strip("\ufeff \t\r\n")[1:2] == "\n"

    def records(self, progress: Progress) -> Iterator[Found]:
        for row in read_rows(self._path, MAX_BYTES, self.ending, progress):
            if row.error:
                self.bad.add(row.number, row.error)
            elif is_call_record(row.value):
                yield Found(row.number, call_record(row.value))
            else:
                self.bad.add(row.number, "the line does not tell how a call went")


def _document(path: Path) -> tuple[list[Found], LineProblems]:
    """The objects of a JSON document: an array of them or one, over any number of lines."""
    bad = LineProblems(path, "what follows is missing from the facts")
    text, cut = read_text(path, MAX_BYTES)
    decoder = json.JSONDecoder()
    found: list[Found] = []
    at, line, counted = 0, 1, 0
    while len(found) <= MAX_RECORDS:
        while at < len(text) and text[at] in "\ufeff \t\r\n,[]":
            at += 1
        if at >= len(text):
            break
        line, counted = line + text.count("\n", counted, at), at
        try:
            value, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            reason = "the file is cut here" if cut else getattr(error, "msg", "nested too deep")
            bad.add(line, f"not valid JSON: {reason}")
            break
        if is_call_record(value):
            found.append(Found(line, call_record(value)))
        else:
            bad.add(line, "this does not tell how a call went")
    return found, bad


def _messages(found: Found, group: int, sessions: SessionNames) -> Iterator[Message]:
    """The messages of a record, as one group; its HTTP answers come first, so that they
    are counted and the same status in the text is not counted again."""
    record = found.record
    for answers in record.answers:
        yield Message("", found.line, _SOURCE, _QUIET, keep=False, group=group,
                      responses=(answers.response,), count=answers.times)  # fmt: skip
    for message in _raised(record, found.line):
        yield replace(message, text=_clean(message.text, sessions), group=group)
    for entry in record.log:
        for message in _scanned(entry.message, found.line):
            quiet = entry.level.upper() in ("DEBUG", "INFO")
            yield replace(message, text=_clean(message.text, sessions), group=group, rank=_ERROR,
                          logger=entry.logger[:200], level=_level(entry.level), source="log",
                          count=entry.times, keep=message.keep and not quiet)  # fmt: skip
    for text in record.warnings:
        for message in _scanned(text, found.line):
            yield replace(message, text=_clean(message.text, sessions), group=group)


def _raised(record: CallRecord, line: int) -> Iterator[Message]:
    """The error of the call, with the status that the record gives."""
    if record.traceback:
        found = list(_scanned(record.traceback, line))
        if found:
            yield from found
            return
    if not (record.exception or record.message):
        return
    if not record.exception:
        yield from (replace(m, responses=_with_status(m, record))
                    for m in _scanned(record.message, line))  # fmt: skip
        return
    module, _, name = record.exception.rpartition(".")
    named = exception_line(record.message.partition("\n")[0])
    text = record.message
    if named and named.exception == name:
        text = record.message.strip()[named.skipped :] if named.message else ""
    message = Message(text.strip(), line, _SOURCE, _FINAL, exception=name,
                      module="" if module == _BUILTINS else module)  # fmt: skip
    told = next(iter(_scanned(text, line)), message) if text.strip() else message
    yield replace(message, responses=_with_status(told, record))


def _with_status(message: Message, record: CallRecord) -> tuple[Any, ...]:
    from ..messages.http_statuses import Response

    if record.status < 400:
        return message.responses
    body = next((r.body for r in message.responses if r.status == record.status), "")
    operation = record.answers[0].response.operation if record.answers else record.operation
    others = (r for r in message.responses if r.status != record.status)
    return (Response(record.status, operation, body), *others)


def _scanned(text: str, line: int) -> Sequence[Message]:
    """The messages of a text, all at the line of the record."""
    lines = [Line(line, each.text) for each in plain_text(text, 65_536).lines]
    return [replace(m, number=line) for m in scan(lines)] if text.strip() else []


def _clean(text: str, sessions: SessionNames) -> str:
    return sessions.hide(without_keys(text))


def _level(level: str) -> str:
    known = {"WARN": "WARNING", "FATAL": "CRITICAL"}.get(level.upper(), level.upper())
    return known if known in ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL") else ""


def _add_versions(collector: Collector, path: Path, found: Sequence[Found]) -> None:
    """Add versions if the records agree: records of two machines do not describe one
    environment."""
    for kind, name, versions in (
        ("package", "tinker", {each.record.sdk for each in found} - {""}),
        ("python", None, {each.record.python for each in found} - {""}),
    ):
        if len(versions) == 1:
            collector.add(kind, f"{path}:{found[0].line}", name=name, version=versions.pop())


def _add_pending(collector: Collector, path: Path, found: Sequence[Found]) -> None:
    waiting = [each for each in found
               if each.record.outcome == "pending" and each.record.seconds]  # fmt: skip
    waiting.sort(key=lambda each: (-(each.record.seconds or 0.0), each.line))
    for each in waiting[:MAX_PENDING]:
        collector.add("call_timing", f"{path}:{each.line}", pending_s=each.record.seconds,
                      operation=each.record.operation or "call")  # fmt: skip
    if len(waiting) > MAX_PENDING:
        text = f"{len(waiting):,} calls had not come back; the {MAX_PENDING} longest are kept"
        collector.problem("MM442", text, Location(str(path)))
