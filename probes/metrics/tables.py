"""Tables of numbers by training step: metrics.jsonl, plain JSONL, CSV, and exports of trackers.

The cookbook's timing keys come in two generations (``time/forward_backward_async`` and
``time/forward_backward``) and two forms: ``time/<name>`` for one call in a step, else
``time/<name>:total|count|mean|max``. All of them are read, with their names unchanged.
"""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from ...facts.problems import Location, Problem
from ...facts.progress import UNWATCHED, Progress
from ...reading.text.files import (
    Ending,
    LineProblems,
    decode,
    first_value,
    read_lines,
    read_rows,
    read_text,
)

MAX_ARRAY = 64_000_000
_STEP = "Step"
_BETWEEN = " - "  # of the run and the metric in the columns of wandb
_RANGES = ("__MIN", "__MAX")
_TENSORBOARD = ("Wall time", "Step", "Value")
_TAG = re.compile(r"-tag-(.{1,200})\.csv\Z")


def columns_of(names: Sequence[str], file: str) -> list[str]:
    """The columns under the names of their metrics; empty for a column that is left out. Of several
    runs in one table the first is taken."""
    if tuple(names) == _TENSORBOARD:
        tag = _TAG.search(file)
        return ["", "step", tag[1].replace("_", "/", 1) if tag else "value"]
    if not names or names[0] != _STEP:
        return list(names)
    runs = {name.partition(_BETWEEN)[0]: None for name in names[1:] if _BETWEEN in name}
    first = next(iter(runs), "")
    found = ["step"]
    for name in names[1:]:
        run, mark, metric = name.partition(_BETWEEN)
        other = name.endswith(_RANGES) or (mark and run != first)
        found.append("" if other else metric if mark else name)
    return found


def records(path: Path) -> Iterator[tuple[int, Any]]:
    """The values of a JSON array with their numbers, counted from 1; of a broken one those before
    the break, and None. Raises MM440 if the file cannot be read."""
    text, _ = read_text(path, MAX_ARRAY)
    yield from enumerate(_values(text), 1)


def first_record(head: bytes) -> Any:
    """The first value of an array that starts with ``head``, or None."""
    return next(_values(head.decode("utf-8-sig", "replace")), None)


def _values(text: str) -> Iterator[Any]:
    at = text.find("[") + 1
    if text[: at - 1].strip("\ufeff \t\r\n") or not at:
        return
    decoder = json.JSONDecoder()
    while True:
        while at < len(text) and text[at] in " \t\r\n,":
            at += 1
        if text[at : at + 1] == "]":
            return
        try:
            value, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            yield None
            return
        yield value


MAX_BYTES = 200_000_000
MAX_ROWS = 100_000
MAX_VALUES = 3_000_000
STEP_KEYS = ("step", "_step", "global_step", "iteration", "progress/batch")
_PREFIX = "time/"
_NOT_FINITE = {"nan": math.nan, "inf": math.inf, "infinity": math.inf, "-inf": -math.inf,
               "-infinity": -math.inf}  # fmt: skip
_TOO_LARGE = 1e300
# The distillation loop calls its round of sampling as the SDK calls each sample in it.
_DISTILS = {"sample", "train", "do_train_step_and_get_sampling_client"}
_LOST = "its values are missing from the figures"


class Call(NamedTuple):
    """The calls of one operation in one step, times in seconds."""

    total: float
    times: int
    longest: float


@dataclass(slots=True)
class MetricRow:
    """The numbers of one step, and the line of the first of them."""

    step: int
    line: int
    values: dict[str, float] = field(default_factory=dict)
    calls: dict[str, Call] = field(default_factory=dict)


@dataclass(slots=True)
class Table:
    """Rows in the order of their steps; problems with lines that cannot be used (MM441, MM442)."""

    name: str
    rows: list[MetricRow]
    problems: list[Problem]


