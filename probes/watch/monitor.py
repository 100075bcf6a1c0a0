"""Watches a running job from inside: how late does a sleeping thread wake up, and what ran then?

One daemon thread sleeps in short intervals. If it wakes late, something kept the interpreter
lock (or the machine was busy); it then writes down the stacks of the threads, whose innermost lines
are those that kept it. It also times callbacks on event loops, with :mod:`.loops`.

`diagnose watch` puts this file into the job by itself. If the command cannot be changed:

    from modelmedic.probes.watch.monitor import monitor

    with monitor("watch.jsonl"):
        train()

It is loaded by *other* interpreters, hence: standard library only, Python 3.8 and later, no
relative imports. It must never disturb the job: its errors end the watching, silently.
"""

from __future__ import annotations

import errno
import json
import os
import stat
import struct
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from types import FrameType
from typing import Any

FORMAT = "modelmedic/watch/1"
INTERVAL_S = 0.05
STALL_S = 0.5
STATE_EVERY_S = 1.0
MAX_STALLS = 200
MAX_BYTES = 12_000_000
MAX_FRAMES = 12
INNER_FRAMES = 8
MAX_DEPTH = 1000
MAX_THREADS = 20
# The line with the running figures is rewritten in place, so that the file stays small.
_STATE_BYTES = 16384
# The job computed for this share of a time in which this thread could not run.
_BUSY = 0.2
_SDK_THREAD = "_background_thread_func"
_HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "")
_IMPORT = "<frozen importlib._bootstrap>"
_LIBRARIES = ("site-packages", "dist-packages", "/lib/python", "<frozen ")


