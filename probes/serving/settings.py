"""Settings that servers print: ``key=value`` or ``'key': value`` pairs; only those of the outer
level count. Reading is linear in the length of the text."""

from __future__ import annotations

import re
from collections.abc import Iterator

_TOKEN = re.compile(
    r"'(?:[^'\\\n]|\\.){0,4000}'|\"(?:[^\"\\\n]|\\.){0,4000}\"|[()\[\]{}]|[,=:]|[^\s()\[\]{},=:'\"]+"
)
_OPEN, _CLOSE = "([{", ")]}"
MAX_TEXT = 65_536


def settings(text: str) -> dict[str, str]:
    """The pairs, values as they are written. Of two of one key the first counts."""
    found: dict[str, str] = {}
    for parts in _items(text[:MAX_TEXT]):
        for at, sign in enumerate(parts[:3]):
            if sign in ("=", ":") and at == 1:
                found.setdefault(parts[0].strip("'\""), "".join(parts[2:]))
                break
    return found


def _items(text: str) -> Iterator[list[str]]:
    """Yield the text between the commas of the outer level, in parts."""
    depth, item = 0, list[str]()
    for match in _TOKEN.finditer(text):
        part = match.group()
        if part in _OPEN:
            depth += 1
        elif part in _CLOSE:
            depth -= 1
            if depth < 0:
                break
        if part == "," and depth == 0:
            yield item
            item = []
        else:
            item.append(part)
    yield item


def plain(value: str | None) -> str:
    """A value without quotes; empty if it is missing."""
    return "" if value in (None, "None", "'auto'", "auto") else (value or "").strip("'\"")


def whole(value: str | None) -> int | None:
    """A value as a number without a fraction."""
    text = (value or "").replace(",", "").strip("'\"")
    return int(text) if text.isdecimal() and len(text) < 16 else None


def truth(value: str | None) -> bool | None:
    """A value as true or false."""
    return {"True": True, "False": False}.get(value or "")
