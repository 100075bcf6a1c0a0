"""Recorded figures: what rows answered when they were last counted, and may not fall below."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ...facts import Location, ModelMedicError, Problem
from ...facts.regular_files import read_regular
from .measuring import Figures, Surface, percent

SCHEMA = "modelmedic/surface-figures/1"
MAX_BYTES = 1_000_000
_HINT = "`diagnose kb surface PACKAGE... --record FILE` writes it"


class Record(NamedTuple):
    """The figures of a version of a package; "" is sources of no known version."""

    package: str
    version: str
    figures: Figures


class Fall(NamedTuple):
    """A share that is lower than it was, in percent."""

    package: str
    version: str
    what: str
    before: float
    now: float


def record_of(surface: Surface) -> Record:
    """Return the parts of a surface to keep."""
    return Record(surface.package, surface.version, surface.figures)


def read_records(path: Path) -> list[Record]:
    """The records in a file. Raises :class:`ModelMedicError` (MM309) if it holds none."""
    try:
        plain: Any = json.loads(read_regular(str(path), MAX_BYTES))
        if plain["schema"] != SCHEMA:
            raise ValueError(f"its schema is not {SCHEMA}")
        return [_record(each) for each in plain["packages"]]
    except (OSError, ValueError, LookupError, TypeError) as error:
        message = f"no recorded figures can be read: {error}"
        raise ModelMedicError(Problem("MM309", message, Location(str(path)), _HINT)) from None


def records_text(records: Iterable[Record]) -> str:
    """The content of a file of records."""
    plain = [{"package": each.package, "version": each.version, **each.figures._asdict()}
             for each in records]  # fmt: skip
    lines = ",\n".join("    " + json.dumps(each) for each in plain)
    return f'{{\n  "schema": "{SCHEMA}",\n  "packages": [\n{lines}\n  ]\n}}\n'


def updated(old: Iterable[Record], new: Iterable[Record]) -> list[Record]:
    """The records of both, by package and version; the new one of two."""
    known = {(each.package, each.version): each for each in (*old, *new)}
    return [known[key] for key in sorted(known)]


def falls(old: Iterable[Record], new: Sequence[Record]) -> list[Fall]:
    """Return the shares that are lower than those recorded for the same version."""
    now = {(each.package, each.version): each.figures for each in new}
    found = []
    for package, version, before in old:
        after = now.get((package, version))
        if after is None:
            continue
        for what, field in (("by rows", "rows"), ("by rows or source", "answered")):
            was = percent(getattr(before, field), before.messages)
            is_ = percent(getattr(after, field), after.messages)
            if is_ < was:
                found.append(Fall(package, version, what, was, is_))
    return found


def _record(plain: Any) -> Record:
    counts = [plain[name] for name in Figures._fields]
    if not all(isinstance(count, int) and count >= 0 for count in counts):
        raise ValueError("a count is not a number")
    return Record(str(plain["package"]), str(plain["version"]), Figures(*counts))