class Monitor:
    """The watching thread; :func:`monitor` starts one. ``stop()`` or leaving it as a context
    manager ends it and writes the last figures."""

    def __init__(
        self, path: str, interval_s: float, stall_s: float, watcher: str, recorder: Any = None,
        loops: Any = None, running: Any = None,
    ) -> None:  # fmt: skip
        self._watcher = watcher
        self._recorder = recorder
        self._loops = None
        if loops is not None and running is not None:
            self._loops = loops.Loops(self._frames, _stack, stall_s, running)
        self._interval_s, self._stall_s = interval_s, stall_s
        self._pid = os.getpid()
        self._file: Any = None
        self._end = 0
        self._done = threading.Event()
        self._started = time.perf_counter()
        self._count = self._over_1s = self._stalls = 0
        self._sum = self._max = self._max_short = 0.0
        self._since: dict[str, tuple[str, float]] = {}
        self._open(path)
        self._beats: int | None = None
        if watcher and hasattr(os, "pwrite"):
            self._beats = _own_file(os.path.splitext(path)[0] + ".beat")
        self._thread = threading.Thread(target=self._run, name="modelmedic-monitor", daemon=True)
        self._thread.start()

    def __enter__(self) -> Monitor:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """End the watching; does nothing in a forked child and at a second call."""
        if os.getpid() != self._pid or self._done.is_set():
            return
        self._done.set()
        self._thread.join(2)
        with suppress(Exception):
            if self._loops is not None:
                self._note_stalls(self._loops.last(time.perf_counter()))
            if self._recorder is not None:
                self._note(self._recorder.drain(last=True))
            self._state(ended=True)
            self._file.close()
            if self._is_alone():
                self._clear()

    def _open(self, path: str) -> None:
        descriptor = _own_file(path)
        self._file = os.fdopen(descriptor, "r+b", buffering=0)
        first = {
            "format": FORMAT, "pid": self._pid, "python": ".".join(map(str, sys.version_info[:3])),
            "interval_s": self._interval_s, "stall_s": self._stall_s,
        }  # fmt: skip
        line = json.dumps(first).encode() + b"\n"
        self._file.write(line)
        self._state_at = len(line)
        self._end = self._state_at + _STATE_BYTES
        self._state()

    def _run(self) -> None:
        try:
            self._watch()
        except BaseException:  # noqa: BLE001 - whatever it is, the job must not notice
            self._done.set()

    def _watch(self) -> None:
        clock = time.perf_counter
        # The time after a wake-up counts too: a write gives the lock away.
        woke, cpu = clock(), time.process_time()
        next_state = woke + STATE_EVERY_S
        while True:
            # Sleeping on the event, not in time.sleep(), so that stop() need not wait.
            stopped = self._done.wait(self._interval_s)
            if os.getpid() != self._pid:
                return
            now, spent = clock(), time.process_time()
            self._beat()
            late = max(now - woke - self._interval_s, 0.0)
            self._count += 1
            self._sum += late
            self._max = max(self._max, late)
            self._over_1s += late > 1.0
            if late < self._stall_s:
                self._max_short = max(self._max_short, late)
            else:
                self._stalls += 1
                self._stall(late, spent - cpu)
            if stopped:
                return
            self._time_loops(now, late, busy=spent - cpu >= late * _BUSY)
            woke, cpu = now, spent
            if now >= next_state:
                next_state = now + STATE_EVERY_S
                if self._recorder is not None:
                    self._note(self._recorder.drain())
                self._state()
                if self._is_alone():
                    self._done.set()
                    self._file.close()
                    self._clear()
                    return

    def _beat(self) -> None:
        """Write the time, for observers outside of the process that check whether this thread is
        kept from waking up."""
        if self._beats is not None:
            os.pwrite(self._beats, struct.pack("d", time.monotonic()), 0)

    def _is_alone(self) -> bool:
        """Whether the figures are no longer wanted: the lock of `diagnose watch` is free."""
        if not self._watcher:
            return False
        try:
            import fcntl

            descriptor = os.open(self._watcher, os.O_RDWR)
        except FileNotFoundError:
            return True
        except (ImportError, OSError):
            return False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return False
        finally:
            os.close(descriptor)
        return True

    def _clear(self) -> None:
        """Remove the files that `diagnose watch` would have removed."""
        folder = os.path.dirname(self._watcher)
        with suppress(OSError):
            for name in os.listdir(folder):
                if name.endswith((".jsonl", ".beat")) or name == os.path.basename(self._watcher):
                    os.unlink(os.path.join(folder, name))
            os.rmdir(folder)

    def _stall(self, late: float, cpu: float) -> None:
        if self._stalls > MAX_STALLS:
            return
        threads = [{"thread": name, "frames": frames} for _, name, frames in self._stacks()]
        event = {
            "event": "stall", "at": round(time.perf_counter() - self._started, 3),
            "late": round(late, 4), "cpu": round(cpu, 4), "threads": threads,
            "imports": _imports(),
            "mono": round(time.monotonic(), 4),
        }  # fmt: skip
        self._append(event)

    def _note(self, events: list[dict[str, Any]]) -> None:
        """Write the records of the recorder."""
        if events and self._end < MAX_BYTES:
            lines = "".join(json.dumps(event) + "\n" for event in events).encode()
            self._file.seek(self._end)
            self._file.write(lines)
            self._end += len(lines)

    def _append(self, event: dict[str, Any]) -> None:
        line = json.dumps(event).encode() + b"\n"
        self._file.seek(self._end)
        self._file.write(line)
        self._end += len(line)

    def _state(self, ended: bool = False) -> None:
        """Rewrite the line with the figures so far."""
        now = time.perf_counter()
        threads = []
        for name, stack in self._first_stacks():
            key = json.dumps(stack[:3])
            if self._since.get(name, ("", 0.0))[0] != key:
                self._since[name] = (key, now)
            threads.append(
                {"thread": name, "for": round(now - self._since[name][1], 1), "frames": stack}
            )
        state = {
            "seconds": round(now - self._started, 3), "count": self._count,
            "mean": self._sum / self._count if self._count else 0.0, "max": self._max,
            "max_short": self._max_short,
            "over_1s": self._over_1s, "stalls": self._stalls,
            "memory_mb": _memory_mb(), "ended": ended, "threads": threads,
        }  # fmt: skip
        if self._loops is not None:
            state.update(self._loops.summary(now))
        if self._recorder is not None:
            state.update(self._recorder.summary())
        line = json.dumps(state).encode()
        while len(line) > _STATE_BYTES - 1 and state["threads"]:
            state["threads"] = state["threads"][:-1]  # type: ignore[index]
            line = json.dumps(state).encode()
        self._file.seek(self._state_at)
        self._file.write(line.ljust(_STATE_BYTES - 1) + b"\n")

    def _frames(self) -> list[tuple[int, str, FrameType]]:
        """The threads with their innermost frames: main and the SDK's first, not this one."""
        names = {thread.ident: thread.name for thread in threading.enumerate()}
        main = threading.main_thread().ident
        own = threading.get_ident()
        found = []
        for ident, frame in sys._current_frames().items():
            if ident == own:
                continue
            name = "main" if ident == main else names.get(ident, "thread")
            if _SDK_THREAD in name or (name.startswith("Thread") and _is_sdk(frame)):
                name = "sdk"
            found.append((ident, name[:100], frame))
        found.sort(key=lambda each: (each[1] != "main", each[1] != "sdk", each[1]))
        return found[:MAX_THREADS]

    def _first_stacks(self) -> list[tuple[str, list[list[Any]]]]:
        """The stacks of the main thread and the SDK's. Frames are not kept, because they would keep
        their variables."""
        frames = self._frames()
        return [(n, _stack(_back(each))) for _, n, each in frames if n in ("main", "sdk")]

    def _stacks(self) -> list[tuple[int, str, list[list[Any]]]]:
        return [(ident, name, _stack(_back(frame))) for ident, name, frame in self._frames()]

    def _time_loops(self, now: float, late: float, busy: bool) -> None:
        """Time callbacks on the event loops that run, and find what blocks them."""
        with suppress(Exception):
            if self._recorder is not None:
                self._recorder.tick()
            if self._loops is not None:
                known = self._recorder.loops if self._recorder is not None else {}
                self._note_stalls(self._loops.tick(now, late, known, busy))

    def _note_stalls(self, stalls: list[dict[str, Any]]) -> None:
        at = round(time.perf_counter() - self._started, 3)
        for stall in stalls:
            self._stalls += 1
            if self._stalls <= MAX_STALLS:
                self._append({**stall, "at": at})


