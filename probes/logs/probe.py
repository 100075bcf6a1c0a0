"""Log files of any size -> facts: error messages, HTTP answers, known events, silences.

Reads a log as a stream, rotated and packed files as one, in time proportional to its size and in
little memory. Lines are interpreted by :mod:`.messages`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ...facts.kinds import Vocabulary
from ...facts.problems import INTERRUPTED, Location, Problem
from ...facts.progress import UNWATCHED, Progress, interrupted
from ...reading.text.plain_text import plain_text
from ..messages.message import Message
from ..messages.probe import MAX_CHARACTERS, MAX_SURROUNDINGS, Place, add_messages, add_text
from ..outcome import Collector, Outcome
from ..shared.redaction import SessionNames, without_keys
from ..statements.probe import read_statements
from .files import HEAD, MAX_BYTES, LogFamilies, LogStream, Piece, in_time_order, size_of
from .recognition import reads_like_log
from .silence import SilenceFinder
from .tally import Tally

if TYPE_CHECKING:
    from ..metrics.printed import PrintedMetrics

SILENCE_S = 60.0
# Events that the SDK logs as warnings: a log with its lines that lacks these had none of them.
_ALWAYS_LOGGED = ("billing-paused", "capacity-wait", "heartbeat-failed", "queue-paused")
_SDK = (b"tinker.lib.", b"tinker_cookbook.", b"tinker._base_client")
_SOURCE = "probe:logs"
_OF_A_COURSE = frozenset(("training_metric", "timing_summary", "unread_figures"))
MAX_SHORT = MAX_SURROUNDINGS
"""Bytes of a log that is read like any text."""


def gather_logs(
    path: Path | Sequence[Path], vocabulary: Vocabulary, *, rotated: bool = True,
    silence_s: float = SILENCE_S, limit: int = MAX_BYTES, progress: Progress = UNWATCHED,
) -> Outcome:  # fmt: skip
    """The ``error_message``, ``http_response`` and ``log_event`` facts of one log, and the
    ``training_metric`` facts of the metrics that a program printed by step, unless a run folder
    next to the log has them. A short log also gives the figures that it states.

    ``path`` is a log file, to which its rotated siblings are added unless ``rotated`` is false, or
    the files of one log in any order; ``.gz``, ``.bz2`` and ``.xz`` are unpacked. The facts are
    those of all files put together, oldest first. At most ``limit`` bytes are read.

    Messages that differ only in numbers and ids are read up to five times and then counted. Answers
    with an HTTP status below 400 are not reported. ``log_event`` ``silence`` is reported if lines
    with times are at least ``silence_s`` seconds apart with nothing between them: ``duration_s``
    and ``text`` are those of the longest silence, ``count`` counts them all; a gap before a new
    start of the program does not count. For a log with lines of the SDK, the events that it always
    logs are also reported as not present, unless a part could not be read: then the event
    ``input-cut`` is reported. API keys are cut out, session ids become ``session-1`` and so on.

    Problems: MM490 cannot be read, MM491 kinds of messages were left out, MM492 nothing to read,
    MM493 not a text, MM494 damaged, MM495 too long, MM496 a line is too long, MM497 bad setting,
    MM498 the text does not look like a log, MM412 different messages were left out, MM407
    interrupted. Never raises over the files.
    """
    files = _files(path, rotated)
    where = Location(str(files[-1]) if files else "")
    if not (math.isfinite(silence_s) and silence_s > 0 and limit > 0):
        message = "the length of a silence and the limit must be positive numbers"
        return Outcome(problems=(Problem("MM497", message),))
    from ..metrics.printed import PrintedMetrics

    collector = Collector(vocabulary, _SOURCE)
    stream = LogStream(files, limit)
    tally, silence, printed, short = Tally(), SilenceFinder(silence_s), PrintedMetrics(), _Short()
    has_sdk, empty, goes_on, head = False, True, True, b""
    with progress.part(Path(where.path).name, size_of(files), "bytes", ends_early=True) as step:
        for piece in stream.pieces():
            if not goes_on:
                behind = f"what follows {stream.place(piece.line)} was not read"
                stream.problems.append(interrupted(behind, where))
                break
            head = head or piece.data[:HEAD]
            for reader in (tally, silence, printed, short):
                reader.feed(piece)
            has_sdk = has_sdk or any(mark in piece.data for mark in _SDK)
            empty = empty and not piece.data.strip()
            goes_on = step(len(piece.data))
        messages = tally.finish()
    if empty and not stream.problems:
        hint = "give the log of the run, or its traceback"
        collector.problem("MM492", "there is nothing in the log", where, hint)
    collector.extend(stream.problems)
    _add_gaps_in_reading(collector, tally, stream, where)
    messages = short.add_to(collector, messages, stream.place, where)
    _add_silence(collector, silence, stream)
    _add_metrics(collector, printed, stream)
    if head and (stream.problems or tally.left_out):
        collector.add("log_event", where.path, event="input-cut", present=True)
    if has_sdk and not tally.left_out and not stream.problems:
        _add_absent(collector, messages, where)
    outcome = collector.outcome()
    if not (outcome.facts or outcome.problems or reads_like_log(head, short=False)):
        message = "nothing here reads like a line of a log, an error or a traceback"
        problem = Problem("MM498", message, where, "give the log of the run, or its traceback")
        outcome = Outcome(problems=(problem,))
    return Outcome.joined(outcome, short.stated(vocabulary, where.path if len(files) == 1 else ""))


def gather_found(
    paths: Sequence[Path], vocabulary: Vocabulary, *, progress: Progress = UNWATCHED
) -> Outcome:
    """The files of a log that was found, and the checkpoints that they name."""
    from ..checkpoint.probe import gather_checkpoint, names_checkpoints

    parts = [gather_logs(paths, vocabulary, progress=progress)]
    for path in paths:
        if any(problem.code == INTERRUPTED for problem in parts[-1].problems):
            break
        with suppress(OSError):  # the reader of the log reports the error
            if names_checkpoints(path):
                parts.append(gather_checkpoint(path, vocabulary, progress=progress))
    return Outcome.joined(*parts)


class _Short:
    """A log that is short enough to be read like any text."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._left = MAX_SHORT

    def feed(self, piece: Piece) -> None:
        """Keep the next piece of the stream, if all fits."""
        self._left -= len(piece.data)
        self._parts.append(piece.data if self._left >= 0 else b"")

    def add_to(
        self, collector: Collector, counted: list[Message], place: Place, where: Location
    ) -> list[Message]:
        """Add its facts, and return its messages; those that were ``counted`` in a long log."""
        text = b"".join(self._parts).decode("utf-8", "replace")
        if self._left < 0 or not text.strip():
            add_messages(collector, counted, place, where)
            return counted
        plain = plain_text(SessionNames().hide(without_keys(text)), MAX_CHARACTERS)
        return add_text(collector, plain.lines, place, where, alone=False)

    def stated(self, vocabulary: Vocabulary, name: str) -> Outcome:
        """The figures that it states, but those of a course, which the metrics tell."""
        text = b"".join(self._parts).decode("utf-8", "replace") if self._left >= 0 else ""
        found = read_statements(text if name else "", vocabulary, name=name)
        return Outcome(tuple(fact for fact in found.facts if fact.kind not in _OF_A_COURSE))


