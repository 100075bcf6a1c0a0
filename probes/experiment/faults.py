"""Stage 3: the places of the failing components, and the verdicts of the script.

Stage 2 tests components alone, so its order is not data path. A failing component is step-like if
every tested composite that contains it fails too, and spike-like if one of them passes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from .components import Component, contains
from .reading import Folder, entries, part, size, text_of

NAME = "results/stage3.json"
_PATTERNS = ("step", "spike", "error")
# Which suspects come first, among those that contain no failing part.
_ORDER = ("step", "unknown", "spike")


class Suspect(NamedTuple):
    """A failing component: its place among the suspects, the shape of its error, and whether a
    failing part of it accounts for it."""

    rank: int
    shape: str
    accounted: bool


def shape_of(component: Component, rows: Sequence[Component], limit: float) -> str:
    """``step``, ``spike``, or ``unknown`` if no tested composite contains the component."""
    if component.status == "error":
        return "unknown"
    around = [row for row in rows if contains(row, component) and row.status != "error"]
    if not around:
        return "unknown"
    return "step" if all(row.failed(limit) for row in around) else "spike"


def add_faults(folder: Folder, rows: Sequence[Component], limit: float) -> dict[str, float | None]:
    """Add one ``fault`` fact for each failing component, in Stage 2 order. Returns the R-ratios
    that Stage 3 saw, by component."""
    scripted, primary = _script(folder)
    known = {row.name for row in rows}
    suspects = rank(rows, limit)
    order = 0
    for row in rows:
        said = scripted.get(row.name)
        suspect = suspects.get(row.name)
        # A test that could not run is a fault of the test; stage3.json lists it all the same.
        if suspect is None and said is None:
            continue
        shape = suspect.shape if suspect else "unknown"
        order += shape == "step"
        folder.collector.add(
            "fault", f"{folder.place('results/stage2.json')}#results[{row.place}]",
            component=row.name, shape=shape, r_ratio=row.r_ratio, index=row.place,
            rank=suspect.rank if suspect else None,
            accounted=suspect.accounted if suspect else None,
            step_order=order if shape == "step" else None,
            source_paths=", ".join(row.source) or None, target_paths=", ".join(row.target) or None,
            table="components", **_said(said, primary == row.name if primary else None),
        )  # fmt: skip
    for name in sorted(set(scripted) - known):
        said = _said(scripted[name], primary == name)
        folder.collector.add("fault", folder.place(NAME), component=name, shape="unknown",
                             table="components", **said)  # fmt: skip
    return {name: size(row.get("r_ratio")) for name, row in scripted.items()}


def rank(rows: Sequence[Component], limit: float) -> dict[str, Suspect]:
    """The failing components by name: steps first, then those that nothing tested contains, then
    spikes, and composites that contain a failing part last; each group in the order of the rows.
    The size of the ratio does not count: a composite adds up the errors of its parts."""
    failing = [row for row in rows if row.failed(limit) and row.status != "error"]
    found = []
    for row in failing:
        shape = shape_of(row, rows, limit)
        parts = sum(contains(row, other) for other in failing)
        found.append((parts, _ORDER.index(shape), row.place, row.name, shape))
    # Whatever contains a failing part contains more of them than that part does.
    found.sort(key=lambda item: (item[0], item[1] if not item[0] else 0, item[2]))
    return {name: Suspect(at, shape, parts > 0)
            for at, (parts, _, _, name, shape) in enumerate(found, 1)}  # fmt: skip


def _script(folder: Folder) -> tuple[dict[str, dict[str, Any]], str | None]:
    """The faults of stage3.json by component, and its primary fault."""
    found = folder.json(NAME)
    if found is None:
        return {}, None
    faults: dict[str, dict[str, Any]] = {}
    for index, row in enumerate(entries(found, "faults")):
        name = text_of(row.get("component")) if isinstance(row, dict) else None
        if name is None:
            folder.form(NAME, f"faults[{index}] should name its component")
        else:
            faults.setdefault(name, row)
    return faults, text_of(part(found, "primary_fault").get("component"))


def _said(said: dict[str, Any] | None, primary: bool | None) -> dict[str, Any]:
    if said is None:
        return {}
    shown = said.get("pattern")
    return {
        "script_pattern": shown if shown in _PATTERNS else None,
        "script_cause": text_of(said.get("root_cause")),
        "script_primary": primary,
    }
