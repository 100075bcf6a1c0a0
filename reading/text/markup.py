"""Tables and blocks of HTML as lines of text."""

from __future__ import annotations

import re

_BETWEEN_CELLS = re.compile(r"</t[dh]>\s*<t[dh][^<>]{0,200}>")
_BETWEEN_ROWS = re.compile(
    r"(?:</t[dh]>\s*)?</tr>\s*(?:</?t(?:head|body)>\s*){0,2}<tr[^<>]{0,200}>\s*"
)
_TAG = re.compile(r"</?t(?:able|body|head|[rdh])[^<>]{0,200}>")
_HEAD_TAG = re.compile(r"<h[1-6][^<>]{0,200}>")
_BLOCK_TAG = re.compile(r"</?(?:li|ul|ol|p|div|br|h[1-6])(?: [^<>]{0,200})?/?>")


def without_tags(text: str) -> str:
    """A text with its tables and blocks of HTML as lines; numbers of lines stay where each tag has
    a line of its own."""
    rows = _BETWEEN_ROWS.sub("\n", _BETWEEN_CELLS.sub(" | ", text))
    return _BLOCK_TAG.sub("\n", _HEAD_TAG.sub("\n# ", _TAG.sub("", rows)))