def _files(path: Path | Sequence[Path], rotated: bool) -> tuple[Path, ...]:
    if not isinstance(path, Path):
        return in_time_order(path)
    return LogFamilies().of(path) if rotated else (path,)


def _add_gaps_in_reading(
    collector: Collector, tally: Tally, stream: LogStream, where: Location
) -> None:
    hint = "give the part around the error, if the answer misses it"
    if tally.left_out:
        message = (f"the log says many different things: {tally.left_out:,} warnings and errors of "
                   "further kinds were left out before its last part")  # fmt: skip
        collector.problem("MM491", message, where, hint)
    if tally.words_until:
        message = (f"the log is long: between {stream.place(tally.words_until)} and its last part, "
                   "suspicious lines other than warnings and errors were not read")  # fmt: skip
        collector.problem("MM491", message, where, hint)
    if stream.cut_lines:
        message = f"{stream.cut_lines:,} lines are too long; only their starts were read"
        collector.problem("MM496", message, where)


def _add_silence(collector: Collector, silence: SilenceFinder, stream: LogStream) -> None:
    gap = silence.longest
    if gap is None:
        return
    text = gap.text.decode("utf-8", "replace").strip()
    text = SessionNames().hide(without_keys(text))
    collector.add("log_event", stream.place(gap.line), event="silence", present=True,
                  count=silence.count, duration_s=round(gap.seconds, 3), text=text)  # fmt: skip


def _add_metrics(collector: Collector, printed: PrintedMetrics, stream: LogStream) -> None:
    """The courses in the newest file, unless the run wrote its metrics next to it."""
    from ..metrics.config import RunConfig
    from ..metrics.printed import MIN_ROWS
    from ..metrics.probe import add_run
    from ..metrics.recognition import METRICS, member
    from ..metrics.tables import table_of_values

    name, start = stream.last_file()
    rows = [(line - start + 1, row) for line, row in printed.rows() if line >= start]
    if len(rows) >= MIN_ROWS and not member(Path(name).parent, METRICS):
        add_run(collector, table_of_values(name, iter(rows), []), None, RunConfig())


def _add_absent(collector: Collector, messages: Sequence[Message], where: Location) -> None:
    from ..messages.events import find_events

    found = {event.event for message in messages if message.may_be_event
             for event in find_events(message.text)}  # fmt: skip
    for event in _ALWAYS_LOGGED:
        if event not in found:
            collector.add("log_event", where.path, event=event, present=False, count=0)
