"""Masks what messages quote from an input, before it is cut to a short excerpt.

A later redaction pass replaces secrets that it recognises; half a key, or a value without the name
that made it a secret, cannot be recognised any more. Marks here are all alike and need no salt.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from .credentials import secret_value
from .look import Seen
from .places import HOME
from .search import secret_spans, suspicious

_MAX_NAME = 120
_SURROGATE = re.compile("[\ud800-\udfff]")


def masked(text: str) -> str:
    """``text`` with ``<secret:KIND>`` for every credential, address and host that shows in it."""
    seen = Seen()
    if not suspicious(text, seen):
        return text
    plain = _encodable(text)
    parts, at = [], 0
    for span in sorted(secret_spans(plain, seen), key=lambda s: (s.start, -s.end)):
        if span.start >= at:
            mark = "~" if span.kind == HOME else f"<secret:{span.kind}>"
            parts += [text[at : span.start], mark]
        at = max(at, span.end)
    return "".join([*parts, text[at:]])


def cut(text: str, limit: int) -> str:
    """``text``, masked and cut to ``limit`` characters if it has more."""
    if len(text) <= limit:
        return text
    shown = masked(text)
    return shown if len(shown) <= limit else shown[: limit - 3] + "..."


def masked_value(name: str, value: Any, item: Mapping[Any, Any]) -> Any:
    """``value``, given to the attribute ``name`` of ``item``, or a mark in its place if its name,
    or what another attribute calls it (``name: api_key``), says that it is a secret."""
    if isinstance(value, list | tuple | Mapping):
        return f"<{type(value).__name__}>"
    names = (name, *(v for n, v in item.items() if n != name and _is_name(v)))
    kinds = (secret_value(known, _encodable(str(value))) for known in names)
    kind = next(filter(None, kinds), None)
    return f"<secret:{kind}>" if kind else value


def _encodable(text: str) -> str:
    """RE2 takes UTF-8; one character for another keeps the places."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= _MAX_NAME and value.isprintable()
