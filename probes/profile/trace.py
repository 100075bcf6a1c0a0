"""Reads a trace in Chrome's form (trace_events.jsonl of the cookbook, or a converted trace.json)
for the facts that its chart shows.

Work of the SDK's own thread is not traced. Gaps are those between the bars of the training loop:
the busiest track with its operations. Bars around the whole run are not operations; bars that are
open at the end last until then.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from ...facts.problems import Location
from ...facts.progress import UNWATCHED, Progress
from ...reading.text.files import Ending, LineProblems, first_value, read_json, read_rows
from ..outcome import Collector
from ..shared.series_statistics import Interval, length, median, rounded, share, union

MAX_BYTES = 300_000_000
MAX_BARS = 500_000
_FRAMES = re.compile(r"(do_(a?sync)_training\w*|main|\w+_loop)\Z")
_LOOP = re.compile(r"(train_step|sampling|submit_batch|finish_batch|get_batch|do_train_step\w*|"
                   r"forward_backward\w*|optim_step\w*)\Z")  # fmt: skip
# A bar stands alone if the gaps before and after it are at least this part of its own length.
_GAP_PART = 0.05
_US = 1e-6
_LOST = "its bar is left out"


@dataclass(slots=True)
class _Track:
    """Bars of one task or thread; ``leaves`` are those that contain no other, by name."""

    bars: list[Interval] = field(default_factory=list)
    leaves: dict[str, list[Interval]] = field(default_factory=dict)
    # Bars that have begun: name, start, whether another bar began inside.
    open: list[tuple[str, float, bool]] = field(default_factory=list)
    is_loop: bool = False


def looks_like_trace(head: bytes) -> bool:
    """Whether a file's head is that of a trace in Chrome's form."""
    value = first_value(head)
    if isinstance(value, dict):
        return "traceEvents" in value or (isinstance(value.get("ph"), str) and "ts" in value)
    start = head.lstrip()[:4096]
    return (start.startswith((b"[", b"{")) and b'"ph"' in start and b'"ts"' in start) or (
        start.startswith(b"{") and b'"traceEvents"' in start
    )


def add_timeline(collector: Collector, path: Path, progress: Progress = UNWATCHED) -> None:
    """Add the ``timeline`` fact; MM441, MM442 for what is not used, MM448 if no bar is whole."""
    tracks: dict[str, _Track] = {}
    bars = 0
    last = -math.inf
    ending = Ending(ends_early=True)
    bad = LineProblems(path, _LOST)
    for number, event in _events(path, ending, bad, progress):
        if bars >= MAX_BARS:
            ending.cut = True
            break
        problem = _take(tracks, event)
        if problem is None:
            bars += 1
            last = max(last, event["ts"])
        elif problem:
            bad.add(number, problem)
    collector.extend(bad.all())
    if ending.cut:
        text = f"what follows its first {bars:,} bars is left out"
        collector.extend([ending.problem(text, Location(str(path)))])
    for track in tracks.values():
        for name, start, has_inner in track.open:
            _close(track, name, start, max(last, start), not has_inner)
    used = [track for track in tracks.values() if track.bars]
    if not used:
        hint = "run some steps with enable_trace=True and end the run normally"
        collector.problem("MM448", "the trace has no whole bar", Location(str(path)), hint)
        return
    _add(collector, path, used)


def _events(
    path: Path, ending: Ending, bad: LineProblems, progress: Progress
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Events with their line, or with line 0 if one JSON value holds them all."""
    rows = read_rows(path, MAX_BYTES, ending, progress)
    first = next(rows, None)
    is_event = first and isinstance(first.value, dict) and "ph" in first.value
    whole = _whole(path) if first and not is_event else None
    if whole is not None:
        yield from ((0, event) for event in whole if isinstance(event, dict))
        return
    for row in [first, *rows] if first else ():
        if row.error or not isinstance(row.value, dict):
            bad.add(row.number, row.error or "the line is not a JSON object")
        else:
            yield row.number, row.value


