"""Starts the recorder in this process."""

from __future__ import annotations

import atexit
import os

from . import call_shapes, loops, running
from .monitor import Monitor, monitor
from .recorder import Recorder


def start(path: str | os.PathLike[str], *, token_ids: bool) -> Monitor:
    """Record this process; see :func:`modelmedic.probes.record`."""
    recorder = Recorder(call_shapes, token_ids)
    recorder.tick()  # modules that are already imported are recorded from the first call on
    recording = monitor(path, recorder=recorder, loops=loops, running=running)
    atexit.register(recording.stop)
    return recording
