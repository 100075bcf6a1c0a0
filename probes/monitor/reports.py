"""The reports in a stream of neuron-monitor: one a line, or one alone over several lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...reading.text.values import parse_json

MAX_REPORTS = 100_000


def reports_in(text: str) -> Iterator[dict[str, Any]]:
    """Yield the reports; other lines are skipped."""
    whole = _report(text) if text.lstrip().startswith("{\n") else None
    if whole is not None:
        yield whole
        return
    for line in text.splitlines()[:MAX_REPORTS]:
        found = _report(line)
        if found is not None:
            yield found


def _report(text: str) -> dict[str, Any] | None:
    value = parse_json(text)
    return value if isinstance(value, dict) and "neuron_runtime_data" in value else None
