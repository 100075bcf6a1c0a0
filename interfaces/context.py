"""The context of a command: shared options, the knowledge and facts that they select, output."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cache

from ..engine.compiler.knowledge_base import KnowledgeBase
from ..facts import Location, ModelMedicError, Problem
from ..facts.records import NamedTuple, cached_property
from . import output
from .deadline import Deadline
from .reports.formats import Document

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any, BinaryIO

    from ..engine.compiler.changes import Applied
    from ..engine.diagnosis.consultation import Plan
    from ..engine.diagnosis.diagnoser import Diagnoser
    from ..engine.diagnosis.report import Report
    from ..facts import Fact
    from .intake import Intake
    from .reports.formats import Picture
    from .reports.layout import Line
    from .waiting import Watch

MAX_STDIN = 32_000_000
TIME_LIMIT_S = 120.0
"""Seconds that a command takes at most, unless it has a default of its own."""
_CHUNK = 1 << 16
_XDG_PLATFORMS = ("linux",)
_NEED_NO_QUOTES = str.maketrans("", "", "_@%+=:,./-")


class _Options(NamedTuple):
    """The shared options; a command without one of them sees its default."""

    files: tuple[str, ...] = ()
    fail_on: str = "error"
    verbose: bool = False
    everything: bool = False
    why: str = ""
    overlays: tuple[str, ...] = ()
    engine: Any = "auto"
    format: str = "text"
    target: Path | None = None
    time_limit: float | str = TIME_LIMIT_S
    baseline: Path | None = None
    today: str = ""
    trust: str = "change"
    patch: Path | None = None
    command_line: tuple[str, ...] = ()


class Context(_Options):
    """The shared options of one run, and what they select."""

    @cached_property
    def base(self) -> KnowledgeBase:
        """The knowledge with its overlays; reports their changes that have ended on stderr."""
        late = self.deadline.has_passed
        if not self.overlays:
            return KnowledgeBase.load(cache=cache_folder(), time_is_up=late)
        if self.trust == "none":
            hint = "leave out --kb, or say --trust add"
            raise ModelMedicError(Problem("MM353", "overlays are not trusted here", None, hint))
        folders = [_tidy(folder) for folder in self.overlays]
        applied: Applied = "none" if self.trust == "add" else "valid"
        base = KnowledgeBase.load(
            folders,
            cache=cache_folder(),
            today=self.today or today(),
            applied=applied,
            time_is_up=late,
        )
        for overlay in base.overlays:
            for change in overlay["expired"]:
                from .reports.safe_text import safe

                what = f"the {'change' if 'how' in change else 'silence'} of {change['id']}"
                ended = f"{what} ended on {change['until']}: it is ignored"
                sys.stderr.write(f"note: {safe(overlay['path'])}: {ended}\n")
        return base

    @cached_property
    def deadline(self) -> Deadline:
        """When the command has to come to its end; it runs from the first look at it."""
        return Deadline(float(self.time_limit))

    def new_deadline(self) -> Deadline:
        """The same for a further round: waiting for a person, or for a job, counts for nothing."""
        return Deadline(float(self.time_limit))

    @cached_property
    def doctor(self) -> Diagnoser:
        from ..engine.diagnosis.diagnoser import Diagnoser

        return Diagnoser.of(self.base, self.engine)

    @cached_property
    def intake(self) -> Intake:
        """The reader of texts."""
        from .intake import Intake

        return Intake(self.doctor)

    def diagnose(self, facts: Iterable[Fact], problems: Sequence[Problem] = ()) -> Report:
        """The report on facts, within the time limit; with a plan where the answer may show it."""
        late = self.deadline.has_passed
        plan: Plan = "open" if self.is_verdict and not self.is_conversation() else True
        return self.doctor.diagnose(facts, problems, plan=plan, time_is_up=late)

    @property
    def is_verdict(self) -> bool:
        """Whether the answer is the verdict on one screen, which says no more than it must."""
        more = self.verbose or self.everything or self.why or self.patch or self.baseline
        return self.format == "text" and not more

    def is_conversation(self) -> bool:
        """Whether a user reads text at a terminal and can answer."""
        if self.format != "text" or self.target is not None or os.environ.get("CI"):
            return False
        if None in (sys.stdin, sys.stdout, sys.stderr):  # a caller has closed it
            return False
        return sys.stdin.isatty() and sys.stdout.isatty() and sys.stderr.isatty()

    def diagnosed(self, go_on: Callable[[Context, Report, int], int]) -> int:
        """Diagnose the facts of ``--facts``, and ``go_on`` from there with whoever sits at a
        terminal; the exit code."""
        report = self.diagnose(self.facts())
        code = self.emit_report(report)
        return go_on(self, report, code) if self.is_conversation() else code

    def facts(self) -> list[Fact]:
        """The facts of ``--facts`` (``-`` is stdin). Raises :class:`ModelMedicError` with the
        problems of every file."""
        from ..facts.fact_file import decode, parse_facts, read_facts

        facts: list[Fact] = []
        problems: list[Problem] = []
        for name in self.files:
            try:
                if name == "-":
                    text = decode(_stdin_bytes(sys.stdin.buffer), Location("<stdin>"))
                    facts.extend(parse_facts(text, "<stdin>", self.base.vocabulary))
                else:
                    facts.extend(read_facts(_tidy(name), self.base.vocabulary))
            except ModelMedicError as error:
                problems.extend(error.problems)
        if problems:
            raise ModelMedicError(problems)
        for fact in facts:
            if fact.kind == "error_message" and fact.get("source") is None:
                return self.intake.again(facts)
        return facts

    def emit_report(
        self,
        report: Report,
        *,
        read: Sequence[tuple[str, str, int]] = (),
        lines: Callable[[Report], Iterable[Line]] | None = None,
        pictures: Sequence[Picture] = (),
    ) -> int:
        """Write a report, less what ``--baseline`` accepts, and return the exit code. ``lines`` is
        an alternative text form; ``read`` lists what was read; ``pictures`` go into HTML."""
        day = self.today or today()
        if self.baseline is not None:
            from .baseline_file import with_baseline

            report = with_baseline(report, self.baseline, self.base.vocabulary, day)
        if (
            self.base.verified and day[:7] > self.base.verified[:7]
        ):  # without the cost of a calendar
            from .knowledge_age import with_age

            report = with_age(report, self.base.verified, day)
        if self.overlays:
            report = output.with_exit_codes(report, self.fail_on)
        if self.patch is not None:
            from .reports.patch import patch_of

            output.save(patch_of(report), self.patch)
        detail = "all" if self.everything else "evidence" if self.verbose else "verdict"
        given = typed(self.command_line) if self.format == "text" else ""
        document = Document(report, tuple(read), detail, self.fail_on, self.why, given)
        output.emit_document(document, self.format, self.target, lines=lines, pictures=pictures)
        if self.overlays and (self.format != "text" or self.target):
            self._tell_of_changes(report)
        return output.report_code(report, self.fail_on)

    def _tell_of_changes(self, report: Report) -> None:
        """Say on stderr that overlays make the exit code another one: who reads an answer of
        programs by its code shall know."""
        from .reports.safe_text import one_line
        from .reports.view import changes_exit, effect_text

        if changes_exit(report):
            sys.stderr.write(f"note: {one_line(effect_text(report))}\n")

    def emit(self, plain: Any, lines: Iterable[Line]) -> None:
        """Write an answer other than a report: ``plain`` as JSON, else the lines."""
        if self.format == "json":
            output.emit_json(plain, self.target)
        else:
            output.emit_text(lines, self.target)


_OF_TEXT = {"-v": 0, "--verbose": 0, "--all": 0, "--debug": 0, "--why": 1, "-o": 1, "--output": 1,
            "-f": 1, "--format": 1, "--fail-on": 1}  # fmt: skip


def typed(words: Sequence[str]) -> str:
    """The given command for a shell, without options for the text of its answer; empty if it cannot
    be repeated."""
    kept: list[str] = []
    rest = list(words)[::-1]
    while rest:
        word = rest.pop()
        left_out = _OF_TEXT.get(word)
        if left_out is None:
            kept.append(word)
        elif left_out and rest:
            rest.pop()
    if not kept or "-" in kept:
        return ""
    command = ["diagnose", *kept]
    if all(word.isascii() and word.translate(_NEED_NO_QUOTES).isalnum() for word in command):
        return " ".join(command)
    from shlex import join

    return join(command)


def cache_folder() -> str | None:
    """The cache of compiled knowledge; ``MODELMEDIC_CACHE`` overrides it, empty means none."""
    chosen = os.environ.get("MODELMEDIC_CACHE")
    if chosen is not None:
        return chosen or None
    return default_cache_folder()


def default_cache_folder() -> str | None:
    """The user's cache folder, or None without a home."""
    if sys.platform in _XDG_PLATFORMS:
        # As platformdirs does; importing it takes a tenth of a run.
        base = os.environ.get("XDG_CACHE_HOME", "").strip() or os.path.expanduser("~/.cache")
        return os.path.join(base, "modelmedic") if os.path.isabs(base) else None
    from platformdirs import user_cache_dir

    try:
        return user_cache_dir("modelmedic", appauthor=False)
    except (RuntimeError, OSError):
        return None


