"""Dumps of asyncio tasks -> the tasks of the SDK's loop, and whether both loops kept dumping.

The watchdog of the debug guide writes blocks ``===== <time> asyncio task dump [main|holder] <n>
task(s) @ interval=<s>s =====`` with lines ``'<task>': <state> <coroutine>``. Lines without a block
are taken for tasks of the SDK's loop.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise

from ..messages.message import Message
from ..messages.owners import origins_of, owner_values
from ..outcome import Collector
from ..shared.series_statistics import rounded

MAX_ERRORS = 20
# With fewer dumps their rhythm is unknown.
MIN_DUMPS = 3
# A dump is missing after this many intervals without one.
_DUE = 2.0
# Bounded, and begun by words that are rare: a line of any length costs time in proportion to it.
_HEAD = re.compile(r"asyncio task dump \[(?P<label>main|holder)\]"
                   r"[^\n]{0,200}?interval=(?P<interval>\d{1,9}(?:\.\d{1,9})?)s")  # fmt: skip
_AT = re.compile(r"={5} {0,9}(?P<at>[^=]{0,100})\Z")
_TASK = re.compile(r"\s*'(?P<name>[^']{1,200})': (?P<state>pending|done|cancelled)"
                   r"(?: exc=(?P<error>.*?\S))? {1,9}(?P<code><.*)\Z")  # fmt: skip
_ERROR = re.compile(r"(?P<type>[A-Za-z_][\w.]*): ?(?P<text>.*)\Z")
_NONE_REGISTERED = "(no threads registered yet)"
_CLOCK = re.compile(r"(?:(\d{4}-\d\d-\d\d)[ T])?(\d\d:\d\d:\d\d(?:[.,]\d{1,6})?)")
_KINDS = (
    ("forward-backward", re.compile(r"_run_fwd_bwd|_?forward_backward")),
    ("optim-step", re.compile(r"_?optim_step")),
    ("result", re.compile(r"_?result_async|_combine\b")),
    ("sample", re.compile(r"SamplingClient\.|_?sample_async")),
    ("heartbeat", re.compile(r"_session_heartbeat")),
)
_STATES = ("pending", "failed", "cancelled", "done")


@dataclass(slots=True)
class Dump:
    """The tasks of one loop at one time: (task name, kind, state). ``at`` is in seconds."""

    label: str
    at: float | None
    interval: float
    line: int
    tasks: list[tuple[str, str, str]] = field(default_factory=list)


def looks_like_tasks(head: bytes) -> bool:
    """Whether a file's head is that of a task dump."""
    return b"asyncio task dump [" in head or bool(
        re.search(
            rb"(?m)^[ \t]*+'[^'\n]{1,200}': (pending|done|cancelled)\b.*<coroutine object ", head
        )
    )


def add_tasks(collector: Collector, text: str, name: str) -> bool:
    """Add ``sdk_task``, ``loop_dump``, ``error_message`` (of failed tasks) and the ``log_event``
    no-threads-registered; False if the text has none of them."""
    dumps = _read(collector, text, name)
    _add_sdk_tasks(collector, [dump for dump in dumps if dump.label != "main"], name)
    labelled = [dump for dump in dumps if dump.interval > 0]
    if labelled:
        _add_loops(collector, labelled, name)
    at = text.find(_NONE_REGISTERED)
    if at >= 0:
        place = f"{name}:{text.count(chr(10), 0, at) + 1}"
        collector.add("log_event", place, event="no-threads-registered", present=True,
                      count=text.count(_NONE_REGISTERED), text=_NONE_REGISTERED)  # fmt: skip
    return bool(dumps) or at >= 0


def _read(collector: Collector, text: str, name: str) -> list[Dump]:
    dumps: list[Dump] = []
    errors: set[str] = set()
    for number, line in enumerate(text.splitlines(), 1):
        head = _HEAD.search(line)
        if head and (at := _AT.search(line, 0, head.start())):
            interval = float(head["interval"])
            dumps.append(Dump(head["label"], _seconds(at["at"]), interval, number))
            continue
        task = _TASK.match(line)
        if not task:
            continue
        if not dumps:
            dumps.append(Dump("", None, 0.0, number))
        error, state = task["error"], task["state"]
        kind = next((k for k, pattern in _KINDS if pattern.search(task["code"])), "other")
        dumps[-1].tasks.append((task["name"], kind, "failed" if error else state))
        if error and error not in errors and len(errors) < MAX_ERRORS:
            errors.add(error)
            _add_error(collector, error, f"{name}:{number}")
    return dumps


def _add_error(collector: Collector, error: str, place: str) -> None:
    found = _ERROR.match(error)
    module, _, exception = (found["type"] if found else "").rpartition(".")
    text = found["text"] if found else error
    message = Message(text, 0, "task dump", 0, exception, module)
    collector.add("error_message", place, text=text, exception=exception or None,
                  module=module or None, source="task dump",
                  **owner_values(origins_of(collector.vocabulary.owners).of(message)))  # fmt: skip


def _seconds(text: str) -> float | None:
    """A time of day or a date with time in seconds; only differences of it are used."""
    found = _CLOCK.search(text)
    if not found:
        return None
    try:
        at = datetime.fromisoformat(f"{found[1] or '2000-01-01'}T{found[2].replace(',', '.')}")
    except ValueError:
        return None
    day = at.toordinal()
    return day * 86_400.0 + at.hour * 3600 + at.minute * 60 + at.second + at.microsecond / 1e6


def _add_sdk_tasks(collector: Collector, dumps: list[Dump], name: str) -> None:
    kinds = dict.fromkeys(kind for dump in dumps for _, kind, _ in dump.tasks)
    for kind in kinds:
        of_kind = [{task: state for task, k, state in dump.tasks if k == kind} for dump in dumps]
        last = next(tasks for tasks in reversed(of_kind) if tasks)
        states = set(last.values())
        line = next(d.line for d, tasks in zip(dumps, of_kind, strict=True) if tasks)
        collector.add(
            "sdk_task", f"{name}:{line}", task=kind,
            state=next(state for state in _STATES if state in states), count=len(last),
            changes=len({frozenset(t) for t in of_kind}) > 1 if len(dumps) > 1 else None,
        )  # fmt: skip


def _add_loops(collector: Collector, dumps: list[Dump], name: str) -> None:
    times = [dump.at for dump in dumps if dump.at is not None]
    end = max(times, default=None)
    for label, thread in (("main", "main"), ("holder", "sdk")):
        own = [dump for dump in dumps if dump.label == label]
        if not own:
            if len(dumps) >= MIN_DUMPS:
                collector.add("loop_dump", name, thread=thread, attached=False)
            continue
        at = [dump.at for dump in own if dump.at is not None]
        silent: float | None = None
        if at and end is not None:
            gaps = [b - a for a, b in pairwise(at)]
            silent = max([*gaps, end - at[-1], 0.0])
        regular = None
        if silent is not None and len(at) >= MIN_DUMPS:
            regular = silent <= _DUE * own[-1].interval
        collector.add("loop_dump", f"{name}:{own[0].line}", thread=thread, attached=True,
                      regular=regular,
                      silent_s=None if silent is None else rounded(silent))  # fmt: skip
