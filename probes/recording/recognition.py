"""Recognises the record of a run."""

from __future__ import annotations

from pathlib import Path

_HEAD = b'{"format": "modelmedic/watch/'


def looks_like_recording(path: Path, head: bytes) -> bool:
    """Whether ``head`` is the beginning of a record of any version."""
    return head.startswith(_HEAD)
