"""A graph as SVG: with a style of its own, or with a class for a page that has one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from .layered import LINE, PAD, WIDTH, Arrow, Graph, Placed, layout
from .svg import element, escaped, rect, title

_MAX_LABEL = 22
Route = Sequence[tuple[int, int]]


def graph_svg(graph: Graph, class_: str = "graph", *, styled: bool = False) -> str:
    """One SVG element."""
    drawn = layout(graph)
    width, height = drawn.width + 2, drawn.height + 2
    leaving = Counter(arrow.source for arrow in graph.arrows)
    entering = Counter(arrow.target for arrow in graph.arrows)
    arrows = list(zip(graph.arrows, drawn.routes, strict=True))
    parts = [f"<style>{graph_style()}</style>" if styled else ""]
    for arrow, route in arrows:
        parts += _arrow(arrow, route, drawn.step)
    parts += map(_box, drawn.placed.values())
    for arrow, route in arrows:
        crowded = entering[arrow.target] > leaving[arrow.source]
        parts.append(_label(arrow, route, drawn.step, crowded))
    return element(
        "svg", "".join(parts), xmlns="http://www.w3.org/2000/svg" if styled else "", class_=class_,
        viewBox=f"-1 -1 {width} {height}", width=width, height=height, role="img",
        aria_label=graph.title,
    )  # fmt: skip


def graph_style() -> str:
    """The style sheet of graphs."""
    return Path(__file__).with_name("graph.css").read_text(encoding="utf-8")


def _arrow(arrow: Arrow, route: Route, step: int) -> Iterator[str]:
    """An arrow through its bends; it leaves boxes on the right and enters them on the left."""
    onwards = route[0][0] <= route[-1][0]
    out, into = (WIDTH, 0) if onwards else (0, WIDTH)
    column, y = route[0]
    x = column * step + out
    path = [f"M{x} {y}"]
    for number, (column, height) in enumerate(route[1:], 2):
        near = column * step + into
        middle = (x + near) // 2
        path.append(f"C{middle} {y} {middle} {height} {near} {height}")
        x, y = near, height
        if number < len(route):  # straight through the column
            x = column * step + out
            path.append(f"H{x}")
    yield element("path", class_=arrow.kind, d="".join(path))
    tip = 6 if onwards else -6
    yield element("path", class_=f"tip {arrow.kind}", d=f"M{x} {y}l{-tip} -4v8z")


def _label(arrow: Arrow, route: Route, step: int, crowded: bool) -> str:
    """The label of an arrow, placed at its next column; if many arrows arrive there, at its own."""
    if not arrow.label:
        return ""
    (column, y), (following, height) = route[0], route[1]
    onwards = column <= following
    if crowded:
        x, anchor = column * step + (WIDTH + 6 if onwards else -6), "start" if onwards else "end"
    else:
        x = following * step + (-10 if onwards else WIDTH + 10)
        y, anchor = height, "end" if onwards else "start"
    text = arrow.label if len(arrow.label) <= _MAX_LABEL else arrow.label[: _MAX_LABEL - 1] + "…"
    content = escaped(text) + title(arrow.label)
    return element("text", content, class_="label", x=x, y=y - 4, text_anchor=anchor)


def _box(placed: Placed) -> str:
    box, lines, x, y, height = placed
    parts = [title(box.text), rect(x, y, WIDTH, height, rx=4)]
    for number, line in enumerate(lines):
        parts.append(element("text", escaped(line), x=x + PAD, y=y + PAD + LINE * number + 11))
    drawn = element("g", "".join(parts), class_=box.kind)
    return element("a", drawn, href=box.link) if box.link else drawn
