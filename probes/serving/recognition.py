"""Recognises logs of inference servers by their first bytes."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from ..logs.files import LogFamilies

# Lines that only the servers write; a file that quotes a line is not a log of a server.
_LINES = re.compile(
    rb"^(?:\([A-Za-z_]\w{0,40} pid=\d+\) )?INFO \d\d-\d\d \d\d:\d\d:\d\d \[?[\w.]+\.py:\d+\] "
    rb"(?:vLLM API server version |Initializing an? (?:V\d )?LLM engine |non-default args: "
    rb"|GPU KV cache size: |Starting vLLM API server )"
    rb"|^\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[^\]\n]{0,40}\] "
    rb"(?:server_args=ServerArgs\(|Load weight begin\.|Load weight end\."
    rb"|KV Cache is allocated\.|max_total_num_tokens=\d)",
    re.MULTILINE,
)


def looks_like_serving(path: Path, head: bytes) -> bool:
    """Whether ``head`` has lines that vLLM or SGLang writes when it starts."""
    return b"\0" not in head and _LINES.search(head) is not None


def families() -> Callable[[Path], tuple[Path, ...]]:
    """A function that finds all files of the log that a file belongs to."""
    return LogFamilies().of
