"""The limits that the scripts of the workflow apply, for verdicts that their files do not store.

They only decide whether a stage passed; the knowledge interprets the figures.
``calibrated_thresholds.json`` replaces them if it is there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from .reading import Folder, part, size

NAME = "calibrated_thresholds.json"
# The first existing file counts: calibration may be in any of these places.
_PLACES = (NAME, f"results/{NAME}")


class Limits(NamedTuple):
    """``tau_r`` on the R-ratio (also of a component), ``theta`` on the cosine and ``tail`` on the
    share of positions below it, ``delta`` and ``delta_max`` on the KL divergence, ``top1``."""

    tau_r: float = 1.2
    theta: float = 0.95
    tail: float = 0.05
    delta: float = 0.1
    delta_max: float = 1.0
    top1: float = 0.5
    collapse: float = 1_000.0


def read_limits(folder: Folder, components: Iterable[str] = ()) -> Limits:
    """Read the calibration and add its ``calibrated_limit`` facts, and those of the types of
    components. Only tau_R is derived from ports; the tool writes the others as constants."""
    name = next((place for place in _PLACES if folder.has(place)), NAME)
    found = folder.json(name)
    if found is None:
        return Limits()
    ports = size(found.get("num_ports"))
    given: dict[str, float] = {}
    for limit in ("tau_r", "theta", "delta", "delta_max"):
        value = size(found.get(limit))
        if value is None:
            continue
        given[limit] = value
        calibrated = limit == "tau_r" and bool(ports)
        folder.collector.add(
            "calibrated_limit", folder.place(name), limit=limit, value=value, calibrated=calibrated,
            ports=int(ports) if ports else None,
        )  # fmt: skip
    if ports:
        by_type = part(found, "tau_r_by_type")
        _add_type_limits(folder, folder.place(name), by_type, components)
    return Limits()._replace(**given)


def _add_type_limits(
    folder: Folder, place: str, limits: dict[str, Any], components: Iterable[str]
) -> None:
    """Add the limit of each component whose type was calibrated: the last word of its name."""
    known = {word.lower(): size(value) for word, value in limits.items()}
    for component in components:
        word = re.split(r"[^A-Za-z0-9]+", component)[-1].lower()
        value = known.get(word)
        if value is not None:
            folder.collector.add(
                "component_limit", place, component=component, type=word, value=value
            )
