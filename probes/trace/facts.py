"""The facts of two traces.

Problems: MM537 decoding was not compared, MM538 a trace cannot be read, MM539 a run was too long
for its trace.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ...facts.problems import Location, Problem
from ..outcome import Collector
from .alignment import Aligned, align_both
from .difference import equal_outputs, fewer_digits, find_difference
from .placing import Difference
from .stored import FOLDER, read_trace
from .words import line_of, module_of, operation, shown_line, shown_of_reference, told


class Judged(NamedTuple):
    """Whether every output of the port equals that of the reference in FP32, and whether it
    computes each of their common quantities in as many bits; false where it is not known."""

    equal: bool = False
    same_digits: bool = False


def add_trace(collector: Collector, folder: Path, config: Mapping[str, Any]) -> Judged:
    """A ``trace_summary`` fact, and a ``trace_difference`` where port and reference part."""
    problems: list[Problem] = []
    traces = [read_trace(folder, role, problems) for role in ("port", "reference")]
    collector.extend(problems)
    mine, theirs = traces
    if mine is None or theirs is None:
        return Judged()
    if not (mine.complete and theirs.complete) or not mine.outputs:
        text = "the run computes too much to be followed operation by operation"
        hint = "capture with fewer --positions and --decode"
        collector.problem("MM539", text, Location(str(folder / FOLDER)), hint)
        return Judged()
    port, reference = align_both(mine, theirs)
    found = find_difference(port, reference)
    both = min(len(mine.outputs), len(theirs.outputs))
    equal = sum(equal_outputs(port, reference))
    collector.add(
        "trace_summary", str(folder / FOLDER), equal=found is None, quantities=len(mine.quantities),
        known=sum(each is not None for each in port.twins), outputs=both, equal_outputs=equal,
        decoded=both - 1, uncalled=", ".join(mine.uncalled[:5]) or None,
    )  # fmt: skip
    if both == 1:
        text = "only the prompt was compared: one of both models gave no cache to decode from"
        hint = "return past_key_values, take them again, and capture with --decode"
        collector.problem("MM537", text, Location(str(folder / FOLDER)), hint)
    fewer = fewer_digits(port, reference) if found is None else None
    for each in (found, fewer):
        if each is not None:
            _add_difference(collector, folder, each, port, reference, config)
    known = bool(mine.low and theirs.low)
    return Judged(found is None, known and fewer is None)


def _add_difference(
    collector: Collector, folder: Path, one: Difference, port: Aligned, reference: Aligned,
    config: Mapping[str, Any],
) -> None:  # fmt: skip
    at = line_of(one, port)
    shown = shown_of_reference(one, reference)
    component = module = module_of(port, one.port)
    lost = {reference.quantity(each).module for each in one.lacking}
    if one.kind in ("missing-operation", "module-never-called") and len(lost) == 1:
        component = next(iter(lost)) or module
    collector.add(
        "trace_difference", f"{at.file}:{at.line}" if at else str(folder), difference=one.kind,
        component=component or "model", says=told(one, port, reference, config),
        port_line=at.shown if at else None, reference_line=shown_line(one, reference) or None,
        port_operation=operation(port, one.port, config),
        reference_operation=None if shown is None else operation(reference, shown, config),
        phase=None if one.kind == "fewer-digits" else "decoding" if one.phase else "prompt",
    )  # fmt: skip
