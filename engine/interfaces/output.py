"""Where answers go: stdout or a file, and what the exit code says."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ...facts import Location, ModelMedicError, Problem
from ..report import SEVERITIES, Report
from .layout import Line, text_of, write

OK, FINDINGS, BAD_INPUT, BAD_KNOWLEDGE, INTERNAL, INTERRUPTED = 0, 1, 2, 3, 70, 130


def emit_text(lines: Iterable[Line], target: Path | None = None) -> None:
    """Write text to stdout or a file."""
    if target is None:
        write(lines, sys.stdout)
    else:
        save(text_of(lines), target)


def emit_json(plain: Any, target: Path | None = None) -> None:
    """Write one JSON document to stdout or a file."""
    text = json.dumps(plain, indent=2, ensure_ascii=True) + "\n"
    if target is None:
        sys.stdout.write(text)
    else:
        save(text, target)


def save(text: str, target: Path) -> None:
    """Write a file whole or not at all. Raises :class:`ModelMedicError` (MM320)."""
    import tempfile

    try:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}-")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
            Path(name).chmod(0o644)
            Path(name).replace(target)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        message = f"cannot write the file: {error.strerror}"
        raise ModelMedicError(
            Problem(
                "MM320",
                message,
                Location(str(target)),
                "name a file in a folder that you may write to",
            )
        ) from None


def exit_code(report: Report, fail_on: str) -> int:
    """1 if something at or above ``fail_on`` was found, else 0."""
    worst = report.worst()
    if worst is None or fail_on == "never":
        return OK
    return FINDINGS if SEVERITIES.index(worst) >= SEVERITIES.index(fail_on) else OK
