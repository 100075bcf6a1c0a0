"""The stalls of a record -> the places of threads when others, or an event loop, could not run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any, NamedTuple

from ..outcome import Collector
from ..profile.frames import is_users
from ..profile.stacks import Stack, StackFrame, state_of, work_of

MAX_STATES = 20
# A stall counts as kept by a thread of this process if the process computed meanwhile.
_BUSY_SHARE = 0.3
# Of a thread that was seen to hold the lock, and to run, less is enough: this share, or so long.
# Else the machine did not let the process run. A moment of computing would cause no stall on an
# idle machine.
_SEEN_SHARE, _SEEN_S = 0.1, 0.5
_MOMENT_SHARE, _MOMENT_S = 0.5, 0.25
# So many threads that compute at once leave each other, and a loop, few turns.
_CROWD = 4
_SELECTORS = re.compile(r"(.*/)?selectors\.py\Z")
_WAITS = re.compile(
    r"(.*/)?(threading|queue|selectors|socket|ssl|subprocess|(asyncio|concurrent/futures)/\w{1,30})\.py\Z"
)
_LOOP = re.compile(r"(.*/)?asyncio/(base_events|runners|\w{1,20}_events)\.py\Z")
_DEBUGGERS = re.compile(
    r"(.*/)?(bdb|pdb)\.py\Z|(.*/)?(_?pydevd\w{0,40}|debugpy|pudb|ipdb)(/.*|\.py)\Z"
)
_LIBRARY = re.compile(r"\A.*/(site-packages|dist-packages|lib/python\d[^/]{0,40})/")
_IMPORTS = "<frozen importlib._bootstrap"
_RESTING = frozenset({"selecting", "waiting-result", "idle", "blocked"})


class _Seen(NamedTuple):
    """A thread at a place during one stall."""

    stack: Stack
    state: str
    seconds: float
    live: bool
    loop: bool = False
    threads: int = 1


def add_stalls(
    collector: Collector,
    where: str,
    stalls: Sequence[Mapping[str, Any]],
    figures: Mapping[str, Any],
) -> None:
    """Add a ``thread_state`` for each line that a thread was at while others could not run, the
    longest first. Its place is the user's own code if that is on the stack, else the record
    ``where``."""
    groups: dict[tuple[str, str, bool, str], list[_Seen]] = {}
    for stall in stalls:
        is_loop = stall.get("event") == "loop-stall"
        for seen in _of_loop(stall) if is_loop else _of_lock(stall):
            at = own_frame(seen.stack) or seen.stack.frames[0]
            key = (_crew(seen), seen.state, seen.loop, f"{at.file}:{at.line}")
            groups.setdefault(key, []).append(seen)
    whole = _whole(stalls, figures)
    ranked = sorted(groups.items(), key=lambda item: (-max(s.seconds for s in item[1]), item[0]))
    for _, group in ranked[:MAX_STATES]:
        longest = max(group, key=lambda seen: seen.seconds)
        own = own_frame(longest.stack)
        collector.add(
            "thread_state", f"{own.file}:{own.line}" if own else where,
            thread=longest.stack.thread, state=longest.state, where=place_of(longest.stack),
            work=work_of(longest.stack.frames), repeated=len(group) > 1,
            duration_s=round(longest.seconds, 3), live=longest.live,
            loop=longest.loop or None, threads=longest.threads if longest.threads > 1 else None,
            share=_share(sum(seen.seconds for seen in group), whole),
        )  # fmt: skip


def _whole(stalls: Sequence[Mapping[str, Any]], figures: Mapping[str, Any]) -> float:
    """The time since the first loop was seen; less if the record lacks some of the stalls."""
    whole = number(figures.get("loops_s")) or number(figures.get("seconds"))
    blocked = number(figures.get("blocked_s"))
    told = sum(number(s.get("late")) for s in stalls if s.get("event") == "loop-stall")
    return whole * told / blocked if blocked > told > 0 else whole


def _share(seconds: float, whole: float) -> float | None:
    return round(min(seconds / whole, 1.0), 3) if whole else None


def _crew(seen: _Seen) -> str:
    return "several" if seen.threads > 1 else seen.stack.thread


def _of_loop(stall: Mapping[str, Any]) -> Iterator[_Seen]:
    """The line at which the loop's thread was seen most; if several threads computed while it
    waited for its turn, their lines. Nothing while a debugger runs."""
    late = number(stall.get("late"))
    seen = [(_looks(thread), stack) for thread, stack in _usable_stacks(stall, "")]
    if any(_DEBUGGERS.match(frame.file) for _, stack in seen for frame in stack.frames):
        return
    by_line: dict[str, list[tuple[float, Stack]]] = {}
    for looks, stack in seen:
        if not _waits_for_work(stack) and not _imports_library(stack):
            own = own_frame(stack) or stack.frames[0]
            by_line.setdefault(f"{own.file}:{own.line}", []).append((looks, stack))
    at_lines = [each for same in by_line.values() for each in same]
    most = max(by_line.values(), key=_sum, default=[])
    count, crowd = (0, None) if _waits(most, seen) else _crowd_of(stall)
    if crowd is not None:
        yield _Seen(crowd, "computing", late, live=True, threads=count)
    if _sum(at_lines) * 2 >= _sum(seen) > 0:
        stack = max(most, key=lambda each: each[0])[1]
        # Work of libraries on a thread or a loop of their own is not a line of the user's.
        others = stack.thread == "sdk" or stall.get("found") is True
        blames = crowd is None and not (others and own_frame(stack) is None)
        yield _Seen(stack, "blocked", late, live=True, loop=blames)


def _sum(seen: Sequence[tuple[float, Stack]]) -> float:
    return sum(looks for looks, _ in seen)


def _waits(most: Sequence[tuple[float, Stack]], seen: Sequence[tuple[float, Stack]]) -> bool:
    """Whether a loop's thread stayed at one line and waited for another thread, not for its turn: a
    thread that has been started runs when it is its turn."""
    waiting = [
        each
        for each in most
        if _WAITS.match(each[1].frames[0].file)
        and not any(f.function == "start" and _WAITS.match(f.file) for f in each[1].frames)
    ]
    return bool(waiting) and _sum(waiting) * 2 >= _sum(seen)


def _waits_for_work(stack: Stack) -> bool:
    """Whether a loop's thread is in the loop itself: if it was not let run, then by no own line."""
    inner = next((f for f in stack.frames if not _SELECTORS.match(f.file)), stack.frames[0])
    return bool(_LOOP.match(inner.file))


