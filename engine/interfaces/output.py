"""Where answers go: stdout or a file, and what the exit code says."""

from __future__ import annotations

import json
import os
import stat
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ...facts import Location, ModelMedicError, Problem
from ..report import SEVERITIES, Report
from .layout import Line, rendered, text_of

OK, FINDINGS, BAD_INPUT, BAD_KNOWLEDGE, INTERNAL, INTERRUPTED = 0, 1, 2, 3, 70, 130


class NoStdoutError(ModelMedicError):
    """The answer cannot be written to stdout (MM320); nothing more should be tried there."""


def emit_text(lines: Iterable[Line], target: Path | None = None) -> None:
    """Write text to stdout or a file."""
    if target is None:
        _put(rendered(lines, sys.stdout))
    else:
        save(text_of(lines), target)


def emit_json(plain: Any, target: Path | None = None) -> None:
    """Write one JSON document to stdout or a file."""
    text = json.dumps(plain, indent=2, ensure_ascii=True) + "\n"
    if target is None:
        _put(text)
    else:
        save(text, target)


def save(text: str, target: Path) -> None:
    """Write a file whole or not at all; a device or a pipe is written to, never replaced. Raises
    :class:`ModelMedicError` (MM320)."""
    try:
        path = target.resolve()
        if path.exists() and not path.is_file():
            path.write_text(text, encoding="utf-8")
        else:
            _replace(path, text)
    except (OSError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        hint = "name a file in a folder that you may write to"
        raise ModelMedicError(
            _unwritable("the file", reason, hint, Location(str(target)))
        ) from None


def _replace(path: Path, text: str) -> None:
    draft = path.with_name(f".{path.name}-{os.getpid()}")
    try:
        with draft.open("x", encoding="utf-8") as file:
            file.write(text)
        if path.exists():
            draft.chmod(stat.S_IMODE(path.stat().st_mode))
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def _put(text: str) -> None:
    """Write to stdout. A reader that has gone (``| head``) has seen enough: the exit code still
    says what was found."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            reason = error.strerror or str(error)
            hint = "write it to a file with -o"
            raise NoStdoutError(_unwritable("the answer", reason, hint)) from None


def _unwritable(what: str, reason: str, hint: str, where: Location | None = None) -> Problem:
    return Problem("MM320", f"cannot write {what}: {reason}", where, hint)


def exit_code(report: Report, fail_on: str) -> int:
    """1 if something at or above ``fail_on`` was found, else 0."""
    worst = report.worst()
    if worst is None or fail_on == "never":
        return OK
    return FINDINGS if SEVERITIES.index(worst) >= SEVERITIES.index(fail_on) else OK
