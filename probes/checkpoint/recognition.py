"""Recognises files that name checkpoints by their first bytes."""

from __future__ import annotations

import re
from pathlib import Path

from ...reading.text.files import first_value

START = b"tinker:/"
LISTED = (("state_path", "save_state"), ("sampler_path", "save_weights_for_sampler"))


def looks_like_checkpoint_list(head: bytes) -> bool:
    """Whether the head of a file is that of the cookbook's checkpoints.jsonl."""
    value = first_value(head)
    return isinstance(value, dict) and any(
        isinstance(value.get(key), str) and value[key].startswith("tinker:") for key, _ in LISTED
    )


def looks_like_checkpoint(path: Path, head: bytes) -> bool:
    """Whether a file names checkpoints: the cookbook's list, or a text with a whole path."""
    if b"\0" in head or START not in head:
        return False
    return looks_like_checkpoint_list(head) or bool(
        re.search(rb"tinker://[^/\s\"'{<]+/(?:sampler_|external_)?weights/", head)
    )
