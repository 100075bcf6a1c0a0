"""Lines of logs: their heads in the usual formats, ``key=value`` pairs, and the names of levels."""

from __future__ import annotations

import re
from typing import NamedTuple

from .exceptions import exception_line

LEVELS = {
    "TRACE": "DEBUG", "DEBUG": "DEBUG", "INFO": "INFO", "NOTICE": "INFO", "SUCCESS": "INFO",
    "WARN": "WARNING", "WARNING": "WARNING", "ERR": "ERROR", "ERROR": "ERROR", "SEVERE": "CRITICAL",
    "FATAL": "CRITICAL", "CRITICAL": "CRITICAL", "I": "INFO", "W": "WARNING", "E": "ERROR",
    "F": "CRITICAL",
}  # fmt: skip


_LEVEL_PAIR = re.compile(r'(?:\A|\s)(?:level|lvl|severity)="?([A-Za-z]{1,10})"?(?:\s|\Z)')
_FIRST = re.compile(r"[\w.]{1,40}=")
_PAIR = re.compile(r'([\w.]{1,40})=("(?:[^"\\]|\\.)*+"|\S*+)')
_ESCAPED = re.compile(r"\\(.)")
_ESCAPES = {"n": "\n", "t": "\t", "r": ""}
_MESSAGE_KEYS = ("msg", "message", "event")
_ERROR_KEYS = ("err", "error", "exception", "exc", "exc_info")
_LOGGER_KEYS = ("logger", "component", "caller")
_HEAD = 400


class Logfmt(NamedTuple):
    """The content of a logfmt line; the text of its error follows the message."""

    level: str
    logger: str
    message: str


def logfmt_line(text: str) -> Logfmt | None:
    """The parts of a line of pairs that has a level and a message, or None."""
    if "=" not in text[:40] or not _FIRST.match(text):
        return None
    level = _LEVEL_PAIR.search(text[:_HEAD])
    if level is None or level[1].upper() not in LEVELS:
        return None
    pairs: dict[str, str] = {}
    for found in _PAIR.finditer(text):
        key, value = found.groups()
        if key in _MESSAGE_KEYS and not value.startswith('"'):
            value = text[found.start(2) :]  # not quoted, it takes what is left
        pairs.setdefault(key, _unquoted(value))
    message = _first(pairs, _MESSAGE_KEYS)
    error = _first(pairs, _ERROR_KEYS)
    if not (message or error):
        return None
    if error and error not in message:
        message = f"{message}: {error}" if message else error
    return Logfmt(LEVELS[level[1].upper()], _first(pairs, _LOGGER_KEYS), message)


def _first(pairs: dict[str, str], keys: tuple[str, ...]) -> str:
    return next((pairs[key] for key in keys if pairs.get(key)), "")


def _unquoted(value: str) -> str:
    if not value.startswith('"'):
        return value
    import json

    try:
        return str(json.loads(value)).strip()
    except ValueError:
        pass  # the escapes of another language
    return _ESCAPED.sub(lambda found: _ESCAPES.get(found[1], found[1]), value[1:-1]).strip()


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
    """A log line: level ("" if it shows none), logger ("" likewise) and the message after them."""

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
