"""Recognises transcripts of calls by their first record."""

from __future__ import annotations

import json
from pathlib import Path

from .records import is_call_record


def looks_like_transcripts(path: Path, head: bytes) -> bool:
    """Whether the first JSON object of a file, alone or in an array, records a call."""
    text = head.decode("utf-8-sig", "replace").lstrip()
    if not text.startswith(("{", "[")):
        return False
    if text.startswith("["):
        text = text[1:].lstrip()
    try:
        value, _ = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return False
    return is_call_record(value)
