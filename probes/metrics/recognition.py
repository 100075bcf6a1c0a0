"""Recognises run folders, metrics and timing spans."""

from __future__ import annotations

import os
from pathlib import Path

from .spans import looks_like_spans
from .tables import looks_like_table

METRICS, SPANS = "metrics.jsonl", "timing_spans.jsonl"


def looks_like_metrics(path: Path, head: bytes = b"") -> bool:
    """Whether ``path`` is a run folder, or ``head`` the start of metrics or of timing spans."""
    if path.is_dir():
        return any(member(path, name) for name in (METRICS, SPANS))
    return looks_like_spans(head) or looks_like_table(head)


def member(folder: Path, name: str) -> Path | None:
    """A file of the folder, packed by gzip or not."""
    found = (path for path in (folder / name, folder / f"{name}.gz") if os.path.isfile(path))
    return next(found, None)
