"""Recognises the stream of neuron-monitor by its first bytes."""

from __future__ import annotations

from pathlib import Path


def looks_like_monitor(path: Path, head: bytes) -> bool:
    """Whether a file holds reports of neuron-monitor. Never raises."""
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()[:65_536]
    return start.startswith(b"{") and b'"neuron_runtime_data"' in start
