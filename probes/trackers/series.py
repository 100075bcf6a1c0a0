"""Collects the data of trackers: values by step and name, within bounds, and settings."""

from __future__ import annotations

from collections.abc import Iterator

from ...facts.problems import Location, Problem
from ..metrics.tables import MAX_ROWS, Table, table_of_values

MAX_VALUES = 400_000
MAX_SETTINGS = 200
_MAX_NAME = 200


class Series:
    """The values of one run. Of two of one name at one step the later is kept."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.settings: dict[str, str | float] = {}
        self.problems: list[Problem] = []
        self._steps: dict[int, dict[str, float]] = {}
        self._count = 0

    @property
    def full(self) -> bool:
        """Whether no more values are taken."""
        return self._count >= MAX_VALUES

    def add(self, step: int, name: str, value: float) -> None:
        """Take a value, unless there are too many."""
        if not self.full and 0 <= step < 2**53:
            self._count += 1
            self._steps.setdefault(step, {})[name[:_MAX_NAME]] = value

    def set(self, name: str, value: object) -> None:
        """Take a setting that is a number or a short text."""
        if len(self.settings) >= MAX_SETTINGS or isinstance(value, bool):
            return
        if isinstance(value, (int, float)) or (isinstance(value, str) and len(value) < 200):
            self.settings[name[:_MAX_NAME]] = value

    def problem(self, code: str, message: str, hint: str = "") -> None:
        """Note a problem of reading."""
        self.problems.append(Problem(code, message, Location(self.name), hint))

    def table(self) -> Table:
        """The values as a table of the metrics probe; of very many steps evenly chosen ones."""
        steps = sorted(self._steps)
        stride = -(-len(steps) // MAX_ROWS) or 1
        if stride > 1:
            self.problem("MM442", f"{len(steps):,} steps; one in {stride} is used")
        return table_of_values(self.name, self._rows(steps[::stride]), self.problems)

    def _rows(self, steps: list[int]) -> Iterator[tuple[int, dict[str, float]]]:
        for number, step in enumerate(steps, 1):
            yield number, {"step": float(step), **self._steps[step]}
