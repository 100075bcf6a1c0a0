"""How the target was run, where its ``neuron_config.json`` lies beside the captures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ...facts.regular_files import read_regular
from ..outcome import Collector

NAME = "neuron_config.json"
_MAX_BYTES = 1 << 20


def add_settings(collector: Collector, folder: Path, target: Path | None) -> None:
    """A ``port_run`` fact with what changes the reading of R: TP degree and number format. A file
    that cannot be read says nothing. Never raises."""
    places = [folder / NAME, *([target / NAME] if target is not None else [])]
    for place in places:
        found = _read(place)
        if not found:
            continue
        degree, dtype = found.get("tp_degree"), found.get("torch_dtype")
        known = {
            "tp_degree": degree if type(degree) is int and 1 <= degree <= 1 << 16 else None,
            "dtype": dtype.removeprefix("torch.")[:32] if isinstance(dtype, str) else None,
        }
        if any(value is not None for value in known.values()):
            collector.add("port_run", str(place), **known)
        return


def _read(place: Path) -> dict[str, Any]:
    try:
        raw = read_regular(place, _MAX_BYTES)
        found = json.loads(raw) if len(raw) <= _MAX_BYTES else None
    except (OSError, ValueError, RecursionError):
        return {}
    inner = found.get("neuron_config", found) if isinstance(found, dict) else None
    return inner if isinstance(inner, dict) else {}
