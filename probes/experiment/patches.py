"""Stage 4: the source of each patch, and the R-ratio of its component before and after.

Patches are parsed, never imported. Which component a patch is for follows from its file name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...reading.python.sources import read_code
from ..modeling.patches import patch_facts
from .components import NAME as STAGE2
from .components import Component, contains, normal_name
from .reading import Folder

_WORDS = frozenset({"fix", "patch", "patches", "monkey", "neuron", "the"})


def patch_files(folder: Folder) -> list[str]:
    """The patches of the folder, as paths below it."""
    return [name for name in folder.names("patches", ".py") if not name.endswith("/__init__.py")]


def add_patches(
    folder: Folder, rows: Sequence[Component], before: Mapping[str, float | None], limit: float,
    timed: bool,
) -> None:  # fmt: skip
    """Add the ``patch_state`` facts. ``before`` are the faults of Stage 3 with their R-ratios, and
    ``timed`` is true if the times of files may be compared."""
    for name in patch_files(folder):
        code = read_code(folder.text(name) or "", folder.place(name))
        shown: dict[str, Any] = dict(patch_facts(code)) if code is not None else {}
        component = _component(name, rows)
        if component is not None:
            shown |= _effect(folder, name, component, rows, before, limit, timed)
        folder.collector.add("patch_state", folder.place(name), name=name, **shown)


def _component(name: str, rows: Sequence[Component]) -> Component | None:
    """The component whose name is that of the file, but for words such as ``fix``."""
    stem = name.rpartition("/")[2].removesuffix(".py")
    wanted = [word for word in normal_name(stem).split("_") if word not in _WORDS]
    found = [row for row in rows if normal_name(row.name).split("_") == wanted]
    return found[0] if len(found) == 1 else None


def _effect(
    folder: Folder, name: str, component: Component, rows: Sequence[Component],
    before: Mapping[str, float | None], limit: float, timed: bool,
) -> dict[str, Any]:  # fmt: skip
    """R-ratios around the patch, as far as files show on which side of it they were measured."""
    found: dict[str, Any] = {"target": component.name}
    earlier = before.get(component.name)
    patched, tested = folder.written(name), folder.written(STAGE2)
    if timed and patched is not None and tested is not None:
        later = tested > patched
    else:
        # Stage 3 copied the ratio that it saw; another one in Stage 2 is of a later run.
        later = earlier is not None and component.r_ratio not in (None, earlier)
    if not later:
        return found | {"r_before": earlier if earlier is not None else component.r_ratio}
    if component.status != "error":
        found["r_after"] = component.r_ratio
    if earlier != component.r_ratio:
        found["r_before"] = earlier
    if before:
        around = [row for row in rows if contains(row, component)]
        found["composites_broken"] = sum(
            row.failed(limit) and row.status != "error" and row.name not in before for row in around
        )
    return found
