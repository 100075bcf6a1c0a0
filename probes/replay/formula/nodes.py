"""The values inside a formula, which a solver may look at or change on their way."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def at(spec: Mapping[str, Any], node: str, value: Any) -> Any:
    """The value of a node, or the result of the ``edit`` of the settings."""
    edit = spec.get("edit")
    return value if edit is None else edit(node, value)
