"""Recognises notebooks whose outputs count by their first bytes."""

from __future__ import annotations

import re
from pathlib import Path

_OURS = re.compile(rb"tinker|neuron", re.IGNORECASE)


def is_notebook(head: bytes) -> bool:
    """Whether ``head`` is the beginning of a notebook."""
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    return start == b"{" and b'"cell_type"' in head and b'"cells"' in head


def looks_like_notebook(path: Path, head: bytes) -> bool:
    """Whether a file is a notebook that mentions Tinker or Neuron; other notebooks are read only if
    the user names them."""
    return is_notebook(head) and _OURS.search(head) is not None


def named_notebook(path: Path, head: bytes) -> bool:
    """Whether a file that the user named is a notebook."""
    return is_notebook(head)
