"""Raw text as it is pasted or logged -> plain lines: one line end, no colours, no control codes, no
marks that editors, chats and web pages put in place of what a program printed."""

from __future__ import annotations

import re
from typing import NamedTuple

from .rendered import unrendered

# Terminal control sequences: CSI (colours, cursor), OSC (titles, links), two-character ones.
_ANSI = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_]|[ -/][0-~])"
)
# Progress bars end a line with a lone CR; a log that was converted twice ends it with CR CR LF.
_LINE_END = re.compile(r"\r+\n?")
_CONTROLS = dict.fromkeys([*range(9), 11, 12, *range(14, 32), 127])
# Joiners, direction marks and soft hyphens cannot be seen; of spaces and quotes the plain ones
# were typed.
_UNSEEN = dict.fromkeys([0xAD, *range(0x200B, 0x2010), *range(0x202A, 0x202F),
                         *range(0x2060, 0x206A), 0xFEFF])  # fmt: skip
_SPACES = dict.fromkeys([0xA0, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000], " ")
_QUOTES = {**dict.fromkeys(range(0x2018, 0x201C), "'"), **dict.fromkeys(range(0x201C, 0x2020), '"')}
_TYPED = {**_CONTROLS, **_UNSEEN, **_SPACES, **_QUOTES}
# Columns past this hold data dumps, not messages; scanning them would only cost time.
MAX_LINE = 65_536
SAMPLE = 8_192
"""Characters that tell whether the rest is text."""


class Line(NamedTuple):
    """A line and its number in the input, counted from 1; 0 for a mark that is no line."""

    number: int
    text: str


class PlainText(NamedTuple):
    """The lines that are kept and how many were left out in the middle."""

    lines: list[Line]
    total: int
    left_out: int


def is_binary(raw: str) -> bool:
    """Whether a text looks like bytes of no text, decoded all the same."""
    start = raw[:SAMPLE]
    return start.count("\ufffd") * 10 > max(len(start), 20)


def plain_text(raw: str, limit: int) -> PlainText:
    """Clean ``raw`` and keep at most ``limit`` characters of it.

    Of a longer text the first quarter and the last three quarters of the limit are kept, at line
    borders: the set-up stands at the start of a log, the error that ended the run at its end.
    """
    text = raw
    if "\r" in text:
        text = _LINE_END.sub("\n", text)
    if "\x1b" in text:
        text = _ANSI.sub("", text)
    text = text.translate(_CONTROLS if text.isascii() else _TYPED)
    text = unrendered(text)
    if len(text) <= limit:
        lines = text.split("\n")
        return PlainText([Line(i, t[:MAX_LINE]) for i, t in enumerate(lines, 1)], len(lines), 0)
    return _both_ends(text, limit)


def _both_ends(text: str, limit: int) -> PlainText:
    total = text.count("\n") + 1
    head = text[: limit // 4].rpartition("\n")[0]
    rest = text[len(text) - (limit - limit // 4) :]
    tail = rest.partition("\n")[2] or rest
    first, last = head.split("\n") if head else [], tail.split("\n")
    kept = [Line(i, t[:MAX_LINE]) for i, t in enumerate(first, 1)]
    # The empty line keeps a message at the end of the head from swallowing the tail.
    kept.append(Line(0, ""))
    start = total - len(last) + 1
    kept.extend(Line(i, t[:MAX_LINE]) for i, t in enumerate(last, start))
    return PlainText(kept, total, max(total - len(first) - len(last), 1))
