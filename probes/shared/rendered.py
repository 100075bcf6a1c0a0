"""What pages, editors and chats put into a text when they render it, taken out again: entities,
tags, links on files and numbers, backslashes before marks."""

from __future__ import annotations

import re

_ENTITY = re.compile(r"&(?:(quot|apos|lt|gt|amp|nbsp)|#(\d{2,4})|#[xX]([0-9a-fA-F]{2,4}));")
_ENTITIES = {"quot": '"', "apos": "'", "lt": "<", "gt": ">", "amp": "&", "nbsp": " "}
_LOWEST, _HIGHEST = 32, 0x3000
# Tags around words of a log. Others may be what a program printed: `<module>`, `<s>`, an answer.
_MARKUP = re.compile(r"</(?:a|span|code|pre|samp|kbd|font)>|<br ?/?>", re.IGNORECASE)
_TAG = re.compile(
    r"</?(?:a|span|code|pre|br|samp|kbd|font)(?:\s[^<>\n]{0,2000})?/?>", re.IGNORECASE
)
# `[a.py:12](vscode-file://a.py)`, `[line 12](cell:x)`, `[12](https://x/a.py)`
_LINK = re.compile(
    r"\[((?:line )?\d{1,9}|[^\[\]\s]{0,300}\.(?:py|ipynb|cc|cpp)(?::\d{1,9})?)\]"
    r"\((?:[a-z][a-z0-9+.-]{0,30}:|[/.~])[^()\s]{0,1000}\)"
)
# Colours whose escape character was lost or written out.
_COLOUR = re.compile(
    r"(?:\\(?:u001[bB]|x1[bB]|033|e)|\^\[|\u241b)?\[(?:\d{1,3}(?:;\d{1,3}){0,5})?m"
)
_ESCAPED_JOINT = re.compile(r"\w\\_\w")
_JOINT = re.compile(r"[^\W_]_[^\W_]")
_ESCAPED = re.compile(r"\\([_*\[\]<>#`~|])")


def unrendered(text: str) -> str:
    """The text as it was before it was shown."""
    if "&" in text:
        text = _decoded(text)
    if ("</" in text or "<br" in text) and _MARKUP.search(text):
        text = _TAG.sub("", text)
    if "[0m" in text:
        text = _COLOUR.sub("", text)
    if "](" in text:
        text = _LINK.sub(r"\1", text)
    # Markdown that was escaped has the backslash before each of these marks, paths and patterns
    # have it before some.
    if "\\_" in text and _ESCAPED_JOINT.search(text) and not _JOINT.search(text):
        text = _ESCAPED.sub(r"\1", text)
    return text


def _decoded(text: str) -> str:
    """A page that shows the source of a page has escaped it twice."""
    twice = "&amp;" in text
    text = _ENTITY.sub(_character, text)
    return _ENTITY.sub(_character, text) if twice else text


def _character(found: re.Match[str]) -> str:
    if found[1]:
        return _ENTITIES[found[1]]
    number = int(found[2]) if found[2] else int(found[3], 16)
    if number == 0xA0:
        return " "
    printed = _LOWEST <= number < _HIGHEST and chr(number).isprintable()
    return chr(number) if printed else found[0]
