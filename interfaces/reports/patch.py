"""The changes that a report suggests as a patch for `git apply`, from the root of the repository.

Source is quoted, so a part that holds a secret or a control character is left out, and so is a file
that has changed since it was read.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterable, Iterator

from ...engine.diagnosis.report import Report
from ...facts.regular_files import read_regular
from .locations import Change, Files, is_inside, repository
from .output_guard import redacted
from .safe_text import one_line, safe

MAX_BYTES = 2_000_000
_LINE = re.compile(r"[^\n]*\n|[^\n]+\Z")
_NAME = re.compile(r"[^\"\\\x00-\x1f\x7f]+\Z")
_NOTHING = "# No change is suggested.\n"


def patch_of(report: Report) -> str:
    """The patch; lines with # before it name the parts left out."""
    files = Files(report)
    by_file: dict[str, set[Change]] = {}
    for d in report.diagnoses:
        if d.kind != "benign" and not d.accepted:
            for change in files.changes(d):
                by_file.setdefault(change.place.path, set()).add(change)
    notes: list[str] = []
    parts = [_of_file(path, sorted(by_file[path]), notes) for path in sorted(by_file)]
    return "".join(f"# Left out: {note}\n" for note in notes) + "".join(parts) or _NOTHING


def _of_file(path: str, changes: list[Change], notes: list[str]) -> str:
    shown = one_line(path)
    if not is_inside(path) or not _NAME.match(path):
        notes.append(f"{shown}: it lies outside of the repository, or git would quote its name")
        return ""
    text = _text(os.path.join(repository(), path))
    if text is None:
        notes.append(f"{shown}: it cannot be read as text")
        return ""
    old = _LINE.findall(text)
    new, left = _changed(old, changes)
    notes += [f"{shown}:{change.place.line}: the file has changed since" for change in left]
    for context in (3, 1):
        hunks = list(_hunks(old, new, context))
        safe_ones = [hunk for hunk in hunks if _is_safe(hunk)]
        if len(safe_ones) == len(hunks):
            break
    for hunk in hunks:
        if hunk not in safe_ones:
            line = hunk.partition(" ")[2].partition(",")[0].lstrip("-")
            notes.append(f"{shown}:{line}: its lines hold what looks like a secret")
    end = "\t" if " " in path else ""
    head = f"--- a/{path}{end}\n+++ b/{path}{end}\n"
    return head + "".join(safe_ones) if safe_ones else ""


def _text(path: str) -> str | None:
    try:
        text = read_regular(path, MAX_BYTES).decode("utf-8")
    except (OSError, ValueError):
        return None
    alone = "\r" in text.replace("\r\n", "")
    return None if alone or len(text) >= MAX_BYTES else text


def _changed(old: list[str], changes: Iterable[Change]) -> tuple[list[str], list[Change]]:
    """The lines with the changes, and the changes that do not fit. Changes are applied from the
    end, so that earlier places stay valid."""
    new, left = list(old), []
    last = (len(old) + 1, 0)
    for change in sorted(changes, reverse=True):
        place = change.place
        end = (place.end_line, place.end_column)
        if not _fits(old, change) or end > last or end < (place.line, place.column):
            left.append(change)
            continue
        mark = place.line == 1 and old[0].startswith("\ufeff")  # editors count from behind it
        head = new[place.line - 1][: place.column - 1 + mark]
        tail = new[place.end_line - 1][place.end_column - 1 + (mark and place.end_line == 1) :]
        new[place.line - 1 : place.end_line] = [head + change.text + tail]
        last = (place.line, place.column)
    return new, left[::-1]


def _fits(lines: list[str], change: Change) -> bool:
    """Whether the file holds the code for which the change was proposed."""
    if not 0 < change.at <= len(lines) or not 0 < change.place.end_line <= len(lines):
        return False
    there = lines[change.at - 1].removeprefix("\ufeff").strip()
    return bool(change.code) and there[:300].rstrip() == change.code.strip()


def _hunks(old: list[str], new: list[str], context: int) -> Iterator[str]:
    lines = difflib.unified_diff(old, [part for n in new for part in _LINE.findall(n)], n=context)
    hunk = ""
    for line in list(lines)[2:]:
        if line.startswith("@@ ") and hunk:
            yield hunk
            hunk = ""
        hunk += line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
    if hunk:
        yield hunk


def _is_safe(hunk: str) -> bool:
    """Whether a hunk contains nothing to redact or to make visible: a hunk altered this way would
    not apply."""
    plain = hunk.replace("\r\n", "\n").replace("\ufeff", "")
    return safe(plain) == plain and redacted(hunk).value == hunk
