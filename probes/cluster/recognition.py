"""Recognises the text of kubectl describe for a pod or a node by its first bytes."""

from __future__ import annotations

import re
from pathlib import Path

_NAME = re.compile(rb"^Name: {2,60}\S", re.M)
_BODY = re.compile(rb"^(?:Namespace|Roles|Labels|Annotations): {2,60}", re.M)


def looks_like_cluster(path: Path, head: bytes) -> bool:
    """Whether a file is the output of ``kubectl describe``. Never raises."""
    start = head[:8192]
    return bool(_NAME.search(start[:2048])) and len(_BODY.findall(start)) >= 2
