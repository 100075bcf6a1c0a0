"""Stack dumps -> what each thread was doing.

Reads py-spy dumps (one or several in a file), the stack blocks of the task-dump watchdog, stacks in
traceback form, and faulthandler's output. py-spy tells which thread held the interpreter lock;
the others do not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from ..outcome import Collector
from .frames import WORK, is_import, is_users, kind_of

MAX_THREADS = 40
MAX_FRAMES = 200
_LOOKED_AT = 25
_PROCESS = re.compile(r"Process (\d+): ")
_PYSPY = re.compile(r"Thread (?P<id>\w+) \((?P<status>[a-z+]+)\)(?:: \"(?P<name>.*)\")?\Z")
_FAULT = re.compile(r"(?:Current thread|Thread) (?P<id>0x[0-9a-f]+)(?: \[(?P<name>.*)\])? "
                    r"\(most recent call first\):\Z")  # fmt: skip
_WATCHED = re.compile(r"--- \[(?P<name>\w+)\] ident=(?P<id>\w+) ---\Z")
_BLOCK = re.compile(r"# .*\bstacks: ")
_NATIVE_FRAME = re.compile(r" {2,}(?P<function>\S.*?) \((?P<file>[^()]*?)(?::(?P<line>\d+))?\)\Z")
_TRACED_FRAME = re.compile(
    r" +File \"(?P<file>[^\"]*)\", line (?P<line>\d+),? in (?P<function>.+)\Z"
)
_HEAD = re.compile(
    rb"(?m)^(Thread \w+ \([a-z+]+\)|--- \[\w+\] ident=\w+ ---"
    rb"|(Current thread|Thread) 0x[0-9a-f]+ .*\(most recent call first\):)"
)
_SDK_THREAD = "_background_thread_func"
_RESULT = re.compile(r"(.*/)?(api_future|\w*client_future)\.py\Z")
# Frames below which compiled code runs that keeps the interpreter lock (measured: regular
# expressions, json, pickle, conversions between lists and arrays, pydantic), and native frames.
_C_CODE = re.compile(r"(.*/)?(re|json|pydantic|numpy|torch)/.*|(.*/)?(re|pickle|sre_\w+)\.py|"
                     r".*\.(so|c|cc|cpp|pyx|dylib)(\b.*)?")  # fmt: skip
_GPU = re.compile(r"(.*/)?torch/cuda/.*|.*libcuda.*")
_IDLE = re.compile(r"(.*/)?(concurrent/futures/thread|queue)\.py\Z")


class StackFrame(NamedTuple):
    """A frame of a stack; ``line`` is 0 if unknown."""

    function: str
    file: str
    line: int

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        return f"{self.function} ({place})"


class Stack(NamedTuple):
    """A thread in one dump; frames begin with the innermost. ``status`` is py-spy's word."""

    thread: str
    key: tuple[str, str]
    status: str
    place: str
    frames: tuple[StackFrame, ...]


class _Open:
    """A thread whose frames are being read."""

    def __init__(self, key: tuple[str, str], name: str, status: str, number: int) -> None:
        self.key, self.name, self.status, self.number = key, name, status, number
        self.frames: list[StackFrame] = []
        self.oldest_first = False


def looks_like_stacks(head: bytes) -> bool:
    """Whether a file's head is that of a stack dump."""
    return bool(_HEAD.search(head))


def read_stacks(text: str, name: str) -> list[Stack]:
    """All stacks of a text, in order; ``name`` is the file for their places."""
    stacks: list[_Open] = []
    process, open_one = "", None
    for number, line in enumerate(text.splitlines(), 1):
        if found := _PROCESS.match(line):
            process, open_one = found[1], None
        elif started := _start(line, process, number):
            stacks.append(started)
            open_one = started
        elif frame := _TRACED_FRAME.match(line) or _NATIVE_FRAME.match(line):
            if open_one is None:
                open_one = _Open((process, "?"), "", "", number)
                stacks.append(open_one)
            if len(open_one.frames) < MAX_FRAMES:
                open_one.frames.append(_frame(frame))
                open_one.oldest_first |= ", in " in line and not open_one.status
        elif line.strip() == "" or _BLOCK.match(line):
            open_one = None
    first = next((each.key[0] for each in stacks), "")
    return [_closed(each, first, name) for each in stacks if each.frames]


