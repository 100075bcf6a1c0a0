"""What the CLI prints with ``-f json`` for ``checkpoint list`` and ``info``, ``run list`` and
``info``: checkpoints with their expiry."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ...facts.problems import Location
from ...reading.text.files import read_text
from ...reading.text.values import parse_json
from ..outcome import Collector

MAX_BYTES = 20_000_000
MAX_LISTED = 200
MARK = b'"tinker_path"'
_LISTS = ("checkpoints", "runs")
_LAST = ("last_checkpoint", "last_sampler_checkpoint")


def looks_like_listing(head: bytes) -> bool:
    """Whether ``head`` is the beginning of such an output."""
    return head.lstrip()[:1] == b"{" and MARK in head


def add_listing(collector: Collector, path: Path) -> int:
    """Add the checkpoints; returns how many there are. One is ``expired`` if it was when the output
    was written. Raises MM440 where the file cannot be read."""
    text, cut = read_text(path, MAX_BYTES)
    data = None if cut else parse_json(text)
    if not isinstance(data, dict):
        what = "the file is too long" if cut else "this is no JSON object"
        collector.problem("MM441", f"{what}; its checkpoints are left out", Location(str(path)))
        return 0
    written = os.stat(path).st_mtime
    entries = list(_entries(data))
    for entry in entries[:MAX_LISTED]:
        _add(collector, path, text, entry, written)
    if len(entries) > MAX_LISTED:
        message = f"{len(entries):,} checkpoints; {MAX_LISTED} are kept"
        collector.problem("MM476", message, Location(str(path)))
    return len(entries)


def _entries(data: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The checkpoints of an output, those of its runs included."""
    if isinstance(data.get("tinker_path"), str):
        yield data
    inner = [data.get(key) for key in _LAST]
    for key in _LISTS:
        listed = data.get(key)
        inner += listed if isinstance(listed, list) else []
    for entry in inner:
        if isinstance(entry, dict):
            yield from _entries(entry)


def _add(
    collector: Collector, path: Path, text: str, entry: dict[str, Any], written: float
) -> None:
    from .probe import MAX_PATH, type_of

    name = entry["tinker_path"][:MAX_PATH]
    ends = _time(entry.get("expires_at"))
    line = text.count("\n", 0, max(text.find(json.dumps(name)), 0)) + 1
    collector.add("checkpoint", f"{path}:{line}", path=name, type=type_of(name),
                  expired=ends < written if ends is not None else None)  # fmt: skip


def _time(value: Any) -> float | None:
    """Seconds since 1970; None for what is no time."""
    if not isinstance(value, str) or not 10 <= len(value) <= 40:
        return None
    try:
        found = datetime.fromisoformat(value.replace("Z", "+00:00"))
    except ValueError:
        return None
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