def _crowd_of(stall: Mapping[str, Any]) -> tuple[int, Stack | None]:
    """The number of other threads that computed, and the place of most of them; None if they were
    few."""
    looks = number(stall.get("looks"))
    others = [
        (round(_looks(thread) / looks), stack)
        for thread, stack in _usable_stacks({"threads": stall.get("others")}, "active")
        if looks and state_of(stack) not in _RESTING
    ]
    many = [each for each in others if each[0] >= _CROWD]
    return max(many, key=lambda each: each[0]) if many else (0, None)


def _of_lock(stall: Mapping[str, Any]) -> Iterator[_Seen]:
    """The places of the threads while all but one could not run: that one holds the lock."""
    late, cpu = number(stall.get("late")), number(stall.get("cpu"))
    found = list(_usable_stacks(stall, "active+gil"))
    if any(thread.get("gil") is True for thread, _ in found):
        for thread, stack in found:
            if thread.get("gil") is True:
                yield _Seen(stack, "holding-gil", late, live=True)
            elif stack.thread == "sdk":
                yield _Seen(stack, state_of(stack), late, live=True)
        return
    # Of threads that were seen at the end, the innermost frame shows which of them waited.
    stacks = [
        stack._replace(status="idle") if _WAITS.match(stack.frames[0].file) else stack
        for _, stack in found
    ]
    busy = [stack for stack in stacks if state_of(stack) not in _RESTING]
    for stack in stacks:
        if stack.thread in ("main", "sdk") or stack in busy:
            # The only one that was not waiting, and the job computed.
            holds = busy == [stack] and cpu >= late * _BUSY_SHARE
            yield _Seen(stack, "holding-gil" if holds else state_of(stack), late, live=False)


def is_excused(stall: Mapping[str, Any]) -> bool:
    """Whether no thread could run because a module outside of the user's code was imported, or
    because the machine let none run."""
    found = list(_usable_stacks(stall, "active+gil"))
    held = [stack for thread, stack in found if thread.get("gil") is True]
    if not held:
        return stall.get("imports") is True
    late, cpu = number(stall.get("late")), number(stall.get("cpu"))
    enough = max(min(late * _SEEN_SHARE, _SEEN_S), min(late * _MOMENT_SHARE, _MOMENT_S))
    if all("active" in stack.status for stack in held) and cpu < enough:
        return True
    return any(map(_imports_library, held))


def _imports_library(stack: Stack) -> bool:
    """Whether a module outside of the user's code is imported."""
    above = takewhile(lambda frame: not is_users(frame.file), stack.frames)
    return any(_IMPORTS in frame.file for frame in above)


def own_frame(stack: Stack) -> StackFrame | None:
    """The innermost frame of the user's own code."""
    return next((frame for frame in stack.frames if is_users(frame.file)), None)


def place_of(stack: Stack) -> str:
    """The innermost frame, and the line of the user's own code that led there."""
    inner, own = stack.frames[0], own_frame(stack)
    if own == inner:
        return str(inner)
    inner = inner._replace(file=_LIBRARY.sub("", inner.file))
    return str(inner) if own is None else f"{inner}, called by {own}"


def stacks_of(event: Mapping[str, Any], status: str) -> list[Stack]:
    """The stacks of an event, as far as they can be read."""
    return [stack for _, stack in _usable_stacks(event, status)]


def _usable_stacks(
    event: Mapping[str, Any], status: str
) -> Iterator[tuple[Mapping[str, Any], Stack]]:
    for each in filter(usable, threads_of(event)):
        frames = tuple(StackFrame(str(f), str(p), int(n)) for f, p, n in each["frames"])
        name = str(each.get("thread", "thread"))
        seen = each.get("status")
        yield each, Stack(name, ("", name), seen if isinstance(seen, str) else status, "", frames)


def threads_of(event: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The threads of an event."""
    threads = event.get("threads")
    return [t for t in threads if isinstance(t, dict)] if isinstance(threads, list) else []


def usable(thread: Mapping[str, Any]) -> bool:
    """Whether the frames of a thread can be read."""
    frames = thread.get("frames")
    return isinstance(frames, list) and bool(frames) and all(
        isinstance(frame, list) and len(frame) == 3 and isinstance(frame[2], int)
        for frame in frames
    )  # fmt: skip


def _looks(thread: Mapping[str, Any]) -> float:
    return number(thread.get("looks")) or 1.0


def number(value: Any) -> float:
    """A number of a record; 0 if the value is not a number."""
    plain = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if plain and 0 <= value < 1e12 else 0.0
