"""The course that the verdict is about as eight lines of text of at most 80 columns."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from ....engine.diagnosis.report import Report
from ..layout import Line
from .course import Course, Point, course_of_verdict
from .run_course import figure, in_finding, scale_of

_ROWS, _COLUMNS, _SCALE = 5, 66, 9
_WIDE, _HIGH = 2 * _COLUMNS, 4 * _ROWS
_BLANK = 0x2800
# Bits of a braille cell, by column and by row from above.
_DOTS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))
_MARK, _CHANGE, _LIMIT = "▲", "╷", "╌"
MAX_TITLE = 80


def plot_lines(report: Report) -> Iterator[Line]:
    """The plot, if the facts have the series of a finding."""
    course = course_of_verdict(report)
    if course is None or not any(math.isfinite(value) for _, value in course.points):
        return
    yield Line()
    yield Line(_title(course), style="dim", keep=True)
    low, high = scale_of(course)
    rows = _cells(course, low, high)
    scale = [figure(course, high), *[""] * (_ROWS - 2), figure(course, low)]
    for name, cells in zip(scale, rows, strict=True):
        yield Line(f"{name:>{_SCALE}} ┤{cells}".rstrip(), keep=True)
    yield from (Line(line, keep=True) for line in _axis(course))


def _title(course: Course) -> str:
    text = f"{course.label}: {in_finding(course)}"
    return text if len(text) <= MAX_TITLE else f"{text[: MAX_TITLE - 3]}..."


def _cells(course: Course, low: float, high: float) -> list[str]:
    """The rows of the plot: the course in dots, the limit behind it."""
    cells = [[_BLANK] * _COLUMNS for _ in range(_ROWS)]
    for x, least, most in _strokes(course.points, low, high):
        for y in range(least, most + 1):
            cells[_ROWS - 1 - y // 4][x // 2] |= _DOTS[x % 2][3 - y % 4]
    limit = course.mark.limit if course.mark else None
    at = None if limit is None else _ROWS - 1 - _height(limit, low, high) // 4
    return [
        "".join(chr(c) if c != _BLANK else _LIMIT if row == at else " " for c in line)
        for row, line in enumerate(cells)
    ]


def _strokes(points: Sequence[Point], low: float, high: float) -> Iterator[tuple[int, int, int]]:
    """Upright strokes of dots (place, lower end, upper end) that join each point to the next; what
    is not finite leaves a gap."""
    known: tuple[int, int] | None = None
    for step, value in points:
        if not math.isfinite(value):
            known = None
            continue
        x, y = _place(step, points, _WIDE), _height(value, low, high)
        before, height = known or (x, y)
        for at in range(before, x + 1):
            # Upright where both have one place: dots that are a column apart touch.
            start = height + round((y - height) * (at - before) / (x - before or 1))
            end = height + round((y - height) * min(1.0, (at + 1 - before) / (x - before or 1)))
            yield at, min(start, end), max(start, end)
        known = x, y


def _place(step: int, points: Sequence[Point], wide: int) -> int:
    first, last = points[0][0], points[-1][0]
    part = (step - first) / (last - first or 1)
    return round(min(max(part, 0.0), 1.0) * (wide - 1))


def _height(value: float, low: float, high: float) -> int:
    return round((value / 4 - low / 4) / (high / 4 - low / 4) * (_HIGH - 1))


def _axis(course: Course) -> Iterator[str]:
    """The axis with the first bad step, and the steps at its ends."""
    line, names = ["─"] * _COLUMNS, [" "] * _COLUMNS
    first, last = str(course.points[0][0]), str(course.points[-1][0])
    names[: len(first)], names[-len(last) :] = first, last
    if course.change:
        line[_place(course.change.step, course.points, _COLUMNS)] = _CHANGE
    step = course.mark.step if course.mark else None
    if step is not None:
        at = _place(step, course.points, _COLUMNS)
        line[at] = _MARK
        said = str(step)
        start = min(max(at - len(said) // 2, len(first) + 1), _COLUMNS - len(last) - len(said) - 1)
        if step not in (course.points[0][0], course.points[-1][0]):
            names[start : start + len(said)] = said
    yield " " * (_SCALE + 1) + "└" + "".join(line)
    yield f"{'step':>{_SCALE}}  " + "".join(names)