def _whole(path: Path) -> list[Any] | None:
    data, _ = read_json(path, MAX_BYTES // 3)
    events = data.get("traceEvents") if isinstance(data, dict) else data
    return events if isinstance(events, list) else None


def _take(tracks: dict[str, _Track], event: dict[str, Any]) -> str | None:
    """Add an event. Return None if it ends a bar, '' if it does not, else its fault."""
    phase, name = event.get("ph"), event.get("name")
    if phase not in ("B", "E", "X"):
        return ""
    at = event.get("ts")
    if not isinstance(name, str) or isinstance(at, bool) or not isinstance(at, (int, float)):
        return "the event has no name or no time"
    if not math.isfinite(at) or abs(at) > 1e18:
        return "the time of the event is not an ordinary number"
    track = tracks.setdefault(f"{event.get('pid')}/{event.get('tid')}"[:80], _Track())
    if phase == "B":
        if track.open:
            track.open[-1] = (*track.open[-1][:2], True)
        track.open.append((name, at, False))
        return ""
    if phase == "X":
        took = event.get("dur")
        if isinstance(took, bool) or not isinstance(took, (int, float)) or not 0 <= took < 1e18:
            return "the event has no duration"
        _close(track, name, at, at + took, not track.open)
        return None
    if all(begun != name for begun, _, _ in track.open):
        return ""  # it began before the trace did
    while track.open:
        begun, start, has_inner = track.open.pop()
        # Bars inside whose end is missing end here at the latest.
        _close(track, begun, start, max(at, start), not has_inner)
        if begun == name:
            break
    return None


def _close(track: _Track, name: str, start: float, end: float, is_leaf: bool) -> None:
    if _FRAMES.match(name):
        return
    track.is_loop |= bool(_LOOP.match(name))
    bar = Interval(start * _US, end * _US)
    track.bars.append(bar)
    if is_leaf:
        track.leaves.setdefault(name[:200], []).append(bar)


def _add(collector: Collector, path: Path, tracks: list[_Track]) -> None:
    loops = [track for track in tracks if track.is_loop]
    loop = max(loops or tracks, key=lambda track: length(union(track.bars)))
    bars = union(loop.bars)
    everything = union([bar for track in tracks for bar in track.bars])
    span = bars[-1].end - bars[0].start
    whole = everything[-1].end - everything[0].start
    if span <= 0 or whole <= 0:
        collector.problem("MM448", "all bars of the trace have no length", Location(str(path)))
        return
    gaps = [b.start - a.end for a, b in pairwise(bars)]
    operation, longest = max(
        ((name, length(union(each))) for name, each in loop.leaves.items()),
        key=lambda item: (item[1], item[0]),
        default=("", 0.0),
    )
    collector.add(
        "timeline", str(path), gap_share=share(sum(gaps), span),
        empty_share=share(whole - length(everything), whole),
        largest_gap_s=rounded(max(gaps, default=0.0)), longest_operation=operation or None,
        longest_share=share(longest, span) if operation else None,
        gaps_around_longest=_stands_alone(bars, loop.leaves[operation]) if operation else None,
    )  # fmt: skip


def _stands_alone(bars: list[Interval], named: list[Interval]) -> bool | None:
    """Whether there are gaps right before and after the bars of an operation, by their medians;
    None if it has too few bars with neighbours on both sides."""
    starts = {bar.start: i for i, bar in enumerate(bars)}
    ends = {bar.end: i for i, bar in enumerate(bars)}
    before, after = [], []
    for bar in named[:10_000]:
        first, last = starts.get(bar.start), ends.get(bar.end)
        if first != 0:
            before.append(0.0 if first is None else bar.start - bars[first - 1].end)
        if last != len(bars) - 1:
            after.append(0.0 if last is None else bars[last + 1].start - bar.end)
    if len(before) < 2 or len(after) < 2:
        return None
    least = _GAP_PART * median([bar.end - bar.start for bar in named])
    return median(before) > least and median(after) > least
