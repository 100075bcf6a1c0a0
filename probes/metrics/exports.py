"""Tables that experiment trackers export: CSV of the pages of wandb and TensorBoard, and arrays of
records, as the API of wandb gives them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ...reading.text.files import read_text

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
    the break, and None. Raises MM440 where the file cannot be read."""
    text, _ = read_text(path, MAX_ARRAY)
    yield from enumerate(_values(text), 1)


def first_record(head: bytes) -> Any:
    """The first value of an array of which ``head`` is the start, or None."""
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
