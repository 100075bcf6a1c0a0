"""Metrics that a program prints: a table with the step as its title, as of the cookbook; a mapping
of names to numbers; or a line with the step and pairs of a name and a number. A log of any size is
read piece by piece."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Any

from .tables import MAX_ROWS, STEP_KEYS

if TYPE_CHECKING:
    from ..logs.files import Piece

MIN_ROWS = 3
"""Steps from which on printed numbers are a course."""
_TITLE = re.compile(r"\s*[Ss]tep\s+(\d{1,9})\s*\Z")
_ROW = re.compile(r"\s*│\s*([\w/.:@-]{1,120})\s*│\s*([^\s│]{1,40})\s*│\s*\Z")
_NUMBER = r"[-+]?(?:\d{1,20}(?:\.\d{0,20})?|\.\d{1,20})(?:[eE][-+]?\d{1,3})?|nan|inf|-inf"
_MAPPING = re.compile(r"\s*(?:[^{}]{0,80}\s)?(\{[^{}]{3,4000}\})\s*\Z")
_ENTRY = re.compile(rf"['\"]([\w/.:@-]{{1,120}})['\"]\s*:\s*['\"]?({_NUMBER})['\"]?\s*(?=[,}}])")
_STEP = re.compile(r"\b(?:[Ss]tep|[Ii]ter(?:ation)?)\b\s{0,9}[:=#]?\s{0,9}(\d{1,9})\b")
_PAIR = re.compile(
    rf"\b([A-Za-z][\w/.-]{{0,60}})\s{{0,9}}[:=]?\s{{0,9}}({_NUMBER})(?=[\s,;|)\]%]|\Z)"
)
# Names of figures printed next to the step; only unmistakable names count.
_METRIC = re.compile(r"(?:\A|[/_.])(?:loss|nll|reward|kl|entropy|perplexity|grad_norm)(?:\Z|[/_.])")
# The data that a figure is of, if its name does not say: the last such word before it.
_DATA = re.compile(
    r"(?i)\b(?:(train(?:ing)?)|eval(?:uation)?|val(?:id(?:ation)?)?|test|dev|held[- ]?out)\b"
)
_TELLING = "[Ss]tep|[Ii]ter|│|loss|nll|reward|kl|entropy|perplexity|grad_norm"
_MAX_LINE = 4_000
_MAX_LINES = 300_000
"""Lines with metrics that a log may have; a log of model output has more, and is not searched."""


Row = tuple[int, dict[str, float]]
"""Numbers by name, and their line."""


class PrintedMetrics:
    """Rows of metrics by step of the last run that a text shows: a step far below the one before
    begins another run."""

    def __init__(self) -> None:
        self._rows: list[Row] = []
        self._table: dict[str, float] = {}
        self._start = self._looked_at = 0

    def feed(self, piece: Piece) -> None:
        """Take whole lines of a log."""
        data, line = piece.data, piece.line
        at = counted = 0
        telling = _telling()
        while self._looked_at <= _MAX_LINES and (hit := telling.search(data, at)):
            start = data.rfind(b"\n", 0, hit.start()) + 1
            end = data.find(b"\n", hit.end())
            at = end if end >= 0 else len(data)
            line += data.count(b"\n", counted, start)
            counted = start
            self._looked_at += 1
            if at - start <= _MAX_LINE:
                self.take(line, data[start:at].decode("utf-8", "replace").rstrip())

    def take(self, number: int, line: str) -> None:
        """Take one line."""
        title, cell = _TITLE.match(line), _ROW.match(line)
        if title:
            self._end_table()
            self._table, self._start = {"step": float(title[1])}, number
        elif cell and self._table:
            value = _number(cell[2])
            # The cookbook does not print all figures of a time; a part of them misleads.
            if value is not None and not cell[1].startswith("time/"):
                self._table[cell[1]] = value
        elif row := _of_line(line):
            self._add(number, row)

    def rows(self) -> list[Row]:
        """After the last line; none if the log has too much that looks like them."""
        self._end_table()
        rows = self._rows if self._looked_at <= _MAX_LINES else []
        # Rows with a step and rows without are of different tables.
        stepped = [each for each in rows if "step" in each[1]]
        if len(stepped) * 2 >= len(rows):
            return stepped
        return [each for each in rows if "step" not in each[1]]

    def _end_table(self) -> None:
        if len(self._table) > 1:
            self._add(self._start, self._table)
        self._table = {}

    def _add(self, number: int, row: dict[str, float]) -> None:
        step = row.get("step")
        before = self._rows[-1][1].get("step") if self._rows else None
        if step is not None and before is not None and 2 * step <= before:
            self._rows = []
        if self._rows and step is not None and step == before:
            self._rows[-1][1].update(row)
        elif len(self._rows) < MAX_ROWS:
            self._rows.append((number, row))


@cache
def _telling() -> Any:
    """Finds lines that may be of metrics, at hundreds of megabytes a second."""
    import re2

    return re2.compile(_TELLING.encode())


def printed_metrics(lines: Iterable[str]) -> list[Row]:
    """The rows of metrics that lines show."""
    found = PrintedMetrics()
    for number, line in enumerate(lines, 1):
        if len(line) <= _MAX_LINE:
            found.take(number, line)
    return found.rows()


def _of_line(line: str) -> dict[str, float]:
    """The metrics of one line; empty if it has none."""
    mapping = _MAPPING.match(line)
    found: dict[str, float] = {}
    if mapping:
        for name, text in _ENTRY.findall(mapping[1]):
            value = _number(text)
            if value is not None:
                found["step" if name in STEP_KEYS else name] = value
        return found if any(_METRIC.search(name) for name in found) else {}
    step = _STEP.search(line)
    if not step:
        return {}
    for pair in _PAIR.finditer(line):
        value = _number(pair[2])
        if value is not None and _METRIC.search(pair[1]):
            found.setdefault(_of_data(line[: pair.start()]) + pair[1], value)
    return {"step": float(step[1]), **found} if found else {}


def _of_data(before: str) -> str:
    """The prefix of the name of a figure, from the words before it: figures of evaluation data must
    not be mistaken for those of training."""
    said = list(_DATA.finditer(before))
    return "eval/" if said and not said[-1][1] else ""


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isnan(value) or abs(value) < 1e300 or math.isinf(value) else None
