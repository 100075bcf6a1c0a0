"""The parts of step times: each step with its parts, and the share of each operation.

Operations contain one another (submitting a batch contains getting it), so that their shares do not
add up; the parts of a step do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from ....facts import Fact
from ..safe_text import one_line
from .chart import Chart, chart
from .figures import number, percent, seconds
from .svg import GRID, SERIES, SOFT, described, label, line, picture, rect, title

WIDTH = 800
MAX_OPERATIONS = 8
_LEFT, _RIGHT, _TOP = 64, 12, 30
_COLUMNS = 190
"""Height of the steps."""
_NAMES, _FIGURES, _BAR = 240, 150, 24
_LEAST = 0.005
"""Share of the step below which an operation is not drawn."""
PARTS = ("data", "sampling", "other measured parts", "not measured")


class Step(NamedTuple):
    """Seconds of each of the parts."""

    at: int
    total: float
    parts: tuple[float, ...]


class _Operation(NamedTuple):
    name: str
    share: float
    mean_s: float | None


def step_time(facts: Sequence[Fact], *, columns: bool = True) -> Chart | None:
    """The chart of step times; None if neither two steps nor the share of an operation are known.
    Without ``columns`` only the shares are drawn: the steps are in another picture."""
    steps, operations = steps_of(facts), _operations(facts)
    if len(steps) < 2 and not operations:
        return None
    text = " ".join(filter(None, (_steps_in_words(steps), _operations_in_words(operations))))
    shown = steps if len(steps) > 1 and (columns or not operations) else []
    high = _TOP + _COLUMNS + 46 if shown else 0
    names, labelled = described("step-time", "Step time with its parts", text)
    parts = [*names]
    if shown:
        parts += _columns(shown)
    parts += _bars(operations, high)
    height = high + (len(operations) * _BAR + 34 if operations else 0)
    svg = picture(WIDTH, height, parts, aria_labelledby=labelled)
    rows = [(f"operation {o.name}", percent(o.share), seconds(o.mean_s)) for o in operations]
    mean = sum(step.total for step in steps) / len(steps) if steps else 0.0
    if mean:
        rows += [
            (f"part: {name}", percent(spent / len(steps) / mean), seconds(spent / len(steps)))
            for place, name in enumerate(PARTS)
            for spent in [sum(step.parts[place] for step in steps)]
        ]
    head = ("Operation or part", "Share of the step", "Mean time")
    return chart("step-time", "Step time with its parts", text, svg, head, rows)


def steps_of(facts: Iterable[Fact]) -> list[Step]:
    """The steps with their parts, in order."""
    found = []
    for fact in facts:
        total = number(fact, "total_s")
        if fact.kind == "step_timing" and total:
            found.append(Step(int(str(fact.get("step"))), total, _parts(fact, total)))
    return sorted(found)


def _parts(fact: Fact, total: float) -> tuple[float, ...]:
    """The four parts. Data and sampling may be inside other measured times, so no part may exceed
    the rest."""
    left = total
    shown = []
    gap = number(fact, "gap_s") or 0.0
    for part in (number(fact, "data_s") or 0.0, number(fact, "sampling_s") or 0.0):
        shown.append(min(part, left))
        left -= shown[-1]
    if fact.get("parts_s") is None and fact.get("gap_s") is None:
        return (*shown, 0.0, left)
    other = max(left - gap, 0.0)
    return (*shown, other, left - other)


def _operations(facts: Sequence[Fact]) -> list[_Operation]:
    found = [
        _Operation(one_line(str(fact.get("operation")))[:60], share, number(fact, "mean_s"))
        for fact in facts
        if fact.kind == "timing_summary" and fact.get("operation") != "step"
        for share in [number(fact, "share")]
        if share is not None and share >= _LEAST
    ]
    return sorted(found, key=lambda o: (-o.share, o.name))[:MAX_OPERATIONS]


def _steps_in_words(steps: Sequence[Step]) -> str:
    if len(steps) < 2:
        return ""
    totals = [step.total for step in steps]
    whole = sum(totals)
    shares = [sum(step.parts[place] for step in steps) / whole for place in range(len(PARTS))]
    most = max(range(len(PARTS)), key=shares.__getitem__)
    largest = max(steps, key=lambda step: step.total)
    return (
        f"{len(steps)} steps of {seconds(min(totals))} to {seconds(largest.total)} "
        f"(step {largest.at}); the largest part is {PARTS[most]}, {percent(shares[most])}."
    )


def _operations_in_words(operations: Sequence[_Operation]) -> str:
    if not operations:
        return ""
    named = ", ".join(f"{o.name} {percent(o.share)}" for o in operations[:3])
    return f"Share of the step: {named}."


def _columns(steps: Sequence[Step]) -> Iterator[str]:
    """A column for each step, its parts one above the other."""
    base = _TOP + _COLUMNS
    most = max(step.total for step in steps)
    for part in (0.0, 0.5, 1.0):
        y = base - part * _COLUMNS
        yield line(_LEFT, y, WIDTH - _RIGHT, y, stroke=GRID)
        yield label(_LEFT - 6, y + 4, seconds(part * most), anchor="end", fill=SOFT)
    room = (WIDTH - _LEFT - _RIGHT) / len(steps)
    wide = max(min(room * 0.8, 60.0), 0.8)
    for place, step in enumerate(steps):
        x, y = _LEFT + (place + 0.5) * room - wide / 2, float(base)
        for name, part, colour in zip(PARTS, step.parts, SERIES, strict=True):
            high = _COLUMNS * part / most
            if high > 0.05:
                y -= high
                said = f"step {step.at}: {name} {seconds(part)} of {seconds(step.total)}"
                yield rect(x, y, wide, high, title(said), fill=colour)
    every = -(-len(steps) // 12)
    for place in range(0, len(steps), every):
        x = _LEFT + (place + 0.5) * room
        yield label(x, base + 16, str(steps[place].at), anchor="middle", fill=SOFT)
    yield label(_LEFT, base + 34, "step", fill=SOFT)
    yield from legend(steps, 6)


def legend(steps: Sequence[Step], y: float) -> Iterator[str]:
    """The colours of the parts in the picture."""
    x = float(_LEFT)
    for place, name in enumerate(PARTS):
        if any(step.parts[place] > 0 for step in steps):
            yield rect(x, y, 12, 12, fill=SERIES[place])
            yield label(x + 17, y + 10, name)
            x += 40 + 7 * len(name)


def _bars(operations: Sequence[_Operation], top: int) -> Iterator[str]:
    """A bar for each operation, as long as its share."""
    if not operations:
        return
    yield label(_NAMES, top + 18, "share of the step (operations contain one another)", fill=SOFT)
    most = max(1.0, *(o.share for o in operations)) if operations else 1.0
    for place, operation in enumerate(operations):
        y = top + 28 + place * _BAR
        wide = (WIDTH - _NAMES - _FIGURES) * operation.share / most
        name = operation.name if len(operation.name) <= 34 else f"...{operation.name[-31:]}"
        yield label(_NAMES - 8, y + 14, name, anchor="end")
        yield rect(_NAMES, y + 2, max(wide, 1.0), _BAR - 8, fill=SERIES[0])
        figures = filter(None, (percent(operation.share), seconds(operation.mean_s)))
        yield label(_NAMES + wide + 6, y + 14, ", ".join(figures))
