"""Timing spans of a run: when each operation of a step began and ended (timing_spans.jsonl)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from ...facts.problems import Location, Problem
from ...facts.progress import UNWATCHED, Progress
from ...reading.text.files import Ending, LineProblems, first_value, read_rows
from ..shared.series_statistics import Interval
from .tables import MAX_BYTES, Call, MetricRow, Table, number_of, step_of

MAX_SPANS = 2_000_000


class Span(NamedTuple):
    """A named stretch of time within a step, in seconds since the first span of the step."""

    name: str
    at: Interval


@dataclass(slots=True)
class Spans:
    """Spans by step."""

    name: str
    steps: dict[int, list[Span]]
    problems: list[Problem]


def read_spans(path: Path, progress: Progress = UNWATCHED) -> Spans:
    """The spans of timing_spans.jsonl. Raises MM440 if the file cannot be read."""
    ending = Ending(ends_early=True)
    bad = LineProblems(path, "its spans are left out")
    steps: dict[int, list[Span]] = {}
    total, full = 0, False
    for row in read_rows(path, MAX_BYTES, ending, progress):
        found = _spans_of(row.value)
        if row.error or found is None:
            bad.add(row.number, row.error or "the line has no step with spans")
            continue
        total += len(found[1])
        if total > MAX_SPANS:
            full = True
            break
        steps[found[0]] = found[1]
    problems = bad.all()
    if ending.cut or full:
        text = f"what follows its first {len(steps):,} steps is left out"
        problems.append(ending.problem(text, Location(str(path))))
    return Spans(str(path), steps, problems)


def _spans_of(value: Any) -> tuple[int, list[Span]] | None:
    if not isinstance(value, dict) or not isinstance(value.get("spans"), list):
        return None
    number = number_of(value.get("step"))
    step = step_of(number) if number is not None else None
    if step is None:
        return None
    return step, list(_usable_spans(value["spans"]))


def _usable_spans(items: Iterable[Any]) -> Iterator[Span]:
    for item in items:
        if not isinstance(item, dict) or not isinstance(item.get("name"), str):
            continue
        start, end = number_of(item.get("wall_start")), number_of(item.get("wall_end"))
        if start is None or end is None or not math.isfinite(end - start) or end < start:
            continue
        yield Span(item["name"], Interval(start, end))


def table_of(spans: Spans) -> Table:
    """The table that the spans alone give. A step takes the time from its first span to its last,
    except in a supervised loop, where other steps run in between."""
    rows = []
    for number, step in enumerate(sorted(spans.steps), 1):
        row = MetricRow(step, number)
        by_name: dict[str, list[float]] = {}
        for name, at in spans.steps[step]:
            by_name.setdefault(name, []).append(at.end - at.start)
        row.calls = {n: Call(math.fsum(t), len(t), max(t)) for n, t in by_name.items()}
        if by_name and "submit_batch" not in by_name:
            ends = [at for _, at in spans.steps[step]]
            whole = max(at.end for at in ends) - min(at.start for at in ends)
            row.calls.setdefault("total", Call(whole, 1, whole))
        rows.append(row)
    return Table(spans.name, rows, [])


def looks_like_spans(head: bytes) -> bool:
    """Whether the head of a file is that of timing_spans.jsonl."""
    value = first_value(head)
    return isinstance(value, dict) and isinstance(value.get("spans"), list) and "step" in value
