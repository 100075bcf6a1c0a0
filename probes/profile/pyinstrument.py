"""A pyinstrument profile, JSON or text -> the use of time.

The time of each frame is booked once: under the kind of work it belongs to, named by the outermost
frame of that kind, else under the nearest function of the user's own. Waiting, sleeping and the
event loop's poll are booked as such wherever they stand. Time spent importing is left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from ...facts.problems import Location, ModelMedicError, Problem
from ..outcome import Collector
from ..shared.series_statistics import share
from .frames import is_import, is_users, kind_of

MAX_FRAMES = 200_000
MAX_HOTSPOTS = 20
# Smaller shares are not reported.
MIN_SHARE = 0.01
_ALWAYS = ("waiting", "sleeping", "event-loop")
_SDK = re.compile(r"(.*/)?tinker/|(.*/)?concurrent/futures/")
_LOOP = re.compile(r"(BaseEventLoop\.)?(run_forever|_run_once|run_until_complete)\Z")
_HEAD = re.compile(rb"_/_ +Recorded: .*Samples: +\d")
_DURATION = re.compile(r"Duration: {0,9}(\d{1,12}(?:\.\d{1,9})?)")
# "|  `- 0.801 sleep  asyncio/tasks.py:637"; the tree may be drawn in ASCII or with box characters.
_FRAME = re.compile(r"(?P<lead>[ │├└─|`-]*)(?P<time>\d{1,12}\.\d{1,9}) (?P<function>\S.*?)"
                    r"(?:  (?P<file>\S.*?)(?::(?P<line>\d+))?)?\Z")  # fmt: skip


@dataclass(slots=True)
class Frame:
    """A node of the call tree; times in seconds, ``time`` includes its callees."""

    function: str
    file: str
    time: float
    awaited: bool = False
    children: list[Frame] = field(default_factory=list)


class Booking(NamedTuple):
    """The name, file and kind under which a stretch of time is counted."""

    function: str
    file: str
    kind: str


def looks_like_pyinstrument(head: bytes) -> bool:
    """Whether a file's head is that of a pyinstrument profile, JSON or text."""
    if head.lstrip()[:1] == b"{":
        return b'"root_frame"' in head and b'"sample_count"' in head
    return bool(_HEAD.search(head[:4096]))


def add_profile(collector: Collector, path: Path, text: str) -> None:
    """Add ``profile`` and ``profile_hotspot`` facts; MM447 if the profile is not usable."""
    try:
        root, duration = _read_json(text) if text.lstrip()[:1] == "{" else _read_text(text)
    except ModelMedicError as error:
        for each in error.problems:
            collector.extend([each._replace(where=Location(str(path)))])
        return
    frames = list(_walk(root))
    if len(frames) >= MAX_FRAMES:
        text = f"the profile is large: {MAX_FRAMES:,} frames were read"
        collector.problem("MM442", text, Location(str(path)))
    whole = max(duration, root.time)
    booked = _book(root)
    by_loop = any(_LOOP.match(frame.function) for frame in frames)
    async_mode = True if any(frame.awaited for frame in frames) else False if by_loop else None
    waits = sum(time for b, time in booked.items() if b.kind == "waiting" and _SDK.match(b.file))
    polls = sum(time for b, time in booked.items() if b.kind == "event-loop")
    collector.add(
        "profile",
        str(path),
        tool="pyinstrument",
        async_mode=async_mode,
        # Without async mode, awaited time is booked on the poll, whatever was waited for.
        waiting_share=None if async_mode is False else share(waits, whole),
        epoll_share=share(polls, whole),
    )
    _add_hotspots(collector, path, booked, whole)


def _add_hotspots(
    collector: Collector, path: Path, booked: Mapping[Booking, float], whole: float
) -> None:
    ranked = sorted(booked.items(), key=lambda item: (-item[1], item[0]))
    for booking, time in ranked[:MAX_HOTSPOTS]:
        if time < MIN_SHARE * whole:
            break
        collector.add(
            "profile_hotspot", str(path), function=booking.function, file=booking.file or None,
            share=share(time, whole), category=booking.kind, waiting=booking.kind in _ALWAYS,
        )  # fmt: skip


