"""Writes redacted answers to stdout or a file, and computes the exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Sequence

from ..engine.diagnosis.report import SEVERITIES, Report
from ..facts import Fact, Location, ModelMedicError, Problem
from ..facts.json_text import dumps
from ..facts.problems import INTERRUPTED as INTERRUPTED_READING
from ..facts.redaction import Redacted
from .reports.formats import Document, Failure, Picture, render, render_failure
from .reports.layout import Line, rendered, text_of
from .reports.output_guard import redacted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

OK, FINDINGS, BAD_INPUT, BAD_KNOWLEDGE, NO_VERDICT, INTERNAL, INTERRUPTED = 0, 1, 2, 3, 4, 70, 130


class NoStdoutError(ModelMedicError):
    """The answer cannot be written to stdout (MM320); do not try again."""


def emit_document(
    document: Document,
    format_: str,
    target: Path | None = None,
    *,
    lines: Callable[[Report], Iterable[Line]] | None = None,
    pictures: Sequence[Picture] = (),
) -> None:
    """Write a report to stdout or a file. ``lines`` is an alternative text form; ``pictures`` go
    into HTML."""
    clean = redacted(document)
    if format_ != "text":
        _emit(render(clean, format_, pictures), target)
        return
    from .reports.formats.text import report_text

    report = clean.value.report
    _emit_lines(clean.map(lambda _: [*(lines(report) if lines else report_text(clean))]), target)


def report_document(report: Report, format_: str) -> Redacted[str]:
    """A report in one of the formats, to be saved."""
    return render(redacted(Document(report)), format_)


def emit_failure(tool: Any, problems: Sequence[Problem], format_: str) -> bool:
    """Write errors to stdout if programs read the format; returns whether it did."""
    text = render_failure(redacted(Failure(tool, tuple(problems))), format_)
    if text is not None:
        _put(text)
    return text is not None


def emit_text(lines: Iterable[Line], target: Path | None = None) -> None:
    """Write text to stdout or a file."""
    _emit_lines(redacted(list(lines)), target)


def emit_source(text: str, target: Path | None = None) -> None:
    """Write a text as it is, such as a drawing, to stdout or a file."""
    _emit(redacted(text), target)


def emit_json(plain: Any, target: Path | None = None) -> None:
    """Write one JSON document to stdout or a file."""
    _emit(redacted(plain).map(json_text), target)


def emit_facts(facts: Iterable[Fact], target: Path | None = None) -> None:
    """Write a facts file to stdout or a file."""
    plain = [fact.plain() for fact in facts]
    emit_json({"schema": "modelmedic/facts/1", "facts": plain}, target)


def json_text(plain: Any) -> str:
    """The JSON style of all output."""
    return dumps(plain) + "\n"


def save(text: str | Redacted[str], target: Path) -> None:
    """Write a file atomically, or into a device or pipe. Plain text is redacted first. Raises
    :class:`ModelMedicError` (MM320)."""
    safe = text if isinstance(text, Redacted) else redacted(text)
    write_file(safe.value.encode("utf-8"), target)


def write_file(data: bytes, target: Path) -> None:
    """Write a file atomically, as it is. Raises :class:`ModelMedicError` (MM320)."""
    try:
        path = target.resolve()
        if path.exists() and not path.is_file():
            path.write_bytes(data)
        else:
            from .atomic_file import replace

            replace(path, data)
    except (OSError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        hint = "name a file in a folder that you may write to"
        raise ModelMedicError(
            _unwritable("the file", reason, hint, Location(str(target)))
        ) from None


def _emit_lines(lines: Redacted[list[Line]], target: Path | None) -> None:
    if target is None:
        _put(lines.map(lambda _: rendered(lines, sys.stdout)))
    else:
        save(lines.map(lambda _: text_of(lines)), target)


def _emit(text: Redacted[str], target: Path | None) -> None:
    if target is None:
        _put(text)
    else:
        save(text, target)


def _put(text: Redacted[str]) -> None:
    """Write to stdout. If the reader has gone (``| head``), the exit code still reports the
    findings."""
    try:
        sys.stdout.write(text.value)
        sys.stdout.flush()
    except OSError as error:
        give_up(error)


def finish() -> None:
    """Flush what others have written to stdout, such as a help page."""
    try:
        sys.stdout.flush()
    except OSError as error:
        give_up(error)


def give_up(error: OSError) -> None:
    """Raises :class:`NoStdoutError`, unless only the reader has gone."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if not isinstance(error, BrokenPipeError):
        reason = error.strerror or str(error)
        raise NoStdoutError(_unwritable("the answer", reason, "write it to a file with -o"))


def _unwritable(what: str, reason: str, hint: str, where: Location | None = None) -> Problem:
    return Problem("MM320", f"cannot write {what}: {reason}", where, hint)


def report_code(report: Report, fail_on: str) -> int:
    """The exit code of a report: 130 if Ctrl-C left something out, else 1 with a problem at or
    above ``fail_on``. Without one it is not a verdict where nothing explains an error or something
    could not be read."""
    if any(problem.code == INTERRUPTED_READING for problem in report.errors):
        return INTERRUPTED
    if report.status == "error":
        return BAD_INPUT
    return _code(report.worst(), bool(report.unexplained or report.errors), fail_on)


def _code(worst: str | None, left_open: bool, fail_on: str) -> int:
    code = exit_code(worst, fail_on)
    return NO_VERDICT if code == OK and left_open and fail_on != "never" else code


def with_exit_codes(report: Report, fail_on: str) -> Report:
    """The report with what the changes of overlays do to the exit code, where there are any."""
    effect = report.knowledge.get("effect")
    if not effect or report.status == "error":
        return report
    worst = effect["worst_without"]
    without = _code(None if worst == "none" else worst, effect["left_open_without"], fail_on)
    codes = {"exit_code": report_code(report, fail_on), "exit_code_without": without}
    return report._replace(knowledge={**report.knowledge, "effect": {**effect, **codes}})


def gathered_code(problems: Sequence[Problem], *, found: bool = True) -> int:
    """The exit code of what only gathers: 130 if Ctrl-C left something out, 2 if there is nothing
    to tell."""
    if any(problem.code == INTERRUPTED_READING for problem in problems):
        return INTERRUPTED
    return OK if found else BAD_INPUT


def exit_code(worst: str | None, fail_on: str) -> int:
    """1 if ``worst`` is a severity at or above ``fail_on``, else 0."""
    if worst is None or fail_on == "never":
        return OK
    return FINDINGS if SEVERITIES.index(worst) >= SEVERITIES.index(fail_on) else OK