def read_table(path: Path, progress: Progress = UNWATCHED) -> Table:
    """The table of a JSONL or CSV file. Raises MM440 if the file cannot be read."""
    ending = Ending(ends_early=True)
    bad = LineProblems(path, _LOST)
    head = next(iter(read_lines(path, MAX_BYTES)), None)
    raw = head.raw.lstrip(b"\xef\xbb\xbf \t") if head else b""
    is_json = not raw or raw.startswith(b"{")
    reader = _array_rows if raw.startswith(b"[") else _json_rows if is_json else _csv_rows
    source = reader(path, ending, bad, progress)
    collected = _Rows()
    for number, values in source:
        if not collected.take(number, values):
            break
    table = Table(str(path), collected.finish(), bad.all())
    lost = collected.bad_steps + (collected.without_step if collected.by_step else 0)
    if lost:
        text = f"{lost:,} rows name no step or none that can be used; {_LOST}"
        table.problems.append(Problem("MM441", text, Location(table.name)))
    if ending.cut or collected.full:
        text = f"what follows its first {len(table.rows):,} steps is left out"
        table.problems.append(ending.problem(text, Location(table.name)))
    return table


def table_of_values(
    name: str, source: Iterator[tuple[int, dict[str, float]]], problems: list[Problem]
) -> Table:
    """A table of numbers by step that were read elsewhere; ``problems`` are those of reading."""
    collected = _Rows()
    for number, values in source:
        collected.take(number, values)
    return Table(name, collected.finish(), problems)


class _Rows:
    """Merges rows by step. Of two values of one metric at one step the later is taken: it stems
    from a run that was resumed before that step."""

    def __init__(self) -> None:
        self.by_step: dict[int, MetricRow] = {}
        self.loose: list[MetricRow] = []
        self.without_step = self.bad_steps = 0
        self.full = False
        self._values = 0

    def take(self, number: int, values: Mapping[str, float]) -> bool:
        steps = (step_of(values[key]) for key in STEP_KEYS if key in values)
        step = next((each for each in steps if each is not None), None)
        self._values += len(values)
        if len(self.by_step) + len(self.loose) >= MAX_ROWS or self._values > MAX_VALUES:
            self.full = True
            return False
        if step is None and any(key in values for key in STEP_KEYS):
            self.bad_steps += 1
        elif step is None:
            self.without_step += 1
            self.loose.append(MetricRow(len(self.loose), number, dict(values)))
        else:
            row = self.by_step.setdefault(step, MetricRow(step, number))
            row.values.update(values)
        return True

    def finish(self) -> list[MetricRow]:
        rows = [self.by_step[step] for step in sorted(self.by_step)] or self.loose
        for row in rows:
            row.calls = _calls(row.values)
            row.values = {k: v for k, v in row.values.items()
                          if k not in STEP_KEYS and not k.startswith(_PREFIX)}  # fmt: skip
        return rows


def step_of(value: float) -> int | None:
    """The number of a step, or None if the value is not a valid step."""
    usable = math.isfinite(value) and 0 <= value < 2**53 and value == int(value)
    return int(value) if usable else None


def _json_rows(
    path: Path, ending: Ending, bad: LineProblems, progress: Progress
) -> Iterator[tuple[int, dict[str, float]]]:
    for row in read_rows(path, MAX_BYTES, ending, progress):
        if row.error:
            cut = " (the file ends within this line)" if ending.open_line else ""
            bad.add(row.number, row.error + cut)
        elif not isinstance(row.value, dict):
            bad.add(row.number, "the line is not a JSON object")
        else:
            found = ((key, number_of(value)) for key, value in row.value.items())
            yield row.number, {key: value for key, value in found if value is not None}


def _array_rows(
    path: Path, ending: Ending, bad: LineProblems, progress: Progress
) -> Iterator[tuple[int, dict[str, float]]]:
    with progress.part(path.name, unit="rows", ends_early=True) as step:
        for number, value in records(path):
            if not isinstance(value, dict):
                bad.add(number, "the value is not a JSON object")
                continue
            found = ((key, number_of(each)) for key, each in value.items())
            yield number, {key: each for key, each in found if each is not None}
            if not step(1):
                ending.cut = ending.interrupted = True
                return


