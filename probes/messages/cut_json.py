"""The message of a JSON object that was pasted without its end, as a notebook copies an error."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ...reading.text.plain_text import Line
from .message import NAMED, Message
from .told import with_told

_MOST = 20
_VALUE = r'"((?:[^"\\]|\\.){1,60000})"?,?\Z'
_NAME = re.compile(r'\A\s{0,40}"(?:name|ename|type)":\s{0,9}"([A-Za-z_][\w.]{0,100})",?\Z')
_KEY = re.compile(r'\s{0,40}"(?:message|evalue|error|msg|detail)":')
_TEXT = re.compile(r'\A\s{0,40}"(?:message|evalue|error|msg|detail)":\s{0,9}' + _VALUE)


def cut_off(lines: Sequence[Line]) -> Iterator[Message]:
    """Yield the error message in ``lines``, the beginning of a JSON object that was cut off."""
    text, number, name = "", 0, ""
    for at, each in enumerate(lines):
        line = each.text.rstrip()
        named = _NAME.match(line)
        name = name or (named[1] if named else "")
        found = _TEXT.match(_joined(lines, at)) if not text and _KEY.match(line) else None
        if found:
            text, number = _plain(found[1]), each.number
    if text.strip():
        class_ = name.rpartition(".")[2]
        yield from with_told(Message(text.strip(), number, "pasted", NAMED, class_))


def _joined(lines: Sequence[Line], at: int) -> str:
    """A value with its continuation lines; line ends inside a value may be pasted as such."""
    parts = [lines[at].text.rstrip()]
    for below in lines[at + 1 : at + _MOST]:
        if parts[-1].endswith(('"', '",')) or below.text.lstrip().startswith('"stack":'):
            break
        parts.append(below.text.strip())
    return "\\n".join(parts)


def _plain(raw: str) -> str:
    import json  # only for texts copied out of a notebook

    try:
        return str(json.loads(f'"{raw}"'))
    except ValueError:
        return raw.replace("\\n", "\n").replace('\\"', '"')
