"""The outputs of a notebook's cells as lines of text, within bounds."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...facts.problems import Location, Problem
from ...facts.progress import Progress
from ...reading.text.files import Ending, read_lines
from ...reading.text.notebooks import printed
from ...reading.text.plain_text import plain_text
from ...reading.text.values import parse_json

MAX_BYTES = 4_000_000_000
MAX_KEPT = 32_000_000
"""Bytes of a notebook apart from its pictures."""
MAX_CELLS = 5_000
MAX_OUTPUT = 2_000_000
_LONG = 4_096
# A line of a notebook that holds a picture or a page as one text.
_DATA = re.compile(rb'\s*"(?:image|application|text|video|audio)/[\w.+-]{1,80}": "')
_CELLS = re.compile(r'"cells"\s*:\s*\[')
_BETWEEN = re.compile(r"[\s,]*")


class Outputs:
    """The lines that all cells have printed, in their order, with an empty line between two."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.lines: list[str] = []
        self.cells: list[tuple[int, list[str]]] = []
        self._starts: list[int] = []

    def add(self, cell: int, text: str) -> None:
        """Add the output of a cell."""
        lines = [line.text for line in plain_text(text, MAX_OUTPUT).lines]
        self.cells.append((cell, lines))
        self._starts.append(len(self.lines) + 1)
        self.lines += [*lines, ""]

    def place(self, number: int) -> str:
        """Cell and line of a line, counted from 1."""
        at = max(bisect_right(self._starts, number) - 1, 0)
        if not self.cells:
            return self.name
        return f"{self.name}#cell {self.cells[at][0]} output:{number - self._starts[at] + 1}"


def read_outputs(path: Path, problems: list[Problem], progress: Progress) -> Outputs:
    """The printed outputs of the cells of a notebook. Raises MM440 if it cannot be opened."""
    outputs = Outputs(str(path))
    text, cut = _without_pictures(path, problems, progress)
    broken = [] if cut else problems
    for number, cell in enumerate(_cells(text, path, broken), 1):
        if number > MAX_CELLS:
            message = f"more than {MAX_CELLS:,} cells; what follows is left out"
            problems.append(Problem("MM442", message, Location(str(path))))
            break
        told = "".join(printed(cell))
        if told.strip():
            outputs.add(number, told)
    return outputs


def _without_pictures(path: Path, problems: list[Problem], progress: Progress) -> tuple[str, bool]:
    """The text of the notebook, and whether it was cut; its pictures, which make it large, are not
    kept in memory."""
    ending = Ending(ends_early=True)
    kept: list[bytes] = []
    size = 0
    for line in read_lines(path, MAX_BYTES, ending, progress):
        raw = line.raw
        if line.too_long:
            continue  # nothing but a picture is as long as that
        if len(raw) > _LONG and (match := _DATA.match(raw)):
            raw = match.group() + (b'",' if raw.endswith(b",") else b'"')
        kept.append(raw)
        size += len(raw)
        if size > MAX_KEPT:
            ending.cut = True
            break
    if ending.cut:
        used = "its first cells are used"
        problems.append(ending.problem(used, Location(str(path))))
    return b"\n".join(kept).decode("utf-8-sig", "replace"), ending.cut


def _cells(text: str, path: Path, problems: list[Problem]) -> Iterator[dict[str, Any]]:
    """The cells; of a notebook that is cut or broken those before the break."""
    data = parse_json(text)
    listed = data.get("cells") if isinstance(data, dict) else None
    if isinstance(listed, list):
        yield from (cell for cell in listed if isinstance(cell, dict))
        return
    count = 0
    if data is None:
        for cell in _one_by_one(text):
            count += 1
            yield cell
    message = "this is not a notebook"
    if count:
        message = f"the notebook is broken: what follows its cell {count} is left out"
    hint = "save the notebook again, as .ipynb"
    problems.append(Problem("MM441", message, Location(str(path)), hint))


def _one_by_one(text: str) -> Iterator[dict[str, Any]]:
    found = _CELLS.search(text)
    at = found.end() if found else len(text)
    decoder = json.JSONDecoder()
    while at < len(text):
        start = _BETWEEN.match(text, at)
        try:
            cell, at = decoder.raw_decode(text, start.end() if start else at)
        except (ValueError, RecursionError):
            return
        if not isinstance(cell, dict):
            return
        yield cell
