"""Recognises the model trees of Stage 0 by their first bytes."""

from __future__ import annotations

import re
from pathlib import Path

_NODE = re.compile(rb'"(?:name|names)"\s*:')
_TYPE = re.compile(rb'"type"\s*:\s*"')
_CHILDREN = re.compile(rb'"children"\s*:\s*\[')


def looks_like_structure(path: Path, head: bytes) -> bool:
    """Whether a JSON file is a tree of nodes with name (or names), type and children."""
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()[:400]
    if path.suffix != ".json" or not start.startswith(b"{"):
        return False
    return all(each.search(start) for each in (_NODE, _TYPE, _CHILDREN))
