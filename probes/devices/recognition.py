"""Recognises the output of neuron-ls by its first bytes."""

from __future__ import annotations

from pathlib import Path


def looks_like_devices(path: Path, head: bytes) -> bool:
    """Whether a file holds the table or the JSON of neuron-ls. Never raises."""
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()[:8192]
    if start.startswith((b"[", b"{")):
        return b'"nc_count"' in start and (b'"neuron_device"' in start or b'"bdf"' in start)
    return b"| NEURON | NEURON |" in start and b"| DEVICE | CORES" in start
