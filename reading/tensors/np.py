"""numpy, imported at its first use, for modules that must load even if it is missing."""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    import numpy

    found = globals()[name] = getattr(numpy, name)
    return found
