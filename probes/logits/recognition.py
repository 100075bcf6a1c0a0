"""Recognises folders that a logit validation wrote by the names of their files."""

from __future__ import annotations

import re
from pathlib import Path

REFERENCE, TARGET, BASELINE = "reference_logits.pt", "target_logits.pt", "baseline_logits.pt"
_PLOT = re.compile(r"logit_analysis_(?:b\d{1,6}\.html|summary\.json)")
_MAX_ENTRIES = 4_096


def looks_like_logits(path: Path, head: bytes = b"") -> bool:
    """Whether ``path`` is a folder with saved logits, or with the plots that are saved next to
    them. ``head`` is not used (folders have none). Never raises."""
    if head:
        return False
    try:
        names = [entry.name for entry, _ in zip(path.iterdir(), range(_MAX_ENTRIES), strict=False)]
    except (OSError, ValueError):
        return False
    return REFERENCE in names or TARGET in names or any(map(_PLOT.fullmatch, names))
