"""The records of the monitor -> facts about the interpreter lock and the threads."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ...facts.kinds import Vocabulary
from ...facts.problems import Location
from ...facts.regular_files import read_regular
from ...reading.text.values import parse_json
from ..outcome import Collector, Outcome
from ..profile.stacks import state_of, work_of
from .calls import add_calls
from .stalls import (
    add_stalls,
    is_excused,
    number,
    place_of,
    stacks_of,
    threads_of,
    usable,
)

SOURCE = "probe:watch"
FORMAT = "modelmedic/watch/1"
MAX_BYTES = 16_000_000
# The running figures are written every second; a longer silence at the end is a stall by itself.
_SILENCE_S = 3.0
ENOUGH_S = 5.0


class Record(NamedTuple):
    """The file of one process: its first line, its last figures, its stalls."""

    name: str
    head: Mapping[str, Any]
    state: Mapping[str, Any]
    stalls: tuple[Mapping[str, Any], ...]
    calls: tuple[Mapping[str, Any], ...] = ()


def gather_watch(path: Path | str, vocabulary: Vocabulary, *, source: str = SOURCE) -> Outcome:
    """The facts in a file that :func:`.monitor.monitor` has written: ``gil_jitter``,
    ``thread_state`` for the places that stalls were seen at, ``sdk_loop_delay``, and what the calls
    of the SDK tell (see :mod:`.calls`).

    Problems: MM463 the file cannot be read or is no such file.
    """
    collector = Collector(vocabulary, source)
    record = read_record(Path(path))
    if record is None:
        hint = "it is written by modelmedic.probes.watch.monitor"
        collector.problem("MM463", "there is no record of the monitor", Location(str(path)), hint)
    else:
        add_record(collector, record)
    return collector.outcome()


def read_record(path: Path) -> Record | None:
    """The record in a file, or None. Broken lines are left out: the job may have been killed."""
    try:
        raw = read_regular(path, MAX_BYTES)[:MAX_BYTES]
    except (OSError, ValueError):
        return None
    lines = [_object(line) for line in raw.split(b"\n")]
    if not lines or lines[0].get("format") != FORMAT:
        return None
    state = lines[1] if len(lines) > 1 else {}
    stalls = tuple(each for each in lines[2:] if each.get("event") in ("stall", "loop-stall"))
    calls = tuple(each for each in lines[2:] if each.get("event") == "call")
    return Record(str(path), lines[0], state, stalls, calls)


def text_of(record: Record) -> str:
    """A record as a file."""
    lines = (record.head, record.state, *record.stalls, *record.calls)
    return "".join(json.dumps(line) + "\n" for line in lines)


def add_record(collector: Collector, record: Record, silent_s: float = 0.0) -> None:
    """Add the facts of a record. ``silent_s`` is how long the file had not changed when the
    process ended without a last word."""
    where = f"watch:{record.head.get('pid', 0)}"
    state = record.state
    stuck = silent_s > _SILENCE_S and not state.get("ended")
    excused = [stall for stall in record.stalls if is_excused(stall)]
    record = record._replace(stalls=tuple(s for s in record.stalls if s not in excused))
    _add_jitter(collector, where, record, excused, silent_s if stuck else 0.0)
    add_stalls(collector, where, record.stalls, state)
    if not state.get("ended"):
        _add_last(collector, where, state, silent_s if stuck else 0.0)
    _add_loop(collector, where, record, stuck)
    add_calls(collector, where, state)


def _add_jitter(
    collector: Collector,
    where: str,
    record: Record,
    excused: Sequence[Mapping[str, Any]],
    stuck_s: float,
) -> None:
    """How late threads woke up, but for the ``excused`` stalls."""
    state = record.state
    lates = [number(s.get("late")) for s in record.stalls if s.get("event") == "stall"]
    longest = number(state.get("max"))
    if excused:
        longest = max([number(state.get("max_short")), *lates])
    over_1s = int(number(state.get("over_1s"))) + bool(stuck_s)
    over_1s -= sum(number(stall.get("late")) > 1 for stall in excused)
    # A short run without a stall does not show that there is none.
    enough = number(state.get("seconds")) >= ENOUGH_S
    if stuck_s or (number(state.get("count")) and (enough or state.get("stalls"))):
        collector.add(
            "gil_jitter", where, max_s=round(max(longest, stuck_s), 4),
            mean_s=round(number(state.get("mean")), 6), stalls=max(over_1s, 0),
        )  # fmt: skip


def _add_loop(collector: Collector, where: str, record: Record, stuck: bool) -> None:
    state = record.state
    pending = 0.0 if stuck else number(state.get("sdk_pending"))
    # A callback that has only just been sent proves nothing.
    late = max(number(state.get("sdk_max")), pending if pending >= _SILENCE_S else 0.0)
    # If no thread could run, neither could the loop, and no callback was sent to it.
    held = [number(stall.get("late")) for stall in record.stalls
            if any(thread.get("thread") == "sdk" for thread in threads_of(stall))]  # fmt: skip
    late = max([late, *held])
    count = int(number(state.get("sdk_count")))
    if count or held or pending >= _SILENCE_S:
        collector.add("sdk_loop_delay", where, max_s=round(late, 4), count=count)


def _add_last(collector: Collector, where: str, state: Mapping[str, Any], silent_s: float) -> None:
    """Add the places of the threads when the job was ended from outside."""
    threads = [thread for thread in threads_of(state) if usable(thread)]
    for stack, thread in zip(stacks_of(state, ""), threads, strict=True):
        total = number(thread.get("for")) + silent_s
        if total < _SILENCE_S:
            continue
        collector.add(
            "thread_state", where, thread=stack.thread, state=state_of(stack),
            where=place_of(stack), work=work_of(stack.frames), duration_s=round(total, 1),
        )  # fmt: skip


def _object(line: bytes) -> dict[str, Any]:
    value = parse_json(line)
    return value if isinstance(value, dict) else {}
