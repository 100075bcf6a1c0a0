"""``diagnose kb coverage``: what the tests exercise, and which statements no entry encodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ... import output
from ...context import Context
from ...reports.layout import Line
from ..options import LAYERS, TEXT_OR_JSON, command, path_option
from .group import built_knowledge, busy, decoder, doctor_of, kb

if TYPE_CHECKING:
    from ....authoring.testing.inventory_coverage import Coverage
    from ....authoring.testing.test_coverage import Part
    from ....engine.compiler.build import Built


@command(kb)
@path_option(
    "--inventory",
    "A list of statements or diagnoses to look for in the entries.",
    multiple=True,
)
@click.option(
    "--at-least", default=0.0, metavar="PERCENT", help="Exit with 3 if tests exercise less."
)
@click.option(
    "--reach", is_flag=True, help="List each rule with the probes or answers that can make it fire."
)
@LAYERS
@TEXT_OR_JSON
def coverage(context: Context, inventory: Sequence[Path], at_least: float, reach: bool) -> int:
    """Count the entries, leaves of conditions, branches, bands, error rows and causes that tests
    exercise; entries without tests count as 0 %. Count the rules that can fire from probes, from
    answers, or from both. With --inventory, list its statements without an entry (exit code 3 if
    there are any)."""
    from ....authoring.testing.inventory_coverage import inventory_coverage

    built = built_knowledge(context.overlays)
    found = inventory_coverage(built.source, list(inventory)) if inventory else None
    parts = _exercised(built)
    share = 100 * sum(part.shown for part in parts) / (len(parts) or 1)
    ways = _ways(built)
    lines = [*_exercise_lines(parts), *_reach_lines(ways, each=reach)]
    lines += _inventory_lines(found) if found else ()
    context.emit(
        {
            **_plain(parts, found),
            "reach": [{"rule": rule, "from": way} for rule, way in ways.items()],
        },
        lines,
    )
    complete = (found is None or found.complete) and share >= at_least
    return output.OK if complete else output.BAD_KNOWLEDGE


def _exercised(built: Built) -> list[Part]:
    from ....authoring.testing.test_coverage import exercised

    with busy("what the tests exercise"):
        return exercised(built, doctor_of(built), decoder(built.vocabulary))


def _ways(built: Built) -> dict[str, str]:
    """The sources that can make each rule fire."""
    from ....authoring.lint.askable import unasked
    from ....authoring.reach.reach import label, reached

    return {rule.id: label(rule.ways) for rule in reached(built, unasked(built))}


def _reach_lines(ways: Mapping[str, str], *, each: bool) -> Iterator[Line]:
    from ....authoring.reach.reach import LABELS

    for name, way in ways.items() if each else ():
        yield Line(name, mark=f"{way}: ")
    for way, words in LABELS.items():
        yield Line(
            f"{[*ways.values()].count(way):>6} of {len(ways):>6} rules fire {words}", keep=True
        )


def _counts(parts: Sequence[Part]) -> dict[str, tuple[int, int]]:
    """(exercised, all) by unit."""
    from ....authoring.testing.test_coverage import UNITS

    found = {}
    for unit in UNITS:
        mine = [part.shown for part in parts if part.unit == unit]
        found[unit] = sum(mine), len(mine)
    return found


def _plain(parts: Sequence[Part], found: Coverage | None) -> Mapping[str, Any]:
    plain: dict[str, Any] = {
        "schema": "modelmedic/coverage/1",
        "exercised": {u: {"shown": s, "all": n} for u, (s, n) in _counts(parts).items()},
        "not_exercised": [
            {"entry": p.entry, "unit": p.unit, "name": p.name, "where": str(p.where)}
            for p in parts
            if not p.shown
        ],
    }
    if found is not None:
        plain |= {"wanted": found.wanted, "missing": list(found.missing)}
        plain |= {"unknown": list(found.unknown), "unconcluded": list(found.unconcluded)}
        plain |= {"absent": list(found.absent)}
    return plain


def _exercise_lines(parts: Sequence[Part]) -> Iterator[Line]:
    for part in parts:
        if not part.shown:
            yield Line(f"{part.where}: {part.unit}: {part.name}", mark="not exercised: ")
    for unit, (shown, count) in _counts(parts).items():
        share = f"{shown * 1000 // count / 10:.1f} %" if count else "none"
        yield Line(f"{unit:<10} {shown:>6} of {count:>6} exercised ({share})", keep=True)


def _inventory_lines(found: Coverage) -> Iterator[Line]:
    lists = (
        ("not covered", found.missing),
        ("cited, not listed", found.unknown),
        ("never concluded", found.unconcluded),
        ("not in the catalogue", found.absent),
    )
    yield from (Line(f"{heading}: {', '.join(names)}") for heading, names in lists if names)
    covered = found.wanted - len(found.missing)
    share = 100 * covered / found.wanted if found.wanted else 100
    yield Line(f"{covered} of {found.wanted} statements covered ({share:.1f} %)")