def number_of(value: Any) -> float | None:
    """A JSON value as a number; NaN and infinity also if they are written as text."""
    if isinstance(value, bool):
        return None
    if isinstance(value, (int, float)):
        if abs(value) <= _TOO_LARGE or value != value:
            return float(value)
        return math.inf if value > 0 else -math.inf
    return _NOT_FINITE.get(value.strip().lower()) if isinstance(value, str) else None


def _csv_rows(
    path: Path, ending: Ending, bad: LineProblems, progress: Progress
) -> Iterator[tuple[int, dict[str, float]]]:
    numbers: list[int] = []

    def texts() -> Iterator[str]:
        for line in read_lines(path, MAX_BYTES, ending, progress):
            if line.too_long:
                bad.add(line.number, "the line is too long")
            elif line.raw.strip():
                numbers.append(line.number)
                yield decode(line.raw).replace("\0", "")

    lines = texts()
    first = next(lines, "")
    separator = max(",;\t", key=first.count)
    try:
        header = [name.strip() for name in next(csv.reader([first], delimiter=separator), [])]
    except csv.Error as error:
        bad.add(numbers[0], f"not valid CSV: {error}")
        return
    names = columns_of(header, path.name)
    reader = csv.reader(lines, delimiter=separator)
    while True:
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            bad.add(numbers[-1], f"not valid CSV: {error}")
            continue
        if len(cells) != len(names):
            bad.add(numbers[-1], f"{len(cells)} cells under {len(names)} columns")
            continue
        found = ((name, _cell(cell)) for name, cell in zip(names, cells, strict=True))
        yield numbers[-1], {name: value for name, value in found if name and value is not None}


def _cell(text: str) -> float | None:
    try:
        return number_of(float(text)) if text.strip() else None
    except ValueError:
        return None


def _calls(values: Mapping[str, float]) -> dict[str, Call]:
    """Operations from the ``time/`` keys of a row; negative and non-finite times are left out."""
    usable = {k.removeprefix(_PREFIX): v for k, v in values.items()
              if k.startswith(_PREFIX) and math.isfinite(v) and v >= 0}  # fmt: skip
    calls: dict[str, Call] = {}
    for key, value in usable.items():
        name, _, part = key.rpartition(":")
        if part == "total" and name:
            count = max(int(usable.get(f"{name}:count", 1)), 1)
            longest = usable.get(f"{name}:max", value / count)
            calls[name] = Call(value, count, longest)
        elif not name and key == "sampling_time_mean":
            calls["sampling_time"] = Call(value, 1, usable.get("sampling_time_max", value))
        elif not name and not key.startswith("sampling_time_"):
            calls[key] = Call(value, 1, value)
    if calls.keys() >= _DISTILS:
        whole = calls["sample"].longest
        calls.setdefault("sampling", Call(whole, 1, whole))
    return calls


def _is_list_of_objects(value: Any) -> bool:
    """Whether a value is a list of objects: rows of records have them (the turns of a rollout),
    rows of metrics do not."""
    return isinstance(value, list) and any(isinstance(each, dict) for each in value)


def looks_like_table(head: bytes) -> bool:
    """Whether the head of a file is a table of numbers by step, in JSONL or CSV."""
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    value = first_record(head) if start == b"[" else first_value(head)
    if isinstance(value, dict):
        numbers = {k for k, v in value.items() if isinstance(k, str) and number_of(v) is not None}
        steps = numbers & set(STEP_KEYS)
        if any(k.startswith(_PREFIX) for k in numbers):
            return True
        return bool(steps and numbers - steps) and not any(map(_is_list_of_objects, value.values()))
    lines = head[:65_536].decode("utf-8", "replace").splitlines()
    if value is not None or len(lines) < 2:
        return False
    separator = max(",;\t", key=lines[0].count)
    names = columns_of([n.strip(' "') for n in lines[0].lstrip("\ufeff").split(separator)], "")
    cells = [cell.strip('"') for cell in lines[1].split(separator)]
    at = next((i for i, name in enumerate(names) if name in STEP_KEYS), None)
    return at is not None and len(cells) == len(names) > 1 and _cell(cells[at]) is not None
