"""The heads of log lines in the usual formats."""

from __future__ import annotations

import re
from typing import NamedTuple

from ..shared.exception_lines import exception_line
from .levels import LEVELS
from .logfmt import logfmt_line

_LEVEL = r"(TRACE|DEBUG|INFO|NOTICE|SUCCESS|WARNING|WARN|ERROR|ERR|SEVERE|FATAL|CRITICAL)"
_STAMP = (
    r"(?:\[?(?:\d{4}[-/](?:\d\d|[A-Z][a-z]{2})[-/]\d\d[ T]|\d\d[-/]\d\d[ T])?"
    r"\d{1,2}:\d\d:\d\d[\d.,Z+-]{0,30}\]?"
    r"|\[t=-?[\d.]{1,20}s\]|[A-Z][a-z]{2} {1,2}\d{1,2} \d\d:\d\d:\d\d)"
)
# Of a clock without seconds, and of the kernel: too common elsewhere to be a stamp without a level.
_SHORT_STAMP = r"\[?(?:\d{1,2}:\d\d| {0,8}\d{1,9}\.\d{3,9})\]?"
# Anchored, with single separators between repeats: none of them can backtrack far.
_FORMATS = tuple(
    re.compile(pattern)
    for pattern in (
        # tinker.lib.x:593 [WARNING] text
        rf"(?:{_STAMP} )?(?P<logger>[A-Za-z_][\w.]*):\d+ \[(?P<level>{_LEVEL})\] ?",
        # WARNING:tinker.lib.x:text
        rf"(?P<level>{_LEVEL}):(?P<logger>[\w.-]+):",
        # W0102 03:04:05.678901 1234 file.cc:12] text
        r"(?P<level>[IWEF])\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ \S{1,200}:\d+\] ",
        # INFO 01-02 03:04:05 [file.py:12] text
        rf"(?P<level>{_LEVEL}) {_STAMP} \[?[\w./-]{{1,200}}:\d+\] ",
        # [E102 03:04:05.678901 file.cpp:12] text
        r"\[(?P<level>[IWEF])\d{3,4} \d\d:\d\d:\d\d\.\d+ \S{1,200}:\d+\] ",
        # [2026-01-02 03:04:05,678][tinker.lib.x][WARNING] - text
        rf"{_STAMP}\[(?P<logger>[\w./-]{{1,200}})\]\[(?P<level>{_LEVEL})\](?: - | ?)",
        # [2026-01-02, 03:04:05 UTC] {file.py:12} WARNING - text
        rf"\[[\d-]{{10}},? [\d:.,+]{{8,22}}(?: UTC)?\] \{{[\w.]{{1,200}}:\d+\}} "
        rf"(?P<level>{_LEVEL}) - ",
        # [2026-01-02 03:04:05 +0000] [12] [WARNING] text
        rf"{_STAMP} ?[+-]\d{{4}}\] \[\d{{1,9}}\] \[(?P<level>{_LEVEL})\] ",
        # [2026-01-02 03:04:05,678: WARNING/MainProcess] text
        rf"{_STAMP}: (?P<level>{_LEVEL})/[\w-]{{1,100}}\] ",
        # [2026-01-02 03:04:05.678: W neuronx_distributed/trace/trace.py:12] text
        rf"(?:{_STAMP}: |\[)(?P<level>[IWEF]) (?P<path>\w[\w./-]{{0,200}})\.py:\d+\] ",
        # 2026-01-02 03:04:05,678 - tinker.lib.x - WARNING - text, and relatives of it
        rf"{_STAMP}[ \t|:,-]{{0,9}}(?:\d[\d:]{{0,20}} +)?"
        rf"(?:\[?(?P<logger>[A-Za-z_][\w./-]*)\]?[ \t|:-]{{1,9}})?"
        rf"\[?(?P<level>{_LEVEL})\b\]?[ \t|:-]{{0,9}}",
        rf"{_STAMP}[ \t|:,-]{{0,9}}\[(?P<level>(?i:{_LEVEL}))\][ \t|:-]{{0,9}}",
        # [ERROR] text, ERROR: text, ERROR  text
        rf"\[(?P<level>{_LEVEL})\][ \t:-]{{0,9}}",
        rf"(?P<level>{_LEVEL})(?::[ \t]{{0,9}}| - |[ \t]{{1,9}})(?=\S)",
        # 03:04 WARNING tinker.lib.x: text, [   12.345678] WARNING text
        rf"{_SHORT_STAMP}[ \t|:,-]{{1,9}}\[?(?P<level>{_LEVEL})\b\]?[ \t|:-]{{0,9}}",
        # A stamp alone
        rf"{_STAMP}(?P<level>)[ \t|:,-]{{1,9}}",
    )
)
# `tinker.lib.x: text`, `package.module:function:12 - text`, `[tinker.lib.x] text` after the level.
_LOGGER = re.compile(
    r"\[?([A-Za-z_]\w*(?:\.\w+)+)(?::[\w<>]{1,100}:\d+ - |:\d+(?::? - |: )|: | - |\] )"
)
_MARGIN = re.compile(r"\s{2,}[\w./<>-]{1,200}\.py:\d+\Z")


class LogHead(NamedTuple):
    """A log line: level ("" if it shows none), logger ("" likewise) and the message behind."""

    level: str
    logger: str
    message: str


def log_head(text: str, *, inner: bool = False) -> LogHead | None:
    """The parts of a log line, or None for a line without such a head.

    A line that went through a second logger has two heads; the ``inner`` one knows more.
    """
    if not text or text[0] in " \t":
        return None
    pairs = logfmt_line(text)
    if pairs:
        return LogHead(*pairs)
    for form in _FORMATS:
        head = form.match(text)
        if head:
            named = head.groupdict()
            level = LEVELS.get(named["level"].upper(), "")
            rest = text[head.end() :]
            second = log_head(rest, inner=True) if rest[:1].isdigit() and not inner else None
            if second and second.level:
                return second
            of_path = (named.get("path") or "").replace("/", ".")
            return _with_logger(level, named.get("logger") or of_path, rest)
    return None


def _with_logger(level: str, logger: str, message: str) -> LogHead:
    if not logger:
        found = _LOGGER.match(message[:400])
        if found and not exception_line(message):
            logger, message = found[1], message[found.end() :]
    if ".py:" in message[-120:]:  # rich puts the place into the right margin
        tail = _MARGIN.search(message, max(len(message) - 300, 0))
        message = message[: tail.start()] if tail else message
    return LogHead(level, logger, message.strip())