def forget_cache() -> bool:
    """Delete the cached knowledge; return whether there was any."""
    from ..engine.compiler.store.cache import forget

    folder = cache_folder()
    return folder is not None and forget(folder)


def today() -> str:
    """Today in UTC, so that machines agree; ``SOURCE_DATE_EPOCH`` (in seconds) may say another day,
    so that the same input gives the same output for ever."""
    said = os.environ.get("SOURCE_DATE_EPOCH", "")
    at = float(said) if said.isdecimal() and len(said) <= 12 else None
    return time.strftime("%Y-%m-%d", time.gmtime(at))


def _tidy(path: str) -> str:
    """A path as pathlib normalises it; importing pathlib takes longer than reading most files."""
    parts = path.split("/")
    if os.sep == "/" and path and "." not in parts and "" not in parts[1:]:
        return path
    from pathlib import Path

    return str(Path(path))


def read_stdin(watch: Watch | None = None) -> str:
    """Standard input as text; too much is an error."""
    return text_of(read_stdin_bytes(watch))


def text_of(raw: bytes) -> str:
    """Bytes as text, unpacked if gzip packed them; those that are not UTF-8 are replaced."""
    if raw.startswith(b"\x1f\x8b"):
        import zlib
        from contextlib import suppress

        with suppress(zlib.error):  # a damaged file stays what it is
            raw = zlib.decompressobj(31).decompress(raw, MAX_STDIN)
    return raw.decode("utf-8-sig", "replace")


