"""Finds the lines of interest of a log, by their bytes, at hundreds of megabytes a second.

One automaton holds all words that can make a line interesting; lines without any are never read.
False positives are harmless, since every hit is read closely; misses are not.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

from ..messages.events import table

# If several reasons apply, the first counts. The order is that of the budgets in :mod:`.tally`.
EVENT, LEVEL, WORD = range(3)
TRACEBACK = b"Traceback (most recent call last"
_LEVELS = (
    r"\b(?:WARNING|WARN|ERROR|ERR|SEVERE|FATAL|CRITICAL)\b|(?m:^)[WEF]\d{4} \d\d:"
    r"|[\[ ][WEF] [\w./-]{1,200}\.py:\d{1,9}\] "
)
# Class names that no signal word is part of, alone or before a message.
_NAMES = (
    r"(?m:^)[\w.]*(?:Error|Exception|Warning|Interrupt|Exit|Timeout|Cancelled|Expired|Failure|Fault"
    r"|StopIteration|ExceptionGroup)(?::|\s*(?m:$))"
)
_STATUSES = (
    r"(?i:(?:\"|http/[\d.]+\"? |code:? |code[=\"']{1,2}:? ?|error |status[ :=\"']{1,4})[45]\d\d\b"
    r"|\b[45]\d\d (?:bad|unauth|payment|forb|not f|request|conf|gone|payl|unproc|too|inter|serv"
    r"|gate|client|server))"
)
_STATUS = re.compile(rb"(?<![\w.-])[2-5]\d\d(?!\w|\.\d)")
# Deleting them from a line leaves what lines of one kind share: no numbers, no hexadecimal ids.
_VARYING = b"0123456789abcdefABCDEF-"
_KEY_LENGTH = 1_000


class Pattern(Protocol):
    """The part of a compiled pattern that is used."""

    def search(self, text: bytes, pos: int = ..., endpos: int = ...) -> Any:
        """The first match in ``text[pos:endpos]``."""


class Filter(NamedTuple):
    """The patterns: ``any`` finds every line of interest, ``strong`` those that have more than a
    word of trouble, the others classify it."""

    any: Pattern
    strong: Pattern
    events: Pattern
    levels: Pattern

    def reason(self, line: bytes) -> int:
        """Why a line is of interest."""
        if TRACEBACK in line or self.events.search(line):
            return EVENT
        return LEVEL if self.levels.search(line) else WORD


@lru_cache(maxsize=1)
def log_filter() -> Filter:
    """The filter made of the table of log events."""
    import re2

    options = re2.Options()
    options.max_mem = 64 << 20  # the automaton grows while it reads; thrown away it is slow
    known = table()
    pieces = {max(template.pieces, key=len) for _, templates in known.events
              for template in templates}  # fmt: skip
    events = "|".join([re2.escape(TRACEBACK.decode()), *map(re2.escape, sorted(pieces))])
    events = f"{events}|{_STATUSES}"
    levels = f"{_LEVELS}|{_NAMES}"
    words = "(?i:" + "|".join(map(re2.escape, known.signals)) + ")"
    compiled = [re2.compile(text.encode(), options)
                for text in (f"{events}|{levels}|{words}", f"{events}|{levels}", events,
                             levels)]  # fmt: skip
    return Filter(*compiled)


def key_of(text: bytes) -> tuple[bytes, ...]:
    """The part of ``text`` that lines of the same kind share; HTTP statuses separate kinds."""
    # The end of a traceback is more informative than its middle.
    start = text if len(text) < 2 * _KEY_LENGTH else text[:_KEY_LENGTH] + text[-_KEY_LENGTH:]
    return (start.translate(None, _VARYING), *_STATUS.findall(start))
