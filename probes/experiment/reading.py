"""Reads the files of an experiment folder within bounds, each once.

Problems: MM500 a file or folder cannot be read, MM501 it is not valid JSON or YAML (cut off,
binary, nested too deep), MM502 a part has another form than the workflow writes, MM503 a bound left
something out.
"""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any

from ...facts.problems import Location, ModelMedicError, excerpt
from ...reading.text.files import read_text
from ..outcome import Collector

MAX_BYTES = 64_000_000
MAX_ENTRIES = 2_000
MAX_FORM_PROBLEMS = 20
_PARTS = {
    ".": "the stages of this port and all their results", "model_tree": "the trees of Stage 0",
    "results": "the results of Stages 1 to 7", "results/stage7": "the results of Stage 7",
    "tests": "the component tests, and which diverging classes they cover,",
    "patches": "the patches of Stage 4",
}  # fmt: skip


class Folder:
    """The experiment folder at ``root``; problems with its files go to ``collector``."""

    def __init__(self, root: Path, collector: Collector) -> None:
        self.root, self.collector = root, collector
        self.unreadable: set[str] = set()
        self._forms = 0
        self._texts: dict[str, str | None] = {}
        self._closed: list[str] = []
        self._look()

    def _look(self) -> None:
        """Find the folders that may not be read, whose contents are therefore unknown."""
        for name, holds in _PARTS.items():
            path = self.root / name
            if self.is_closed(name) or not os.path.isdir(path):
                continue
            if not os.access(path, os.R_OK | os.X_OK):
                text = f"this folder may not be read; {holds} are not known"
                self._close(name, text, "chmod u+rx FOLDER")

    def _close(self, name: str, text: str, command: str) -> None:
        self._closed.append(name)
        hint = f"give yourself the right to read it, then inspect again: {command}"
        self.collector.problem("MM500", text, Location(self.place(name)), hint)

    def is_closed(self, name: str) -> bool:
        """Whether the file or folder, or a folder above it, may not be read: then nothing is known
        of it, not even that it is missing."""
        return any(closed == "." or f"{name}/".startswith(f"{closed}/") for closed in self._closed)

    def place(self, name: str) -> str:
        """The path of a file for provenance."""
        return str(self.root / name)

    def has(self, name: str) -> bool:
        """Whether the file or folder is there."""
        return os.path.exists(self.root / name)

    def written(self, name: str) -> float | None:
        """Modification time in seconds since 1970."""
        try:
            return (self.root / name).stat().st_mtime
        except OSError:
            return None

    def names(self, folder: str, suffix: str) -> list[str]:
        """Files directly below a folder, as paths below the root, sorted and capped."""
        try:
            entries = (self.root / folder).iterdir()
            found = sorted(entry.name for entry in entries if entry.suffix == suffix)
        except OSError:
            return []
        if len(found) > MAX_ENTRIES:
            self.problem("MM503", f"more than {MAX_ENTRIES} files; the rest is left out", folder)
        return [f"{folder}/{name}" for name in found[:MAX_ENTRIES]]

    def text(self, name: str) -> str | None:
        """The text of a file, or None if there is none or it cannot be read (a problem)."""
        if name not in self._texts:
            self._texts[name] = self._read(name) if self.has(name) else None
        return self._texts[name]

    def _read(self, name: str) -> str | None:
        try:
            text, cut = read_text(self.root / name, MAX_BYTES)
        except ModelMedicError as error:
            why = error.problems[0].message.removeprefix("cannot read the file: ")
            if os.access(self.root / name, os.R_OK):
                self._spoilt("MM500", f"cannot be read: {why}", name)
            else:
                text = f"{name} may not be read; what it says is not known"
                self._close(name, text, "chmod u+r FILE")
            return None
        if cut:
            self._spoilt("MM503", f"is larger than {MAX_BYTES:,} bytes and was left out", name)
            return None
        return text

    def json(self, name: str) -> dict[str, Any] | None:
        """The JSON object of a file, or None if there is none or it is not one (a problem)."""
        text = self.text(name)
        if text is None:
            return None
        try:
            value = json.loads(text.removeprefix("\ufeff"))
        except RecursionError:
            self._spoilt("MM501", "is nested too deep", name)
            return None
        except ValueError as error:
            line = getattr(error, "lineno", 0)
            self._spoilt("MM501", f"is not valid JSON: {str(error)[:120]}", name, line)
            return None
        return self._mapping(value, name, "a JSON object")

    def yaml(self, name: str) -> dict[str, Any] | None:
        """The mapping in a YAML file, read strictly, or None."""
        text = self.text(name)
        if text is None:
            return None
        from ...facts.strict_yaml import load

        try:
            value = load(text, self.place(name)).data
        except ModelMedicError as error:
            first = error.problems[0]
            line = first.where.line if first.where else 0
            self._spoilt("MM501", first.message, name, line)
            return None
        return self._mapping(value, name, "a mapping")

    def _mapping(self, value: Any, name: str, what: str) -> dict[str, Any] | None:
        if isinstance(value, dict):
            return value
        self._spoilt("MM501", f"is not {what}", name)
        return None

    def form(self, name: str, what: str, value: object = None) -> None:
        """Report a part of unexpected form (MM502); only the first ones are shown."""
        self._forms += 1
        if self._forms <= MAX_FORM_PROBLEMS:
            shown = "" if value is None else f", not {excerpt(value)}"
            self.problem("MM502", f"{what}{shown}; this part is left out", name)

    def problem(self, code: str, message: str, name: str, line: int = 0) -> None:
        """Report a problem with a file."""
        self.collector.problem(code, message, Location(self.place(name), line))

    def _spoilt(self, code: str, message: str, name: str, line: int = 0) -> None:
        self.unreadable.add(name)
        hint = "write it again: run its stage once more"
        self.collector.problem(code, f"{name} {message}", Location(self.place(name), line), hint)


def number(value: object) -> float | None:
    """A finite number, or None for anything else (also booleans)."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if math.isfinite(found) else None


def share(value: object) -> float | None:
    """A number from 0 to 1, or None."""
    found = number(value)
    return found if found is not None and 0 <= found <= 1 else None


def size(value: object) -> float | None:
    """A non-negative number, or None."""
    found = number(value)
    return found if found is not None and found >= 0 else None


def cosine(value: object) -> float | None:
    """A number from -1 to 1 (rounding beyond is cut), or None."""
    found = number(value)
    return None if found is None or abs(found) > 1.000001 else max(-1.0, min(1.0, found))


def text_of(value: object) -> str | None:
    """A non-empty text, or None."""
    return value if isinstance(value, str) and value else None


def part(value: object, key: str) -> dict[str, Any]:
    """The mapping below ``key``; empty if there is none."""
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}


def entries(value: object, key: str) -> list[Any]:
    """The list below ``key``, capped; empty if there is none."""
    found = value.get(key) if isinstance(value, dict) else None
    return found[:MAX_ENTRIES] if isinstance(found, list) else []
