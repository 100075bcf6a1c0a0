"""Writes cases as a test file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ...facts import Location, ModelMedicError, Problem

_HEAD = """\
schema: modelmedic/tests/1
note: Each case was found by trying; it expects what the entry did then.
cases:
"""
_WIDTH = 112


def write_cases(path: Path, cases: Iterable[Mapping[str, Any]]) -> None:
    """Write a new test file; names that an entry has twice get a number. Raises
    :class:`ModelMedicError` (MM320) if that fails."""
    seen: Counter[tuple[Any, str]] = Counter()
    text = _HEAD
    for case in cases:
        key = case["entry"], case["name"]
        seen[key] += 1
        name = case["name"] if seen[key] == 1 else f"{case['name']} ({seen[key]})"
        text += f"  - {_flow({**case, 'name': name})}\n"
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        reason = error.strerror or str(error)
        hint = "name a file in a folder that you may write to"
        problem = Problem("MM320", f"cannot write: {reason}", Location(str(path)), hint)
        raise ModelMedicError(problem) from None


def _flow(case: Mapping[str, Any]) -> str:
    """A case in YAML's flow style, indented as a point of a list."""
    import yaml

    text = yaml.safe_dump(
        dict(case), default_flow_style=True, sort_keys=False, allow_unicode=True, width=_WIDTH
    )
    return text.strip().replace("\n", "\n   ")
