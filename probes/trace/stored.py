"""The file of a trace: a JSON line about the run, and one for each quantity, without values.

Problem: MM538 a trace cannot be read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...facts.problems import Location, Problem
from .quantity import Frame, Quantity, Trace

FOLDER = "trace"
SCHEMA = "modelmedic/trace/1"
MAX_BYTES = 256 << 20
MAX_LINES = 200_000


def write_trace(folder: Path, role: str, trace: Trace) -> Path:
    """Write ``folder/trace/ROLE.jsonl``; ``role`` is ``reference`` or ``port``."""
    file = folder / FOLDER / f"{role}.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    head = {"schema": SCHEMA} | trace._asdict()
    del head["quantities"]
    with file.open("w", encoding="utf-8") as opened:
        for line in (head, *(_row(each) for each in trace.quantities)):
            opened.write(json.dumps(line, separators=(",", ":"), allow_nan=False) + "\n")
    return file


def remove_traces(folder: Path) -> None:
    """Remove the traces of an earlier capture."""
    for old in sorted((folder / FOLDER).glob("*.jsonl")):
        old.unlink()


def _row(one: Quantity) -> list[Any]:
    moments = None if one.moments is None else [float(f"{each:.9g}") for each in one.moments]
    return list(one._replace(moments=moments))  # type: ignore[arg-type]


def read_trace(folder: Path, role: str, problems: list[Problem]) -> Trace | None:
    """The trace of a run, or None if there is none or it cannot be read. Never raises."""
    file = folder / FOLDER / f"{role}.jsonl"
    try:
        if not file.is_file():
            return None
        if file.stat().st_size > MAX_BYTES:
            raise ValueError(f"it has more than {MAX_BYTES >> 20} MiB")
        with file.open(encoding="utf-8") as opened:
            head = json.loads(next(opened))
            rows = [json.loads(line) for line, _ in zip(opened, range(MAX_LINES), strict=False)]
        return _checked(head, rows)
    except (OSError, ValueError, TypeError, KeyError, IndexError, StopIteration,
            RecursionError) as error:  # fmt: skip
        text = f"the trace of operations cannot be read: {error}"
        hint = "capture again: diagnose capture FOLDER --hf MODEL --port FILE:CLASS"
        problems.append(Problem("MM538", text[:300], Location(str(file)), hint))
        return None


def _checked(head: Mapping[str, Any], rows: list[list[Any]]) -> Trace:
    if head["schema"] != SCHEMA:
        raise ValueError(f"its schema is not {SCHEMA}")
    frames = [Frame(str(file), int(line), str(name)) for file, line, name in head["frames"]]
    quantities = [_quantity(at, row, len(frames)) for at, row in enumerate(rows)]
    outputs = [int(at) for at in head["outputs"]]
    if any(not 0 <= at < len(quantities) for at in outputs):
        raise ValueError("it ends before its outputs")
    settings = {str(key): float(value) for key, value in head["settings"].items()}
    last = {int(key): int(value) for key, value in head["last"].items()}
    if any(not 0 <= at < len(quantities) for at in last.values()):
        raise ValueError("it ends before its outputs")
    shared = {int(key): int(value) for key, value in head["shared"].items()}
    return Trace(quantities, frames, outputs, last, shared,
                 [str(each) for each in head["uncalled"]], settings, str(head["entry"]),
                 head["complete"] is True, [str(each) for each in head.get("low", ())],
                 int(head.get("built", 0)))  # fmt: skip


def _quantity(at: int, row: list[Any], frames: int) -> Quantity:
    op, inputs, constants, called, module, shape, dtype, moments, value, phase, name, *more = row
    masked, order, patterns = more
    if not re.fullmatch(r"\w{1,200}", op) or not isinstance(constants, dict):
        raise ValueError(f"quantity {at} is not one")
    if any(not 0 <= each < at for each in inputs) or any(not 0 <= each < frames for each in called):
        raise ValueError(f"quantity {at} refers to what is not there")
    found = None if moments is None else tuple(float(each) for each in moments)
    if found is not None and len(found) != 6:
        raise ValueError(f"quantity {at} has no fingerprint")
    return Quantity(op, tuple(map(int, inputs)), constants, tuple(map(int, called)), str(module),
                    tuple(map(int, shape)), str(dtype), found,
                    None if value is None else float(value), int(phase), str(name),
                    float(masked), float(order), tuple(map(int, patterns)))  # fmt: skip
