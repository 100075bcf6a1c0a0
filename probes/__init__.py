"""Probes read artefacts and state their content as facts.

Each probe is one folder, which holds all of its files (see :mod:`.registry`). A probe imports
:mod:`modelmedic.facts` only, never prints and never judges. Importing this package loads no probe.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ..facts.progress import Progress
from .outcome import Outcome
from .registry import ProbeFunction, list_probes, load_probe, told

if TYPE_CHECKING:
    from .watch.monitor import Monitor

__all__ = ["Outcome", "ProbeFunction", "Progress", "list_probes", "load_probe", "record", "told"]


def record(path: str | os.PathLike[str], *, token_ids: bool = False) -> Monitor:
    """Record this process in the file ``path``: its calls of the SDK, by times and shapes, and what
    keeps its threads and event loops from running. ``diagnose inspect`` reads the file.

    The file is replaced; only this user can read it. ``stop()`` of the result, leaving it as a
    context manager, or the end of the process ends the recording. ``token_ids`` notes the first ids
    of some prompts, too. Raises OSError if the file cannot be written.
    """
    from .watch.recording import start

    return start(path, token_ids=token_ids)
