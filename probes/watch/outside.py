"""Looks at a watched process from outside while nothing in it can run, with py-spy if it is there.

A thread that keeps the interpreter lock in one long operation is seen from inside only when that
has ended, often a line later. Each monitor therefore leaves the time of its last wake-up in a file;
if that is too old, py-spy reads the stacks. It only reads: the process is neither stopped nor
changed. Without py-spy, or if the system forbids it, the view from inside remains.
"""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..profile.stacks import Stack, read_stacks

EVERY_S = 0.1
LATE_S = 0.35  # before a stall is one (0.5 s): it may end soon
TIMEOUT_S = 5
MAX_LOOKS = 100
LOOKS = 3  # at one stall, until the thread that holds the lock is seen
MAX_DUMP = 200_000
BEAT = struct.Struct("d")
_HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "")


class Look(NamedTuple):
    """The stacks of a process's threads at a monotonic time; one of the threads holds the GIL."""

    pid: int
    at: float
    stacks: tuple[Stack, ...]


class Outside:
    """Looks at the processes whose monitors leave their beats in a folder; a context manager."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._tool = find_tool()
        self._done = threading.Event()
        self._looked: dict[int, tuple[float, int]] = {}
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.looks: list[Look] = []

    def __enter__(self) -> Outside:
        if self._tool:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        if self._tool:
            self._thread.join(TIMEOUT_S + 1)

    def _run(self) -> None:
        while not self._done.wait(EVERY_S) and len(self.looks) < MAX_LOOKS:
            for path in sorted(self._place.glob("*.beat"))[:64]:
                self._look(path)

    def _look(self, path: Path) -> None:
        beat = _beat(path)
        pid = int(path.stem) if path.stem.isdecimal() else 0
        now = time.monotonic()
        if not pid or not 0 < now - beat < 3600 or now - beat < LATE_S:
            return
        known, looks = self._looked.get(pid, (0.0, 0))
        looks = looks if known == beat else 0
        if looks >= LOOKS:
            return
        self._looked[pid] = (beat, looks + 1)
        stacks = _dump(self._tool, pid)
        if _beat(path) != beat:  # it is over: what was seen may be something else
            return
        if any(holds(stack) for stack in stacks):
            self._looked[pid] = (beat, LOOKS)
            self.looks.append(Look(pid, now, stacks))


def _beat(path: Path) -> float:
    try:
        raw = path.read_bytes()
        return float(BEAT.unpack(raw)[0]) if len(raw) == BEAT.size else 0.0
    except OSError:
        return 0.0


def find_tool() -> str:
    """The path of py-spy; empty if it is not installed."""
    beside = os.path.join(os.path.dirname(sys.executable), "py-spy")
    return beside if os.path.isfile(beside) else shutil.which("py-spy") or ""


def _dump(tool: str, pid: int) -> tuple[Stack, ...]:
    """The stacks of all threads; none if they cannot be read."""
    command = [tool, "dump", "--nonblocking", "--full-filenames", "--pid", str(pid)]
    try:
        answer = subprocess.run(command, capture_output=True, timeout=TIMEOUT_S, check=False)
    except (OSError, subprocess.SubprocessError):
        return ()
    return tuple(read_stacks(answer.stdout[:MAX_DUMP].decode("utf-8", "replace"), "py-spy"))


def holds(stack: Stack) -> bool:
    """Whether the thread of this stack held the GIL when py-spy took the dump."""
    return "gil" in stack.status


def with_looks(
    pid: int, stalls: Sequence[Mapping[str, Any]], looks: Sequence[Look]
) -> tuple[Mapping[str, Any], ...]:
    """The stalls of a process, with the stacks that were seen from outside while they lasted, in
    place of those that were seen when they were over."""
    mine = [look for look in looks if look.pid == pid]
    return tuple(_seen_by(stall, mine) for stall in stalls)


def _seen_by(stall: Mapping[str, Any], looks: Sequence[Look]) -> Mapping[str, Any]:
    end, late = stall.get("mono"), stall.get("late")
    if not isinstance(end, (int, float)) or not isinstance(late, (int, float)):
        return stall
    look = next((x for x in looks if end - late <= x.at <= end), None)
    if look is None:
        return stall
    kept = [stack for stack in look.stacks if holds(stack) or stack.thread in ("main", "sdk")]
    return {**stall, "threads": [_plain(stack) for stack in kept]}


def _plain(stack: Stack) -> dict[str, Any]:
    frames = [f for f in stack.frames if not f.file.startswith(_HERE)]
    return {
        "thread": stack.thread, "gil": holds(stack), "status": stack.status,
        "frames": [[f.function, f.file, f.line] for f in frames],
    }  # fmt: skip
