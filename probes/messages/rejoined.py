"""Lines that a terminal, a mail program or a person broke at some column, joined again."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from ...reading.text.plain_text import Line, without_bullet
from ...reading.text.traceback_lines import plain_frame
from ...reading.text.tracebacks import is_connector, is_epilogue, starts_traceback

# Terminals break anywhere, at one of these columns; programs break between words, below these.
_TERMINALS = frozenset({72, 80, 90, 96, 100, 110, 120, 128, 132, 140, 150, 160, 180, 200})
_MARGINS = (70, 72, 74, 76, 78, 79, 80, 88, 90, 96, 99, 100, 110, 119, 120, 132, 140, 160, 180, 200)
_NARROWEST, _WIDEST = 60, 200
_MOST_LINES = 400
_ENDS = tuple(".!?:'\")]}`")
_STOPS = tuple(".,;:!?)]}")
_DRAWN = tuple('│┃|╭╰┌└├+{[<"')
_BOX = ("╭", "┌", "│")
# `Details: text` begins a line of its own.
_LABEL = re.compile(r"[A-Z][a-z]{2,20}: ")
# The last line of a traceback, whatever its class is called.
_QUALIFIED = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+(?:: |\Z)")

Boundary = Callable[[str], bool]


def rejoined(lines: Sequence[Line], is_boundary: Boundary) -> list[Line]:
    """Return the lines, with wrapped ones joined again.

    ``is_boundary`` recognises lines that begin something. Lines are joined only if all lines around
    keep within one width, and a line is so long that the next word did not fit.
    """
    found: list[Line] = []
    for block in _blocks(lines):
        found += _joined(block, is_boundary) if 1 < len(block) <= _MOST_LINES else block
    return found


def _blocks(lines: Sequence[Line]) -> Iterator[list[Line]]:
    """Runs of lines that are not empty, and the empty ones between."""
    block: list[Line] = []
    for line in lines:
        if line.text.strip():
            block.append(line)
            continue
        if block:
            yield block
            block = []
        yield [line]
    if block:
        yield block


def _joined(block: list[Line], is_boundary: Boundary) -> list[Line]:
    texts = [line.text for line in block]
    # A long word alone is not broken by a program that breaks between words.
    width = max((len(text) for text in texts if " " in text.strip()), default=0)
    if not _NARROWEST <= width <= _WIDEST or max(map(len, texts)) > 2 * _WIDEST:
        return block
    if any(text.lstrip().startswith(_BOX) for text in texts):
        return block
    # A line above indented ones is the head of a part.
    heads = [below.startswith(("  ", "\t")) for below in (*texts[2:], "")]
    goes_on = [not head and _goes_on(text, is_boundary)
               for text, head in zip(texts[1:], heads, strict=True)]  # fmt: skip
    if not any(goes_on):
        return block
    if _is_terminal(texts, width, goes_on):
        return _glued(block, goes_on, width, spaced=False)
    return _glued(block, goes_on, next(w for w in _MARGINS if w >= width), spaced=True)


def _goes_on(text: str, is_boundary: Boundary) -> bool:
    """Whether a line can be the rest of the one above."""
    if text[:1] == "\t" or text.startswith(("  ", "--", *_DRAWN)) or starts_traceback(text):
        return False
    if (
        _QUALIFIED.match(text)
        or plain_frame(f"  {text.lstrip('> ')}")
        or is_connector(text)
        or is_epilogue(text)
    ):
        return False
    return without_bullet(text) == text and not is_boundary(text)


def _is_terminal(texts: list[str], width: int, goes_on: list[bool]) -> bool:
    """Whether lines were broken at the last column, in the middle of words: each line that goes
    on below fills the width."""
    if width not in _TERMINALS or max(map(len, texts)) > width:
        return False
    broken = [text for text, on in zip(texts, goes_on, strict=False) if on]
    frames = (text for text in texts if text.lstrip().startswith('File "'))
    cut = [text for text in frames if not plain_frame(text)]
    if sum(len(text) == width for text in [*broken, *cut]) > 1:
        return True
    if not all(len(text) >= width - 1 for text in broken):
        return False
    return not (len(broken) == 1 and broken[0].endswith(_STOPS))


def _glued(block: list[Line], goes_on: list[bool], width: int, *, spaced: bool) -> list[Line]:
    found = [block[0]]
    for before, line, on in zip(block, block[1:], goes_on, strict=False):
        on = on and not starts_traceback(before.text)
        if not on or not _is_full(before.text, line.text, width, spaced=spaced):
            found.append(line)
            continue
        last = found[-1]
        blank = " " if spaced or len(before.text) < width else ""
        text = last.text.rstrip(" ") if blank else last.text
        found[-1] = Line(last.number, text + blank + line.text)
    return found


def _is_full(text: str, following: str, width: int, *, spaced: bool) -> bool:
    """Whether the next line continues this one because it did not fit, rather than begins a new
    one."""
    if not spaced:
        return len(text) >= width - 1
    if _LABEL.match(following) or (text.rstrip().endswith(_ENDS) and following[:1].isupper()):
        return False
    return len(text.rstrip()) + 1 + len(following.split(maxsplit=1)[0]) > width
