"""The meaning of the problem codes of the knowledge, from :file:`problem_codes.yaml`."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from ....facts.strict_yaml import load


class Meaning(NamedTuple):
    """A problem code: what it says, why that matters, what to do."""

    code: str
    title: str
    why: str
    fix: str


def problem_codes() -> dict[str, Meaning]:
    """All codes, in order."""
    path = Path(__file__).with_suffix(".yaml")
    data = load(path.read_text(encoding="utf-8"), path.name).data
    return {code: Meaning(code, **entry) for code, entry in sorted(data.items())}
