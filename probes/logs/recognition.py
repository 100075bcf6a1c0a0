"""Recognises logs and tracebacks by their first bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from ...reading.text.exceptions import exception_line
from ...reading.text.json_records import json_record
from ...reading.text.log_lines import log_head
from ...reading.text.tracebacks import starts_traceback
from .files import HEAD, LogFamilies

# A file with such a name and so few lines was kept for the error in it.
SHORT = 60
_LOGS = (".log", ".out", ".err")
_PASTED = ("", ".txt", ".err", ".out", ".log")


def looks_like_logs(path: Path, head: bytes) -> bool:
    """Whether a file that starts with ``head`` (up to 64 KiB) reads like a log, packed or not.
    Looks for log lines and tracebacks; the name decides nothing."""
    return reads_like_log(head, short=path.suffix in _PASTED)


def named_logs(path: Path, head: bytes) -> bool:
    """Whether a file that the user named is read as a log although it does not look like one: a
    text with the suffix of a log."""
    return path.suffix in _LOGS and bool(head.strip()) and b"\0" not in head


def families() -> Callable[[Path], tuple[Path, ...]]:
    """A function that finds all files of the log that a file belongs to."""
    return LogFamilies().of


def reads_like_log(head: bytes, *, short: bool) -> bool:
    """Whether ``head`` reads like a log; ``short`` accepts a few lines kept for an error."""
    text = _unpacked(head)
    if b"\0" in text[:HEAD] and not text.startswith((b"\xff\xfe", b"\xfe\xff")):
        return False
    code = "utf-16" if text.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8"
    lines = [line for line in text[:HEAD].decode(code, "replace").splitlines() if line.strip()]
    if len(text) >= HEAD:
        lines = lines[:-1]
    lines = lines[:400]
    if any(starts_traceback(line) and not line.startswith((" ", "\t", "#")) for line in lines):
        return not _is_code(lines)
    if short and len(lines) <= SHORT and any(map(_is_error_line, lines)):
        return not _is_code(lines)
    heads = sum(_is_log_line(line) for line in lines)
    early = any(_is_log_line(line) for line in lines[:5])
    if (early and heads >= 3) or (heads > 0 and heads >= len(lines) / 2):
        return True
    return short and _shows_metrics(lines)


def _shows_metrics(lines: Sequence[str]) -> bool:
    from ..metrics.printed import MIN_ROWS, printed_metrics

    return len(printed_metrics(lines)) >= MIN_ROWS


def _is_error_line(line: str) -> bool:
    """Whether a line is the last message of a program: the class and text of an exception, or the
    `Error: ...` of a command."""
    named = exception_line(line[:2000])
    return bool(named and named.message) or line.startswith("Error: ")


def _is_log_line(line: str) -> bool:
    if line.startswith("{"):
        record = json_record(line)
        return record is not None and bool(record.level)
    return log_head(line[:2000]) is not None


def _is_code(lines: Iterable[str]) -> bool:
    return any(line.startswith(("import ", "from ", "def ", "class ")) for line in lines)


def _unpacked(head: bytes) -> bytes:
    """The start of a file, unpacked if it is packed; empty if it cannot be."""
    try:
        if head.startswith(b"\x1f\x8b"):
            import zlib

            return zlib.decompressobj(31).decompress(head, HEAD)
        if head.startswith(b"BZh"):
            import bz2

            return bz2.BZ2Decompressor().decompress(head, HEAD)
        if head.startswith(b"\xfd7zXZ\x00"):
            import lzma

            return lzma.LZMADecompressor().decompress(head, HEAD)
    except Exception:  # noqa: BLE001 - each packer has errors of its own; then it is not a log
        return b"\0"
    return head
