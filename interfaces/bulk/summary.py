"""The counts of a bulk job: as a table and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, timedelta
from typing import Any, NamedTuple

from ...engine.compiler.knowledge_base import KnowledgeBase
from ...engine.diagnosis.report import SEVERITIES
from ..reports.layout import Line, section
from .tally import OTHERS, Group, Tally

SCHEMA = "modelmedic/bulk-summary/1"
MOST_DIAGNOSES = 25
MOST_PACKAGES = 8
MOST_VERSIONS = 10
_MONTHS_ABOVE, _WEEKS_ABOVE = 400, 60


class Row(NamedTuple):
    """A diagnosis and the number of records that have it."""

    id: str
    title: str
    severity: str
    kind: str
    records: int


def rows(tally: Tally, base: KnowledgeBase) -> list[Row]:
    """The diagnoses, the most frequent first."""
    found = []
    for name, count in tally.all.diagnoses.items():
        about = base.summary(name)
        found.append(Row(name, about.title, about.severity, about.kind, count))
    return sorted(found, key=lambda row: (-row.records, row.id))


def summary_plain(tally: Tally, base: KnowledgeBase) -> dict[str, Any]:
    """The JSON form (``modelmedic/bulk-summary/1``)."""
    return {
        "schema": SCHEMA,
        "knowledge": {"version": base.version, "digest": base.digest},
        "records": tally.all.records,
        "with_problems": tally.all.with_problems,
        "refused": tally.refused,
        "broken_inputs": tally.broken_inputs,
        "severities": dict(tally.severities),
        "diagnoses": [row._asdict() for row in rows(tally, base)],
        "packages": {
            name: {version: group.plain() for version, group in sorted(versions.items())}
            for name, versions in sorted(tally.by_package().items())
        },
        "days": {day: group.plain() for day, group in sorted(tally.days.items())},
    }


def telling_packages(tally: Tally) -> list[tuple[str, list[tuple[str, Group]]]]:
    """The packages whose versions differ most in their share of records with a problem, each with
    its most frequent versions. Needs at least two versions."""
    found = []
    for name, versions in tally.by_package().items():
        known = [(version, group) for version, group in versions.items() if version != OTHERS]
        if name == OTHERS or len(known) < 2:
            continue
        known.sort(key=lambda item: (-item[1].records, item[0]))
        shown = sorted(known[:MOST_VERSIONS])
        shares = [share(group) for _, group in shown]
        found.append((min(shares) - max(shares), name, shown))
    return [(name, shown) for _, name, shown in sorted(found)[:MOST_PACKAGES]]


def share(group: Group) -> float:
    """The share of records with a problem."""
    return group.with_problems / group.records if group.records else 0.0


def periods(tally: Tally) -> tuple[str, list[tuple[str, Group]]]:
    """Counts by day, week or month, depending on the span; each period with its first day, without
    gaps."""
    days = sorted((date.fromisoformat(d), g) for d, g in tally.days.items() if d != OTHERS)
    if not days:
        return "day", []
    span = (days[-1][0] - days[0][0]).days
    unit = "month" if span > _MONTHS_ABOVE else "week" if span > _WEEKS_ABOVE else "day"
    found = {start: Group() for start in _starts(days[0][0], days[-1][0], unit)}
    for day, group in days:
        found[_start(day, unit)].merge(group)
    return unit, [(start.isoformat(), group) for start, group in found.items()]


def _start(day: date, unit: str) -> date:
    if unit == "month":
        return day.replace(day=1)
    return day - timedelta(days=day.weekday()) if unit == "week" else day


def _starts(first: date, last: date, unit: str) -> Iterator[date]:
    day = _start(first, unit)
    while day <= last:
        yield day
        step = {"day": 1, "week": 7, "month": 32}[unit]
        if day > date.max - timedelta(days=step):
            return
        day = _start(day + timedelta(days=step), unit)


def summary_lines(tally: Tally, base: KnowledgeBase) -> Iterator[Line]:
    """The tables for a terminal."""
    whole = tally.all
    yield Line(
        f"{whole.records:,} records diagnosed, {whole.with_problems:,} with a problem",
        style="heading",
    )
    if tally.refused:
        yield Line(f"{tally.refused:,} records could not be diagnosed")
    worst = [f"{tally.severities[s]:,} {s}" for s in reversed(SEVERITIES) if tally.severities[s]]
    if worst:
        yield Line(f"Worst problem: {', '.join(worst)}")
    counts = [
        (f"{r.records:,}", percent(r.records, whole.records), r.severity, r.id)
        for r in rows(tally, base)
    ]
    yield from section("Diagnoses", _table(counts, MOST_DIAGNOSES))
    for name, versions in telling_packages(tally):
        table = _table(_group_rows(versions, base), MOST_VERSIONS)
        yield from section(f"By version of {name}", table)
    unit, over_time = periods(tally)
    if len(over_time) > 1:
        table = _table(_group_rows(over_time[-MOST_VERSIONS:], base), MOST_VERSIONS)
        yield from section(f"By {unit}", table)


def _group_rows(groups: Sequence[tuple[str, Group]], base: KnowledgeBase) -> list[tuple[str, ...]]:
    return [
        (
            name,
            f"{g.records:,} records",
            f"{percent(g.with_problems, g.records)} with a problem",
            top(g.diagnoses, base),
        )
        for name, g in groups
    ]


def top(diagnoses: Mapping[str, int], base: KnowledgeBase) -> str:
    """The most frequent problem."""
    problems = [name for name in diagnoses if base.summary(name).kind != "benign"]
    return min(problems, key=lambda name: (-diagnoses[name], name), default="")


def percent(part: int, whole: int) -> str:
    """A share of a whole."""
    return f"{100 * part / whole:.1f} %" if whole else "-"


def _table(found: Sequence[tuple[str, ...]], most: int) -> Iterator[Line]:
    shown = found[:most]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    for row in shown:
        cells = [
            cell.rjust(width) if cell[:1].isdigit() and place < 2 else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield Line("  ".join(cells).rstrip(), 2, keep=True)
    if len(found) > most:
        yield Line(f"and {len(found) - most} more", 2, style="dim")