def _memory_mb() -> float | None:
    """The largest main memory of this process so far."""
    with suppress(OSError, ValueError, IndexError), open("/proc/self/status", "rb") as status:
        # The figure of getrusage() begins with that of the process that started this one.
        return round(int(status.read().split(b"VmHWM:")[1].split()[0]) / 1024.0, 1)
    try:
        import resource
    except ImportError:
        return None
    unit = 1024.0 if sys.platform != "darwin" else 1024.0 * 1024.0
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit, 1)


def _own_file(path: str) -> int:
    """Open an empty file that belongs to this user alone. An existing regular file of this user is
    replaced; a link, or another user's file, is not. Raises OSError."""
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    descriptor = os.open(path, flags, 0o600)
    try:
        about = os.fstat(descriptor)
        own = not hasattr(os, "getuid") or about.st_uid == os.getuid()
        if not stat.S_ISREG(about.st_mode) or about.st_nlink != 1 or not own:
            raise OSError(errno.EPERM, "not a file of this user alone", path)
        if hasattr(os, "fchmod"):
            os.fchmod(descriptor, 0o600)
        os.ftruncate(descriptor, 0)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _back(frame: FrameType | None) -> Iterator[FrameType]:
    depth = 0
    while frame is not None and depth < MAX_DEPTH:
        yield frame
        frame, depth = frame.f_back, depth + 1


def _stack(frames: Iterable[FrameType]) -> list[list[Any]]:
    """[function, file, line] of the innermost frames; below them only those outside of libraries,
    so that deep ones do not hide who called them or that a library is imported. Frames of this
    recorder are left out."""
    found: list[list[Any]] = []
    imports = False
    for frame in frames:
        code = frame.f_code
        file = code.co_filename
        first, imports = file == _IMPORT and not imports, imports or file == _IMPORT
        told = len(found) < INNER_FRAMES or first or not _is_library(file)
        if told and not file.startswith(_HERE):
            found.append([code.co_name[:100], file[-200:], frame.f_lineno or 0])
        if len(found) >= MAX_FRAMES:
            break
    return found


def _imports() -> bool:
    """Whether the main thread imports a library."""
    frame = sys._current_frames().get(threading.main_thread().ident or 0)
    while frame is not None and _is_library(frame.f_code.co_filename):
        if frame.f_code.co_filename == _IMPORT:
            return True
        frame = frame.f_back
    return False


def _is_library(file: str) -> bool:
    return any(part in file for part in _LIBRARIES)


def _is_sdk(frame: FrameType | None) -> bool:
    depth = 0
    while frame is not None and depth < 60:
        if frame.f_code.co_name == _SDK_THREAD:
            return True
        frame, depth = frame.f_back, depth + 1
    return False


def monitor(
    path: str | os.PathLike[str], interval_s: float = INTERVAL_S, stall_s: float = STALL_S,
    watcher: str | None = None, recorder: Any = None, loops: Any = None,
    running: Any = None,
) -> Monitor:  # fmt: skip
    """Start watching this process; the figures go to the file ``path``, which is replaced.

    Every ``interval_s`` seconds a thread wakes up; if it is ``stall_s`` late, stacks are written,
    at most 200 times. Raises OSError if the file cannot be written. Read the file with
    ``gather_watch``. ``watcher`` is a file that the watching process holds a lock on: when it is
    free or gone, the watching ends, and the records next to that file are removed. ``recorder`` is
    one of :mod:`.recorder`, which notes the calls of the SDK, ``loops`` the module :mod:`.loops`,
    which times event loops, ``running`` :mod:`.running`, which finds them.
    """
    if loops is None:
        with suppress(ImportError):  # loaded without its package
            from . import loops, running
    return Monitor(os.fspath(path), interval_s, stall_s, watcher or "", recorder, loops, running)
