"""Recognises neuron_config.json by its name and first bytes."""

from __future__ import annotations

import re
from pathlib import Path

_KEYS = re.compile(rb'"(?:neuron_config|tp_degree|max_context_length|logical_nc_config)"\s*:')


def looks_like_configuration(path: Path, head: bytes) -> bool:
    """Whether a JSON file is a configuration of NxD Inference. Never raises."""
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if path.suffix != ".json" or not start.startswith(b"{"):
        return False
    return path.name == "neuron_config.json" or b'"neuron_config"' in start[:4096] or len(
        set(_KEYS.findall(start[:4096]))
    ) >= 2  # fmt: skip
