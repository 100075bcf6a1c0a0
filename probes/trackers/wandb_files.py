"""The file of a wandb run that was not sent (``run-ID.wandb``): a log of messages in blocks, whose
history and configuration hold values as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from ...facts.progress import Progress, Step
from ..metrics.tables import number_of
from .series import Series
from .wire import fields

MARK = b":W&B"
MAX_BYTES = 1_000_000_000
MAX_RECORD = 16_000_000
_HEAD = 7
_BLOCK = 32_768
_FULL, _FIRST, _MIDDLE, _LAST = 1, 2, 3, 4
_HISTORY, _CONFIG, _RUN = 2, 5, 17


def looks_like_wandb(head: bytes) -> bool:
    """Whether ``head`` is the beginning of such a file."""
    return head.startswith(MARK)


def read_wandb(path: Path, file: BinaryIO, size: int, progress: Progress) -> Series:
    """The history and the configuration of a run."""
    series = Series(str(path))
    broken = 0
    with progress.part(path.name, min(size, MAX_BYTES), "bytes", ends_early=True) as step:
        reader = _Blocks(file, step)
        for raw in reader:
            try:
                _take(series, raw)
            except (ValueError, RecursionError):
                broken += 1
            if series.full:
                break
    if reader.ended:
        series.problem("MM407", "the reading was ended; what follows is left out")
    if reader.cut or series.full:
        series.problem("MM442", "the file is long: what follows its first values is left out")
    if reader.wrong or broken:
        series.problem("MM441", "some records are broken and left out")
    return series


class _Blocks:
    """The messages of a file."""

    def __init__(self, file: BinaryIO, step: Step) -> None:
        self._file, self._step = file, step
        self.wrong = self.cut = self.ended = False

    def __iter__(self) -> Iterator[bytes]:
        parts: list[bytes] = []
        size = 0
        for kind, raw in self._fragments():
            if kind in (_FULL, _FIRST):
                parts, size = [], 0
            size += len(raw)
            if size > MAX_RECORD:
                self.wrong = True
                continue
            parts.append(raw)
            if kind in (_FULL, _LAST):
                yield b"".join(parts)
                parts = []

    def _fragments(self) -> Iterator[tuple[int, bytes]]:
        read = 0
        block = self._file.read(_BLOCK)
        at = _HEAD
        while block:
            while at + 7 <= len(block):
                length, kind = int.from_bytes(block[at + 4 : at + 6], "little"), block[at + 6]
                if kind not in (_FULL, _FIRST, _MIDDLE, _LAST):
                    self.wrong = self.wrong or any(block[at:])
                    break  # the rest of a block is empty
                yield kind, block[at + 7 : at + 7 + length]
                at += 7 + length
            read += len(block)
            if read >= MAX_BYTES:
                self.cut = True
                return
            if not self._step(len(block)):
                self.ended = True
                return
            block, at = self._file.read(_BLOCK), 0


def _take(series: Series, raw: bytes) -> None:
    for number, _, value in fields(raw):
        if isinstance(value, bytes):
            if number == _HISTORY:
                _take_history(series, value)
            elif number == _CONFIG:
                _take_config(series, value)
            elif number == _RUN:
                for inner, _, config in fields(value):
                    if inner == 4 and isinstance(config, bytes):
                        _take_config(series, config)


def _take_history(series: Series, raw: bytes) -> None:
    values: dict[str, float] = {}
    step = None
    for number, _, value in fields(raw):
        if number == 1 and isinstance(value, bytes):
            name, found = _item(value)
            if (plain := number_of(found)) is not None:
                values[name] = plain
        elif number == 2 and isinstance(value, bytes):
            step = next((v for n, _, v in fields(value) if n == 1 and isinstance(v, int)), 0)
    if step is None:
        step = int(values.get("_step", 0))
    for name, plain in values.items():
        if not name.startswith("_"):
            series.add(step, name, plain)


def _take_config(series: Series, raw: bytes) -> None:
    for number, _, value in fields(raw):
        if number == 1 and isinstance(value, bytes):
            name, found = _item(value)
            if not name.startswith("_"):
                series.set(name, found.get("value") if isinstance(found, dict) else found)


def _item(raw: bytes) -> tuple[str, Any]:
    """The name and the value of an entry."""
    name, text = "", ""
    nested: list[str] = []
    for number, _, value in fields(raw):
        if isinstance(value, bytes):
            decoded = value.decode("utf-8", "replace")
            if number == 1:
                name = decoded
            elif number == 2:
                nested.append(decoded)
            elif number == 16:
                text = decoded
    return name or "/".join(nested), json.loads(text) if len(text) < 10_000 and text else None
