"""The R-ratio of each component, in their order, on a logarithmic scale.

A calibrated tau_R among the facts moves the limit; what the bands mean is up to the knowledge.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

from ....facts import Fact
from ..port import component_order
from ..safe_text import one_line
from .chart import Chart, chart
from .svg import BAD, GOOD, GROUND, SOFT, described, element, label, line, picture, rect, title

WIDTH, HEIGHT = 800, 400
LEFT, RIGHT, TOP, BOTTOM = 62, 96, 52, 74
MAX_LABELS = 12
_FEW_LABELS = 5
"""Labels where more components fail than can have one."""
_MAX_SHIFT = 66.0
MAX_NAMES = 24
"""With more components than this, the axis shows places instead of names."""
TAU_R = 1.2
_LOWEST, _HIGHEST = 0.1, 1e6
# Lower edge of each band, and its colour.
_BANDS = (
    (0.0, "var(--band-1, #e8f0fb)", "low"), (0.9, "var(--band-2, #e6f4ea)", "baseline"),
    (1.05, "var(--band-3, #f1f8e3)", "tolerated"), (TAU_R, "var(--band-4, #fff4d6)", "excess"),
    (3.0, "var(--band-5, #fde6c8)", "partial"), (10.0, "var(--band-6, #fbd5c5)", "formula"),
    (100.0, "var(--band-7, #f6c0bd)", "wrong"), (1_000.0, "var(--band-8, #eba9ad)", "structure"),
)  # fmt: skip
_text = partial(label, anchor="middle", size=12)


class _Point(NamedTuple):
    name: str
    ratio: float | None
    state: str
    fails: bool


def r_profile(facts: Sequence[Fact]) -> Chart | None:
    """The profile over the ``component_result`` facts; None if fewer than two have a ratio or a
    reason for its absence."""
    limit = _limit(facts)
    points = _points(facts, limit)
    if len(points) < 2:
        return None
    known = [p.ratio for p in points if p.ratio]
    scale = _Scale(len(points), min([0.5, *known]), max([4.0, *(1.4 * r for r in known)]))
    text = _described(points, limit)
    names, labelled = described("r-profile", "R-ratio of each component", text)
    parts = [
        *names, *_bands(scale, limit), *_axes(scale, points), *_marks(scale, points),
        *_labels(scale, points, limit),
    ]  # fmt: skip
    svg = picture(WIDTH, HEIGHT, parts, aria_labelledby=labelled)
    order = sorted(points, key=lambda p: (not p.fails, -(p.ratio or math.inf)))
    rows = [(p.name, _ratio(p).removeprefix("R "), "fails" if p.fails else "") for p in order]
    head = ("Component", "R-ratio", f"Limit {_figure(limit)}")
    return chart("r-profile", "R-ratio of each component", f"{text}.", svg, head, rows)


def r_profile_svg(facts: Sequence[Fact]) -> str | None:
    """The picture alone."""
    found = r_profile(facts)
    return found.svg if found else None


class _Scale:
    """Maps values to coordinates; the vertical axis is logarithmic."""

    def __init__(self, count: int, low: float, high: float) -> None:
        self.count = count
        self.low = max(_LOWEST, min(low, 0.9)) * 0.9
        self.high = min(_HIGHEST, high)
        self.step = (WIDTH - LEFT - RIGHT) / count

    def x(self, place: int) -> float:
        return LEFT + (place + 0.5) * self.step

    def y(self, ratio: float) -> float:
        value = math.log(min(max(ratio, self.low), self.high) / self.low)
        inside = HEIGHT - TOP - BOTTOM
        return HEIGHT - BOTTOM - inside * value / math.log(self.high / self.low)


def _limit(facts: Sequence[Fact]) -> float:
    for fact in facts:
        if fact.kind == "calibrated_limit" and fact.get("limit") == "tau_r" and fact.get("value"):
            return float(str(fact.get("value")))
    return TAU_R


def _points(facts: Sequence[Fact], limit: float) -> list[_Point]:
    rows = (fact for fact in facts if fact.kind == "component_result")
    found = []
    for fact in sorted(rows, key=component_order):
        ratio, state = fact.get("r_ratio"), str(fact.get("state") or "")
        if ratio is None and state in ("", "missing"):
            continue
        value = None if ratio is None else float(str(ratio))
        fails = state in ("nan", "infinite") if value is None else value >= limit
        found.append(_Point(one_line(str(fact.get("component")))[:80], value, state, fails))
    return found


def _described(points: Sequence[_Point], limit: float) -> str:
    fails = [p for p in points if p.fails]
    worst = max(fails, key=lambda p: p.ratio or math.inf, default=None)
    text = f"{len(points)} components, {len(fails)} at or above the limit of {_figure(limit)}"
    return text if worst is None else f"{text}; largest: {worst.name}, {_ratio(worst)}"


def _bands(scale: _Scale, limit: float) -> Iterator[str]:
    right = WIDTH - RIGHT
    edges = [edge for edge, _, _ in _BANDS[1:]] + [math.inf]
    for (low, colour, name), high in zip(_BANDS, edges, strict=True):
        top, bottom = scale.y(high), scale.y(low)
        if bottom - top > 0.05:
            yield rect(LEFT, top, right - LEFT, bottom - top, title(name), fill=colour)
        if bottom - top > 13:
            yield _text(right + 6, (top + bottom) / 2 + 4, name, anchor="start", size=11, fill=SOFT)
    at = scale.y(limit)
    yield line(LEFT, at, right, at, stroke=BAD, stroke_dasharray="5 4")
    said = f"limit {_figure(limit)}"
    yield _text(right - 4, at - 4, said, anchor="end", size=11, fill=BAD, over=True)


def _axes(scale: _Scale, points: Sequence[_Point]) -> Iterator[str]:
    base = HEIGHT - BOTTOM
    ticks = (0.1, 0.3, 1, 3, 10, 100, 1_000, 10_000, 100_000, 1_000_000)
    for tick in ticks:
        if scale.low <= tick <= scale.high:
            at = scale.y(tick)
            yield line(LEFT - 4, at, LEFT, at, stroke=SOFT)
            yield _text(LEFT - 8, at + 4, f"{tick:g}", anchor="end")
    middle = (TOP + base) / 2
    yield _text(14, middle, "R-ratio", transform=f"rotate(-90 14 {middle:.0f})")
    if len(points) <= MAX_NAMES:
        for place, point in enumerate(points):
            x = scale.x(place)
            name = point.name if len(point.name) <= 22 else f"...{point.name[-19:]}"
            turn = f"rotate(-28 {x:.1f} {base + 12})"
            yield _text(x, base + 12, name, anchor="end", size=11, transform=turn)
        return
    every = max(1, 10 ** math.floor(math.log10(len(points) / 2)) // 2)
    while len(points) / every > 20:
        every *= 2
    for place in range(0, len(points), every):
        yield _text(scale.x(place), base + 18, str(place))
    yield _text((LEFT + WIDTH - RIGHT) / 2, base + 42, "component, in the order of the model")


def _marks(scale: _Scale, points: Sequence[_Point]) -> Iterator[str]:
    radius = max(1.5, min(5.0, scale.step / 3))
    one = scale.y(1.0)
    for place, point in enumerate(points):
        x, shown = scale.x(place), title(f"{point.name}: {_ratio(point)}")
        if point.ratio is None:
            # Without a ratio: at the upper edge if it fails, else (a zero baseline) at 1.
            y, colour = (scale.y(scale.high), BAD) if point.fails else (one, SOFT)
            corner, size = (x - radius, y - radius), 2 * radius
            yield rect(*corner, size, size, shown, fill=GROUND, stroke=colour)
            continue
        y, colour = scale.y(point.ratio), BAD if point.fails else GOOD
        yield line(x, one, x, y, stroke=colour, stroke_width=min(2.0, radius / 2))
        yield element("circle", shown, cx=x, cy=y, r=radius, fill=colour)


def _labels(scale: _Scale, points: Sequence[_Point], limit: float) -> Iterator[str]:
    """Names of the failing components: the first, and then the largest, if there is room."""
    failing = [(place, p) for place, p in enumerate(points) if p.fails]
    order = failing[:1] + sorted(failing[1:], key=lambda item: -(item[1].ratio or math.inf))
    room = MAX_LABELS if len(failing) <= MAX_LABELS else _FEW_LABELS
    taken = [(WIDTH - RIGHT - 34.0, 34.0, scale.y(limit) - 4)]  # the name of the limit
    for place, point in order[:room]:
        text = f"{point.name[-34:]} {_ratio(point).removeprefix('R ')}"
        half = 3.5 * len(text)
        beside = half + 6 if place == failing[0][0] and len(failing) > MAX_LABELS else 0.0
        x = min(max(scale.x(place) - beside, LEFT + half), WIDTH - RIGHT - half)
        start = y = scale.y(scale.high if point.ratio is None else point.ratio) - 9
        while any(abs(x - a) < half + b + 4 and abs(y - c) < 13 for a, b, c in taken):
            y -= 3
        if y < 26 or start - y > _MAX_SHIFT:
            continue
        taken.append((x, half, y))
        yield _text(x, y, text, fill=BAD, font_weight="600", over=True)
    hidden = len(failing) - (len(taken) - 1)
    if hidden:
        yield _text(WIDTH - RIGHT, 16, f"and {hidden} more above the limit", anchor="end", fill=BAD)


def _ratio(point: _Point) -> str:
    return point.state if point.ratio is None else f"R {_figure(point.ratio)}"


def _figure(value: float) -> str:
    return f"{value:.3g}" if value < 1e4 else f"{value:.1e}"
