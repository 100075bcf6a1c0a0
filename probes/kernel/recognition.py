"""Recognises the output of dmesg on a Neuron instance by its first bytes."""

from __future__ import annotations

import re
from pathlib import Path

_LINE = re.compile(rb"^(?:<\d{1,3}>)?\[ {0,8}\d{1,8}\.\d{6}\] ", re.M)
_DATED = re.compile(rb"^\[[A-Z][a-z]{2} [A-Z][a-z]{2} {1,2}\d", re.M)
_NEURON = re.compile(
    rb"neuron:|Neuron Driver|NEURON_HW_ERR|neuron \d{4}:|Out of memory: Killed|efa 0"
)


def looks_like_kernel(path: Path, head: bytes) -> bool:
    """Whether a file holds messages of the kernel about Neuron or memory. Never raises."""
    start = head[:65_536]
    lines = max(1, start.count(b"\n"))
    stamped = len(_LINE.findall(start)) + len(_DATED.findall(start))
    return stamped >= max(1, lines // 2) and bool(_NEURON.search(start))
