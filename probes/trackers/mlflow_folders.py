"""The folder of an MLflow run: one file a metric with a line (time, value, step) each, one file a
parameter."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from ...facts.problems import Location, ModelMedicError
from ...facts.progress import Progress
from ...reading.text.files import Ending, decode, read_lines, read_text
from ..metrics.tables import number_of
from .series import Series

META, METRICS, PARAMS = "meta.yaml", "metrics", "params"
MAX_FILES = 2_000
MAX_DEPTH = 6
MAX_BYTES = 200_000_000
_MAX_VALUE = 500


def looks_like_mlflow(folder: Path) -> bool:
    """Whether a folder is that of one run."""
    return os.path.isfile(folder / META) and os.path.isdir(folder / METRICS)


def read_mlflow(folder: Path, progress: Progress) -> Series:
    """The metrics and the parameters of a run."""
    series = Series(str(folder))
    broken = 0
    for name, path in _files(folder / METRICS, series):
        ending = Ending(ends_early=True)
        broken += _read_metric(series, name, path, ending, progress)
        if series.full:
            series.problem("MM442", "the run is long: values beyond the first ones are left out")
        if series.full or ending.interrupted:
            break
    if broken:
        series.problem("MM441", f"{broken:,} lines of metrics cannot be used")
    for name, path in _files(folder / PARAMS, series):
        try:
            text, cut = read_text(path, _MAX_VALUE)
        except ModelMedicError:
            continue
        if not cut:
            series.set(name, _value(text.strip()))
    return series


def _value(text: str) -> str | float:
    try:
        return float(text)
    except ValueError:
        return text


def _files(folder: Path, series: Series) -> Iterator[tuple[str, Path]]:
    """The files below a folder in the order of their names, which are paths: ``env/all/reward``."""
    found: list[tuple[str, Path]] = []
    for place, folders, names in os.walk(folder):
        depth = len(Path(place).relative_to(folder).parts)
        folders[:] = sorted(folders) if depth < MAX_DEPTH else []
        for name in sorted(names):
            path = Path(place, name)
            if not path.is_symlink():
                found.append((path.relative_to(folder).as_posix(), path))
        if len(found) > MAX_FILES:
            series.problem("MM442", f"more than {MAX_FILES:,} files; the others are left out")
            break
    yield from sorted(found)[:MAX_FILES]


def _read_metric(series: Series, name: str, path: Path, ending: Ending, progress: Progress) -> int:
    """Take the values of one metric; how many lines cannot be used."""
    broken = 0
    try:
        for number, line in enumerate(read_lines(path, MAX_BYTES, ending, progress)):
            words = decode(line.raw).split()
            value = number_of(_value(words[1])) if len(words) in (2, 3) else None
            step = words[2] if len(words) == 3 else str(number)
            if value is None or not step.isdecimal():
                broken += bool(words)
            else:
                series.add(int(step[:18]), name, value)
            if series.full:
                break
    except ModelMedicError as error:
        series.problems.extend(error.problems)
    if ending.cut:
        text = f"{name} is long: what follows is left out"
        series.problems.append(ending.problem(text, Location(series.name)))
    return broken
