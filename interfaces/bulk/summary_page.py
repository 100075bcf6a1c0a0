"""The summary as a page of its own (no network, no scripts); its plots repeat its tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from ...engine.compiler.knowledge_base import KnowledgeBase
from ...engine.diagnosis.report import SEVERITIES
from ...facts.redaction import Redacted
from ..reports.charts.svg import (
    BAD,
    GOOD,
    GRID,
    SERIES,
    WARNING,
    label,
    line,
    picture,
    rect,
    title,
)
from ..reports.output_guard import redacted
from ..reports.page import markup, page_style, template
from .summary import MOST_DIAGNOSES, Row, percent, periods, rows, share, telling_packages, top
from .tally import Group, Tally

_PAGE = Path(__file__).with_name("summary.html.jinja")
_WIDTH, _LEFT, _RIGHT, _BAR = 960, 330, 110, 22
_COLOURS = {"blocker": BAD, "error": BAD, "warning": WARNING, "info": GOOD}
_ALL, _PROBLEMS = SERIES[0], BAD
VersionRow = tuple[str, int, int, float, str]


def summary_page(tally: Tally, base: KnowledgeBase) -> Redacted[str]:
    """The page. Texts from outside (versions, names) are made visible, escaped and redacted."""

    def version(name: str, group: Group) -> VersionRow:
        shown = top(group.diagnoses, base)
        return name, group.records, group.with_problems, share(group), shown

    packages = [(n, [version(*v) for v in versions]) for n, versions in telling_packages(tally)]
    return redacted(packages).map(lambda clean: _page(tally, base, clean))


def _page(tally: Tally, base: KnowledgeBase, packages: list[tuple[str, list[VersionRow]]]) -> str:
    found = rows(tally, base)
    unit, over_time = periods(tally)
    whole = tally.all
    series = [(day, g.records, g.with_problems, top(g.diagnoses, base)) for day, g in over_time]
    return template(_PAGE, percent, thousands).render(
        style=page_style(),
        whole=whole,
        tally=tally,
        worst=[(s, tally.severities[s]) for s in reversed(SEVERITIES) if tally.severities[s]],
        rows=found[:MOST_DIAGNOSES],
        more=max(0, len(found) - MOST_DIAGNOSES),
        shares=markup(_shares(found[:MOST_DIAGNOSES], whole.records)),
        unit=unit,
        over_time=markup(_over_time([row[:3] for row in series], unit)),
        series=series,
        packages=packages,
        plots={
            name: markup(_versions([(v, s, n) for v, n, _, s, _ in versions]))
            for name, versions in packages
        },
        base=base,
    )


def thousands(number: int) -> str:
    """A count that is easy to read."""
    return f"{number:,}"


def _shares(rows: Sequence[Row], records: int) -> str:
    """A bar for each diagnosis: the share of the records that have it."""
    bars = [(row.id, row.records / max(records, 1), _COLOURS[row.severity]) for row in rows]
    return _bars("Diagnoses by frequency", [(n, s, c, f"{100 * s:.1f} %") for n, s, c in bars])


def _versions(versions: Sequence[tuple[str, float, int]]) -> str:
    """A bar for each version: the share of its records with a problem."""
    bars = [(v, s, _PROBLEMS, f"{100 * s:.1f} % of {n:,}") for v, s, n in versions]
    return _bars("Part of the records with a problem, by version", bars)


def _bars(name: str, bars: Sequence[tuple[str, float, str, str]]) -> str:
    if not bars:
        return ""
    longest = max([1e-9, *(share for _, share, _, _ in bars)])
    parts = []
    for place, (text, part, colour, figure) in enumerate(bars):
        y = 4 + place * _BAR
        wide = (_WIDTH - _LEFT - _RIGHT) * part / longest
        shown = text if len(text) <= 48 else f"...{text[-45:]}"
        parts.append(label(_LEFT - 8, y + 15, shown, anchor="end"))
        parts.append(rect(_LEFT, y + 3, wide, _BAR - 6, fill=colour))
        parts.append(label(_LEFT + wide + 6, y + 15, figure))
    return _picture(name, len(bars) * _BAR + 8, parts)


def _over_time(series: Sequence[tuple[str, int, int]], unit: str) -> str:
    """Records, and those with a problem, over time."""
    if len(series) < 2:
        return ""
    height, left, base, top = 260, 70, 220, 16
    most = max([1, *(records for _, records, _ in series)])
    step = (_WIDTH - left - 10) / len(series)
    parts = []
    for part in (0, 0.5, 1):
        y = base - part * (base - top)
        parts.append(line(left, y, _WIDTH - 10, y, stroke=GRID))
        parts.append(label(left - 6, y + 4, f"{part * most:,.0f}", anchor="end"))
    for place, (day, records, problems) in enumerate(series):
        x, wide = left + place * step, max(step - 1.5, 0.5)
        shown = title(f"{day}: {records:,} records, {problems:,} with a problem")
        for count, colour in ((records, _ALL), (problems, _PROBLEMS)):
            high = (base - top) * count / most
            parts.append(rect(x, base - high, wide, high, shown, fill=colour))
    for place in range(0, len(series), max(1, len(series) // 8)):
        parts.append(label(left + place * step, base + 18, series[place][0]))
    parts.append(label(left, height - 6, "blue: all records; red: with a problem"))
    return _picture(f"Records and problems by {unit}", height, parts)


def _picture(name: str, height: int, parts: Iterable[str]) -> str:
    fitting = f"max-width:{_WIDTH}px;width:100%;height:auto"
    return picture(_WIDTH, height, parts, aria_label=name, style=fitting)
