"""Distinguishes a paste from typing if the terminal does not mark it. A user cannot type two lines
at once, so lines that arrive together are one text, unless each is a short answer typed ahead while
the program was busy.
"""

from __future__ import annotations

import re
import select

MAX_BURST = 32_000_000  # characters; what is more is a paste of its own
QUIET_S = 0.03  # a burst has ended if nothing has come for so long
_ENDS = re.compile(r"\r\n|\r|\n")
_ANSWER = re.compile(r"\d{1,3}|\?|[ynYN]|yes|no|unknown|skip|back|none")
# No key sends these: colours, titles, links. Mended before the line editor reads them as keys.
_STYLE = re.compile(r"\x1b(?:\[[0-9;:]*m|\][^\x07\x1b]*(?:\x07|\x1b\\)?)")


def lines_of(text: str) -> list[str]:
    """The lines of a text with any line ends."""
    return _ENDS.split(text)


def is_paste(burst: str) -> bool:
    """Whether what arrived at once is one pasted text rather than lines that were typed ahead."""
    said = [line for line in lines_of(burst) if line.strip()]
    return len(said) > 1 and not all(_ANSWER.fullmatch(line.strip()) for line in said)


def without_style(text: str) -> str:
    """The text without the sequences that colour it or name the window."""
    return _STYLE.sub("", text) if "\x1b" in text else text


def plain_paste(text: str) -> str:
    """A pasted text with plain line ends, without style and without half characters."""
    whole = text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return "\n".join(lines_of(without_style(whole))).strip("\n")


def waits(descriptor: int, seconds: float = QUIET_S) -> bool:
    """Whether something can be read, or comes within ``seconds``."""
    try:
        return bool(select.select([descriptor], [], [], seconds)[0])
    except (OSError, ValueError):  # closed, or nothing that can be waited for
        return False
