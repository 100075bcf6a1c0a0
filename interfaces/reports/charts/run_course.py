"""The course of a run: loss, reward, KL and step time above the same steps, with the places where
they change and the place of the finding on each."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ....engine.diagnosis.report import Report
from .chart import Chart, chart
from .course import STEP_TIME, Course, Point, courses_of
from .figures import seconds
from .step_time import PARTS, Step, legend, steps_of
from .svg import (
    BAD,
    GRID,
    SERIES,
    SOFT,
    TEXT,
    WARNING,
    described,
    element,
    label,
    line,
    picture,
    title,
)

WIDTH = 800
_LEFT, _RIGHT, _TOP = 64, 14, 24
_PANEL, _APART = 78, 42
_MAX_WORDS = 44
MAX_AREA_POINTS = 100


class _Frame(NamedTuple):
    """The position of a panel's values in the picture."""

    top: float
    first: int
    last: int
    low: float
    high: float

    def x(self, step: float) -> float:
        """The place of a step, within the panel."""
        part = (step - self.first) / (self.last - self.first or 1)
        return _LEFT + min(max(part, 0.0), 1.0) * (WIDTH - _LEFT - _RIGHT)

    def y(self, value: float) -> float:
        """The place of a value, within the panel."""
        part = (value / 4 - self.low / 4) / (self.high / 4 - self.low / 4)
        return self.top + (1 - min(max(part, 0.0), 1.0)) * _PANEL


