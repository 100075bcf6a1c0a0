"""Finds the event loops that run in a process, for :mod:`.loops` to time.

A loop is known by the frame of asyncio's that runs it, and by nothing that would change it. A loop
that is written in C leaves no such frame; it is found by the task that it is at.

It is loaded by *other* interpreters, hence: standard library only, Python 3.8 and later, no
relative imports.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from types import FrameType
from typing import Any

EVERY_S = 0.1
COST = 0.003  # the share of one processor that looking for loops may take
MAX_DEPTH = 1000
_ONCE = "_run_once"
_RUNS = frozenset({_ONCE, "run_forever", "run_until_complete"})
_RUNNER = os.path.join("asyncio", "runners.py")
_LOOPS = (os.path.join("asyncio", "base_events.py"), "nest_asyncio.py")
# Threads whose loops are not the job's own: the SDK's thread, and the kernel of a notebook.
_SDK_THREAD = "_background_thread_func"
_KERNEL = os.path.join(os.sep, "ipykernel", "")


class Finder:
    """Looks every now and then; the less often, the more it costs."""

    def __init__(self) -> None:
        self._next = 0.0

    def find(self, now: float, known: dict[int, Any]) -> dict[int, Any]:
        """The running loops by their threads, without threads whose loop is ``known``."""
        if now < self._next or "asyncio" not in sys.modules:
            return {}
        before = time.thread_time() if hasattr(time, "thread_time") else 0.0
        steps = _steps(list(known.values()))
        own, found = threading.get_ident(), {}
        for ident, frame in sys._current_frames().items():
            if ident != own and ident not in known:
                loop = _loop_of(frame, steps)
                if loop is not None:
                    found[ident] = loop
        spent = time.thread_time() - before if hasattr(time, "thread_time") else 0.0
        self._next = now + max(EVERY_S, spent / COST)
        return found


def _steps(known: list[Any]) -> dict[int, Any]:
    """The loops that are at a task right now, by the frame of its coroutine."""
    found = {}
    for loop, task in list(_current_tasks().items()):
        with suppress(Exception):
            if all(each is not loop for each in known):
                coroutine = task.get_coro()
                frame = getattr(coroutine, "cr_frame", None)
                found[id(frame if frame is not None else coroutine.gi_frame)] = loop
    return found


def _current_tasks() -> dict[Any, Any]:
    current = getattr(sys.modules.get("asyncio.tasks"), "_current_tasks", None)
    return current if isinstance(current, dict) else {}


def _loop_of(frame: FrameType | None, steps: dict[int, Any]) -> Any:
    """The outermost loop that the thread of ``frame`` runs."""
    seen: list[FrameType] = []
    by_task = None
    for each in back(frame):
        if each.f_code.co_name == _SDK_THREAD or _KERNEL in each.f_code.co_filename:
            return None
        if id(each) in steps:
            by_task = steps[id(each)]
        if _runs_loop(each) or _is_runner(each):
            seen.append(each)
    for each in reversed(seen):
        loop = None if each.f_code.co_name == _ONCE else _local_loop(each)
        if loop is not None and loop.is_running():
            return loop
    return by_task


def _local_loop(frame: FrameType) -> Any:
    """The loop in the frame of a function that runs one."""
    # Of these functions only: a look at locals keeps them alive as long as their frame.
    local = frame.f_locals
    of_runner = getattr(local.get("self"), "_loop", None)
    loop = of_runner if _is_runner(frame) else local.get("self")
    loop = local.get("loop") if loop is None else loop
    return loop if hasattr(loop, "call_soon_threadsafe") else None


def within(frame: FrameType | None) -> list[FrameType]:
    """The frames of a thread that its loop runs, the innermost first. Those that led to the loop
    are left out, and so are those of another loop that runs inside of it."""
    frames = list(back(frame))
    turns = [n for n, each in enumerate(frames) if _is_turn(each)]
    if not turns:
        runners = [n for n, each in enumerate(frames) if _is_runner(each)]
        return frames[: runners[-1]] if runners else frames
    last, first = turns[-1], 0
    if len(turns) > 1:
        own = _local_loop(frames[last + 1])
        other = [n for n in turns[:-1] if _local_loop(frames[n + 1]) is not own]
        first = other[-1] + 1 if other else 0
        while first and (_runs_loop(frames[first]) or _is_runner(frames[first])):
            first += 1
    return frames[first : last + 1]


def _runs_loop(frame: FrameType) -> bool:
    code = frame.f_code
    return code.co_name in _RUNS and code.co_filename.endswith(_LOOPS)


def _is_turn(frame: FrameType) -> bool:
    return frame.f_code.co_name == _ONCE and _runs_loop(frame)


def _is_runner(frame: FrameType) -> bool:
    code = frame.f_code
    return code.co_name == "run" and code.co_filename.endswith(_RUNNER)


def back(frame: FrameType | None) -> Iterator[FrameType]:
    """A frame and those that led to it."""
    depth = 0
    while frame is not None and depth < MAX_DEPTH:
        yield frame
        frame, depth = frame.f_back, depth + 1


def turn_of(loop: Any) -> int:
    """A number that stays the same while a loop runs one callback, as far as can be determined."""
    ready = getattr(loop, "_ready", None)
    if ready is None:
        return id(_current_tasks().get(loop))
    # The next callback: new callbacks come after the one of ours that waits there.
    try:
        return id(ready[0])
    except (IndexError, TypeError, KeyError):
        return 0
