"""Layered drawing of a graph (Sugiyama's method): boxes in columns next to their targets, long
arrows through bends, few crossings by sorting each column by the means of its neighbours."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from ..safe_text import one_line

WIDTH, GAP_Y, LINE, PAD = 230, 16, 15, 8
_GAP_X, _LABEL_GAP_X = 48, 140
_CHARS, _MAX_LINES = 32, 5
_SWEEPS = 6


class Box(NamedTuple):
    """A node. ``kind`` chooses the look; ``link`` is the target of a click."""

    name: str
    kind: str
    text: str
    link: str = ""


class Arrow(NamedTuple):
    """An edge between two boxes; ``kind`` is plain, weak, against or unknown."""

    source: str
    target: str
    label: str = ""
    kind: str = "plain"


class Graph(NamedTuple):
    """Boxes in reading order, and arrows."""

    title: str
    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]


class Placed(NamedTuple):
    """A box in its place, with its text in lines."""

    box: Box
    lines: tuple[str, ...]
    x: int
    y: int
    height: int


class Layout(NamedTuple):
    """Boxes in their places, and for each arrow the (column, height) of each place it passes from
    its source to its target; ``step`` is the distance of columns."""

    placed: Mapping[str, Placed]
    routes: Sequence[Sequence[tuple[int, int]]]
    step: int
    width: int
    height: int


def layout(graph: Graph) -> Layout:
    """Place every box and arrow; equal graphs give equal drawings."""
    step = WIDTH + (_LABEL_GAP_X if any(arrow.label for arrow in graph.arrows) else _GAP_X)
    edges, column = _columns(graph)
    columns, chains = _with_bends(column, edges)
    _order(columns, chains)
    texts = {box.name: _wrapped(box.text) for box in graph.boxes}
    height = {name: len(lines) * LINE + 2 * PAD for name, lines in texts.items()}
    middle, tall = _heights(columns, height)
    placed = {
        box.name: Placed(
            box,
            texts[box.name],
            column[box.name] * step,
            middle[box.name] - height[box.name] // 2,
            height[box.name],
        )
        for box in graph.boxes
    }
    routes = []
    for arrow, chain in zip(graph.arrows, chains, strict=True):
        first = column[chain[0]]
        route = [(first + place, middle[name]) for place, name in enumerate(chain)]
        routes.append(route if chain[0] == arrow.source else route[::-1])
    return Layout(placed, routes, step, max(len(columns) - 1, 0) * step + WIDTH, tall)


Edge = tuple[str, str]


def _columns(graph: Graph) -> tuple[list[Edge], dict[str, int]]:
    """The arrows, reversed if they would close a cycle, and the column of each box: the length of
    the longest path to it, then as near as possible to its targets."""
    finished, back = _depth_first(graph)
    edges = [(t, s) if (s, t) in back else (s, t) for s, t, *_ in graph.arrows]
    targets: dict[str, list[str]] = {name: [] for name in finished}
    for source, target in edges:
        if source != target:
            targets[source].append(target)
    column = {box.name: 0 for box in graph.boxes}
    for name in reversed(finished):
        for target in targets[name]:
            column[target] = max(column[target], column[name] + 1)
    for name in finished:
        column[name] = min((column[target] - 1 for target in targets[name]), default=column[name])
    return edges, column


def _depth_first(graph: Graph) -> tuple[list[str], set[Edge]]:
    """The boxes in post-order (each after its targets), and the back edges."""
    targets: dict[str, list[str]] = {box.name: [] for box in graph.boxes}
    for arrow in graph.arrows:
        targets[arrow.source].append(arrow.target)
    back: set[Edge] = set()
    begun: set[str] = set()
    finished: dict[str, None] = {}
    for start, first in targets.items():
        stack = [] if start in begun else [(start, iter(first))]
        begun.add(start)
        while stack:
            name, rest = stack[-1]
            following = next(rest, None)
            if following is None:
                finished[name] = None
                stack.pop()
            elif following not in begun:
                begun.add(following)
                stack.append((following, iter(targets[following])))
            elif following not in finished:
                back.add((name, following))
    return list(finished), back


def _with_bends(
    column: Mapping[str, int], edges: Sequence[Edge]
) -> tuple[list[list[str]], list[list[str]]]:
    """The columns with a place for every long arrow in each column that it passes, and the arrows
    as chains of places."""
    columns: list[list[str]] = [[] for _ in range(max(column.values(), default=-1) + 1)]
    for name, number in column.items():
        columns[number].append(name)
    chains = []
    for number, (source, target) in enumerate(edges):
        chain = [source]
        for place in range(column[source] + 1, column[target]):
            chain.append(f"\0{number} {place}")
            columns[place].append(chain[-1])
        chains.append([*chain, target])
    return columns, chains


def _order(columns: list[list[str]], chains: Sequence[Sequence[str]]) -> None:
    """Sort each column by the places of its neighbours, in sweeps back and forth."""
    before: dict[str, list[str]] = {}
    after: dict[str, list[str]] = {}
    for chain in chains:
        for left, right in pairwise(chain):
            before.setdefault(right, []).append(left)
            after.setdefault(left, []).append(right)
    for sweep in range(_SWEEPS):
        forwards = sweep % 2 == 0
        beside = before if forwards else after
        numbers = range(1, len(columns)) if forwards else range(len(columns) - 2, -1, -1)
        for number in numbers:
            other = columns[number - 1 if forwards else number + 1]
            columns[number] = _sorted(columns[number], other, beside)


def _sorted(
    names: Sequence[str], other: Sequence[str], beside: Mapping[str, list[str]]
) -> list[str]:
    """Names by the mean place of their neighbours in the other column, or by their own."""
    place = {name: n / len(other) for n, name in enumerate(other)}
    wanted = {}
    for n, name in enumerate(names):
        known = [place[other] for other in beside.get(name, ()) if other in place]
        wanted[name] = sum(known) / len(known) if known else n / len(names)
    return sorted(names, key=wanted.__getitem__)


def _heights(
    columns: Sequence[Sequence[str]], height: Mapping[str, int]
) -> tuple[dict[str, int], int]:
    """The middle of every place, each column centred, and the height of the drawing."""
    tall = [sum(height.get(n, 0) + GAP_Y for n in names) - GAP_Y for names in columns]
    most = max(tall, default=0)
    middle = {}
    for names, own in zip(columns, tall, strict=True):
        y = (most - own) // 2
        for name in names:
            middle[name] = y + height.get(name, 0) // 2
            y += height.get(name, 0) + GAP_Y
    return middle, most


def _wrapped(text: str) -> tuple[str, ...]:
    lines = textwrap.wrap(one_line(text), _CHARS) or [""]
    if len(lines) > _MAX_LINES:
        lines = [*lines[: _MAX_LINES - 1], lines[_MAX_LINES - 1][: _CHARS - 1] + "…"]
    return tuple(lines)