def _walk(root: Frame) -> Iterator[Frame]:
    stack = [root]
    for _ in range(MAX_FRAMES):
        if not stack:
            return
        frame = stack.pop()
        yield frame
        stack.extend(reversed(frame.children))


def _book(root: Frame) -> dict[Booking, float]:
    """Time by booking. ``owner`` is the user's function that is running, ``under`` the kind of work
    that was entered."""
    booked: dict[Booking, float] = {}
    nobody = Booking(root.function, root.file, "own-code")
    stack: list[tuple[Frame, Booking | None, Booking]] = [(root, None, nobody)]
    for _ in range(MAX_FRAMES):
        if not stack:
            break
        frame, under, owner = stack.pop()
        if is_import(frame.function, frame.file) and frame is not root:
            continue
        if is_users(frame.file) and not frame.function.startswith("["):
            owner = Booking(frame.function, frame.file, "own-code")
        under = _enter(frame, under, owner)
        own = frame.time - sum(child.time for child in frame.children)
        if own > 0:
            booking = under or owner
            booked[booking] = booked.get(booking, 0.0) + own
        stack.extend((child, under, owner) for child in reversed(frame.children))
    return booked


def _enter(frame: Frame, under: Booking | None, owner: Booking) -> Booking | None:
    kind = kind_of(frame.function, frame.file)
    if under and under.kind in _ALWAYS:
        return under
    if frame.function == "[await]":
        return Booking(owner.function, owner.file, "waiting")
    if kind in _ALWAYS or (kind and not under):
        return Booking(frame.function, frame.file, kind)
    return under


def _read_json(text: str) -> tuple[Frame, float]:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        reason = getattr(error, "msg", "") or "nested too deep"
        raise _unusable(f"not valid JSON: {reason}; was the file cut?") from None
    if not isinstance(data, dict) or not isinstance(data.get("root_frame"), dict):
        raise _unusable("it holds no root_frame")
    root = _frame(data["root_frame"])
    pending = [(root, data["root_frame"])]
    for _ in range(MAX_FRAMES):
        if not pending:
            break
        frame, source = pending.pop()
        children = source.get("children")
        for child in children if isinstance(children, list) else ():
            if isinstance(child, dict):
                frame.children.append(_frame(child))
                pending.append((frame.children[-1], child))
    if root.time <= 0:
        raise _unusable("its root frame has no time")
    return root, _seconds(data.get("duration"))


def _frame(source: Mapping[str, Any]) -> Frame:
    function, file = source.get("function"), source.get("file_path_short")
    name = function if isinstance(function, str) else "?"
    if name != "[await]":
        file = source.get("file_path") or file
    return Frame(name[:200], file[:400] if isinstance(file, str) else "",
                 _seconds(source.get("time")),
                 _seconds(source.get("await_time")) > 0 or name == "[await]")  # fmt: skip


def _seconds(value: Any) -> float:
    usable = isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 1e9
    return float(value) if usable else 0.0


def _read_text(text: str) -> tuple[Frame, float]:
    duration = _DURATION.search(text)
    root: Frame | None = None
    path: list[tuple[int, Frame]] = []
    for number, line in enumerate(text.splitlines()):
        match = _FRAME.match(line.rstrip()) if number < MAX_FRAMES else None
        if not match:
            continue
        depth, function = match.start("time"), match["function"]
        frame = Frame(function[:200], (match["file"] or "")[:400], _seconds(float(match["time"])),
                      function == "[await]")  # fmt: skip
        while path and path[-1][0] >= depth:
            path.pop()
        if path:
            path[-1][1].children.append(frame)
        elif root is None:
            root = frame
        else:
            break  # a second tree: pyinstrument prints one for each thread it saw
        path.append((depth, frame))
    if root is None or root.time <= 0:
        raise _unusable("it holds no call tree")
    return root, _seconds(float(duration[1])) if duration else 0.0


def _unusable(reason: str) -> ModelMedicError:
    hint = "write the profile again, in the text or JSON form of pyinstrument"
    return ModelMedicError(Problem("MM447", f"the profile is not usable: {reason}", None, hint))