def _start(line: str, process: str, number: int) -> _Open | None:
    plain = line.strip()
    found = _PYSPY.match(plain) or _FAULT.match(plain) or _WATCHED.match(plain)
    if not found:
        return None
    status = found.groupdict().get("status", "")
    return _Open((process, found["id"]), found["name"] or "", status, number)


def _frame(match: re.Match[str]) -> StackFrame:
    line = match["line"]
    return StackFrame(match["function"][:200], match["file"][:300], int(line[:9]) if line else 0)


def _closed(stack: _Open, first_process: str, name: str) -> Stack:
    frames = tuple(reversed(stack.frames)) if stack.oldest_first else tuple(stack.frames)
    if any(_SDK_THREAD in frame.function for frame in frames) or stack.name == "holder":
        thread = "sdk"
    elif stack.name in ("MainThread", "main") or (
        not stack.name and frames[-1].function == "<module>"
    ):
        thread = "main"
    else:
        thread = stack.name or f"thread {stack.key[1]}"
    if stack.key[0] != first_process:
        thread = f"{thread} of process {stack.key[0]}"
    return Stack(thread[:200], stack.key, stack.status, f"{name}:{stack.number}", frames)


def add_states(collector: Collector, stacks: Sequence[Stack]) -> None:
    """Add a ``thread_state`` for each thread and each place it was seen at; ``repeated`` if
    there is more than one dump. The main thread and the SDK's come first."""
    by_thread: dict[tuple[str, tuple[str, str]], list[Stack]] = {}
    for stack in stacks:
        by_thread.setdefault((stack.thread, stack.key), []).append(stack)
    order = {"main": 0, "sdk": 1}
    ranked = sorted(by_thread.items(), key=lambda item: order.get(item[0][0], 2))
    for (thread, _), seen in ranked[:MAX_THREADS]:
        places = [str(stack.frames[0]) for stack in seen]
        for index, stack in enumerate(seen):
            where = places[index]
            if where in places[:index]:
                continue
            collector.add(
                "thread_state", stack.place, thread=thread, state=state_of(stack), where=where,
                work=work_of(stack.frames),
                repeated=(where, where) in pairwise(places) if len(places) > 1 else None,
            )  # fmt: skip


def state_of(stack: Stack) -> str:
    """The state of a thread, in the words of the vocabulary.

    Python code that holds the lock counts as computing: it hands the lock over every 5 ms. Only
    below a frame of compiled code that is known to keep it, the thread is holding the lock.
    """
    inner = stack.frames[0]
    kinds = [kind_of(frame.function, frame.file) for frame in stack.frames[:_LOOKED_AT]]
    if kinds[0] == "event-loop":
        return "selecting"
    if "active" not in stack.status:
        if any(_RESULT.match(frame.file) for frame in stack.frames[:6]):
            return "waiting-result"
        if stack.status == "idle" or stack.thread != "main":
            return _resting(stack, kinds)
    if "serialization" in kinds:
        return "serializing"
    if "gil" in stack.status and _C_CODE.match(inner.file):
        return "holding-gil"
    return "computing"


def _resting(stack: Stack, kinds: Sequence[str]) -> str:
    if "serialization" in kinds and not stack.status:
        return "serializing"
    is_pool = any(_IDLE.match(frame.file) for frame in stack.frames[:2])
    return "blocked" if stack.thread in ("main", "sdk") and not is_pool else "idle"


def work_of(frames: Iterable[StackFrame]) -> str:
    """The kind of code that the innermost known frame belongs to, in the words of the
    vocabulary."""
    for frame in list(frames)[:_LOOKED_AT]:
        if _GPU.match(frame.file):
            return "gpu-compute"
        if is_import(frame.function, frame.file) and not is_users(frame.file):
            return "import"
        if _RESULT.match(frame.file):
            return "waiting"
        if kind := WORK.get(kind_of(frame.function, frame.file)):
            return kind
    return "other"
