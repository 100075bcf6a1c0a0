"""The text that every match of a regular expression contains.

With it a message is compared with a few hundred short texts instead of as many expressions: a
message that lacks the text cannot match. Where nothing is certain there is no such text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

MIN_LENGTH = 3
MAX_LENGTH = 24

_parser: Any = re._parser  # type: ignore[attr-defined]
_constants: Any = re._constants  # type: ignore[attr-defined]


def required_text(pattern: str) -> str:
    """A lower-case ASCII text that the lower-case form of each ASCII text with a match contains;
    empty if there is none of :data:`MIN_LENGTH` characters or more.

    RE2 and Python agree on literals, groups and repetition; a pattern that Python does not parse
    has no required text.
    """
    try:
        parsed = _parser.parse(pattern)
    except (re.error, RecursionError, OverflowError):
        return ""
    if parsed.state.flags & re.VERBOSE:
        return ""
    longest = max(_runs(parsed), key=len, default="")
    return longest[:MAX_LENGTH] if len(longest) >= MIN_LENGTH else ""


def _runs(parsed: Iterable[Any]) -> list[str]:
    """The runs of characters that each match contains."""
    runs: list[str] = []
    current = ""
    for op, argument in parsed:
        if op is _constants.LITERAL and argument < 128:
            current += chr(argument).lower()
            continue
        if op is _constants.AT:
            continue  # an anchor takes no text
        runs.append(current)
        current = ""
        if op is _constants.SUBPATTERN:
            runs += _runs(argument[-1])
        elif op in (_constants.MAX_REPEAT, _constants.MIN_REPEAT) and argument[0] > 0:
            runs += _runs(argument[2])
    return [*runs, current]