def read_stdin_bytes(watch: Watch | None = None) -> bytes:
    """Standard input as it is; too much is an error. A ``watch`` may end the reading early."""
    if watch is None:
        return _stdin_bytes(sys.stdin.buffer)
    stream: Any = sys.stdin.buffer
    known = _awaited(stream)
    with watch.part("standard input", unit="bytes") as step:
        while len(known) <= MAX_STDIN and (part := watch.attempt(stream.read1, _CHUNK)):
            known.extend(part)
            step(len(part))
    return _stdin_bytes(stream, ended=watch.stopped)


@cache
def _awaited(stream: BinaryIO) -> bytearray:
    """The parts of a stream read so far."""
    return bytearray()


@cache
def _stdin_bytes(stream: BinaryIO, *, ended: bool = False) -> bytes:
    """The content of a stream that can be read only once, kept for a second attempt."""
    raw = bytes(_awaited(stream))
    if not ended:
        raw += stream.read(MAX_STDIN + 1 - len(raw))
    if len(raw) > MAX_STDIN:
        message = f"more than {MAX_STDIN:,} bytes on standard input"
        raise ModelMedicError(Problem("MM103", message, None, "give the part that matters"))
    return raw


def check_id(name: str, ids: Collection[str], what: str) -> None:
    """Raises :class:`ModelMedicError` (MM303) where ``name`` is not one of ``ids``."""
    from ..facts.problems import did_you_mean, excerpt

    if name not in ids:
        hint = did_you_mean(name, ids) or "`diagnose kb list` shows all ids"
        raise ModelMedicError(Problem("MM303", f"there is no {what} {excerpt(name)}", None, hint))