def run_course(report: Report) -> Chart | None:
    """The chart of the run; None if the facts hold no series but the step time, which has a chart
    of its own."""
    courses = courses_of(report)
    if not any(course.role != STEP_TIME for course in courses):
        return None
    first = min(course.points[0][0] for course in courses)
    last = max(course.points[-1][0] for course in courses)
    text = " ".join(in_words(course) for course in courses)
    steps = steps_of(fact for _, fact, _ in report.facts) if courses[-1].role == STEP_TIME else []
    steps = _longest(steps, -(-len(steps) // MAX_AREA_POINTS))
    parts, labelled = described("run-course", "Course of the run", text)
    for place, course in enumerate(courses):
        low, high = scale_of(course)
        frame = _Frame(_TOP + place * (_PANEL + _APART), first, last, low, high)
        if course.role == STEP_TIME:
            parts += _areas(steps, frame)
        parts += _panel(course, frame)
    base = _TOP + len(courses) * (_PANEL + _APART) - _APART
    parts += _axis(first, last, base)
    if steps:
        parts += legend(steps, base + 36)
    svg = picture(WIDTH, base + (58 if steps else 40), parts, aria_labelledby=labelled)
    head = ("Series", "First", "Last", "Lowest", "Highest", "Changes", "Finding")
    return chart("run-course", "Course of the run", text, svg, head, [_row(c) for c in courses])


def in_words(course: Course) -> str:
    """One sentence for readers who do not see the picture."""
    first, last = course.points[0], course.points[-1]
    said = f"{course.label}: {figure(course, first[1])} at step {first[0]}, "
    said += f"{figure(course, last[1])} at step {last[0]}"
    more = [_changed(course), in_finding(course)]
    return "; ".join([said, *filter(None, more)]) + "."


def figure(course: Course, value: float) -> str:
    """A value of the series, with its unit."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "infinite"
    return seconds(value) if course.role == STEP_TIME else f"{value:.3g}"


def scale_of(course: Course) -> tuple[float, float]:
    """The lowest and the highest value to show, the limit included."""
    values = [value for _, value in course.points if math.isfinite(value)] or [0.0]
    limit = course.mark.limit if course.mark else None
    values += [limit] if limit is not None and math.isfinite(limit) else []
    low, high = min(values), max(values)
    if course.role == STEP_TIME:
        low = 0.0
    # Divided first: the difference of two large values may be infinite.
    return (
        (low, high)
        if high / 4 - low / 4 > 0
        else (low - (abs(low) or 1) / 2, high + (abs(high) or 1) / 2)
    )


def _changed(course: Course) -> str:
    return f"from step {course.change.step} on {course.change.what}" if course.change else ""


def in_finding(course: Course) -> str:
    """The text of the finding about the series; empty without one."""
    mark = course.mark
    if mark is None:
        return ""
    limit = "" if mark.limit is None else f" (limit {figure(course, mark.limit)})"
    return f"{mark.title}{'' if mark.step is None else f', from step {mark.step}'}{limit}"


def _row(course: Course) -> tuple[str, ...]:
    values = [value for _, value in course.points]
    finite = [value for value in values if math.isfinite(value)]
    ends = (min(finite), max(finite)) if finite else (math.nan, math.nan)
    shown = (figure(course, value) for value in (values[0], values[-1], *ends))
    return (course.label, *shown, _changed(course), in_finding(course))


def _longest(steps: Sequence[Step], every: int) -> list[Step]:
    """The longest step of each group of steps."""
    starts = range(0, len(steps), every or 1)
    return [max(steps[at : at + every], key=lambda step: step.total) for at in starts]


def _areas(steps: Sequence[Step], frame: _Frame) -> Iterator[str]:
    """The parts of the steps, one above the other."""
    below = [0.0] * len(steps)
    for place, name in enumerate(PARTS):
        above = [low + step.parts[place] for low, step in zip(below, steps, strict=True)]
        if above != below:
            ends = [*zip(steps, above, strict=True)]
            ends += reversed([*zip(steps, below, strict=True)])
            places = " ".join(f"{frame.x(s.at):.0f},{frame.y(v):.1f}" for s, v in ends)
            yield element("polygon", title(name), points=places, fill=SERIES[place])
        below = above


def _panel(course: Course, frame: _Frame) -> Iterator[str]:
    name = _cut(course.label)
    colour = TEXT if course.role == STEP_TIME else SERIES[0]
    yield label(_LEFT, frame.top - 8, name, font_weight="600")
    for value in (frame.low, frame.high):
        y = frame.y(value)
        yield line(_LEFT, y, WIDTH - _RIGHT, y, stroke=GRID)
        yield label(_LEFT - 6, y + 4, figure(course, value), anchor="end", size=11, fill=SOFT)
    for run in _finite_runs(course.points):
        places = " ".join(f"{frame.x(s):.0f},{frame.y(v):.1f}" for s, v in run)
        said = title(in_words(course))
        if len(run) == 1:
            yield element("circle", said, cx=frame.x(run[0][0]), cy=frame.y(run[0][1]), r=1.5,
                          fill=colour)  # fmt: skip
        else:
            yield element("polyline", said, points=places, fill="none", stroke=colour,
                          stroke_width=1.5)  # fmt: skip
    yield from _change(course, frame)
    yield from _finding(course, frame)


def _finite_runs(points: Sequence[Point]) -> Iterator[list[Point]]:
    """The stretches without NaN and infinity, where the line has gaps."""
    run: list[Point] = []
    for point in points:
        if math.isfinite(point[1]):
            run.append(point)
        elif run:
            yield run
            run = []
    if run:
        yield run


def _change(course: Course, frame: _Frame) -> Iterator[str]:
    if course.change is None:
        return
    x = frame.x(course.change.step)
    yield line(x, frame.top, x, frame.top + _PANEL, stroke=SOFT, stroke_dasharray="2 3")
    yield _beside(
        x, frame.top + _PANEL + 13, f"step {course.change.step}: {course.change.what}", SOFT
    )


def _finding(course: Course, frame: _Frame) -> Iterator[str]:
    mark = course.mark
    if mark is None:
        return
    colour = BAD if mark.severity in ("error", "blocker") else WARNING
    if mark.limit is not None:
        y = frame.y(mark.limit)
        yield line(_LEFT, y, WIDTH - _RIGHT, y, stroke=colour, stroke_dasharray="5 4")
        yield label(WIDTH - _RIGHT - 4, y - 4, f"limit {figure(course, mark.limit)}", anchor="end",
                    size=11, fill=colour, over=True)  # fmt: skip
    words = _cut(mark.title)
    where = "" if mark.step is None else f"step {mark.step}: "
    yield label(WIDTH - _RIGHT, frame.top - 8, where + words, anchor="end", fill=colour)
    if mark.step is None:
        return
    x = frame.x(mark.step)
    yield line(x, frame.top - 4, x, frame.top + _PANEL, stroke=colour)
    value = next((v for s, v in course.points if s == mark.step), math.nan)
    y = frame.y(value) if math.isfinite(value) else frame.top
    yield element("circle", title(where + mark.title), cx=x, cy=y, r=4, fill=colour)


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_WORDS else f"{text[: _MAX_WORDS - 3]}..."


def _beside(x: float, y: float, text: str, colour: str) -> str:
    anchor = "start" if x < WIDTH / 2 else "end"
    return label(x, y, text, anchor=anchor, size=11, fill=colour)


def _axis(first: int, last: int, base: float) -> Iterator[str]:
    frame = _Frame(0, first, last, 0, 1)
    for part in range(5):
        step = first + (last - first) * part // 4
        if part == 0 or step != first + (last - first) * (part - 1) // 4:
            anchor = "start" if part == 0 else "end" if part == 4 else "middle"
            yield label(frame.x(step), base + 26, str(step), anchor=anchor, fill=SOFT)
    yield label(_LEFT - 6, base + 26, "step", anchor="end", fill=SOFT)
