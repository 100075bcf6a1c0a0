"""Recognises profiles, traces, stack dumps and task dumps by their first bytes."""

from __future__ import annotations

from pathlib import Path

from .pyinstrument import looks_like_pyinstrument
from .stacks import looks_like_stacks
from .tasks import looks_like_tasks
from .trace import looks_like_trace


def looks_like_profile(path: Path, head: bytes) -> bool:
    """Whether ``head`` is the start of a profile, a trace, a stack dump or a task dump."""
    forms = (looks_like_pyinstrument, looks_like_trace, looks_like_stacks, looks_like_tasks)
    return any(form(head) for form in forms)
