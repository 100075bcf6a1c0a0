"""How ``diagnose kb surface`` shows what it finds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ...reports.layout import Line, counted

if TYPE_CHECKING:
    from ....authoring.surface import Conflict, Entry, Fall, Surface

MAX_LISTED = 12
_ABOUT = {
    "beyond": "its anchors name others",
    "several": "they are unlike each other, and it has no anchors for them",
    "foreign": "its owners do not include that package",
}


class Wanted(NamedTuple):
    """The parts to list, and the expected shares."""

    silent: bool
    everything: bool
    limit: int
    at_least: float | None
    falls: tuple[Fall, ...]

    def missed_by(self, surfaces: Iterable[Surface]) -> bool:
        """Whether less is answered than expected."""
        return bool(self.falls) or any(self.is_below(surface) for surface in surfaces)

    def is_below(self, surface: Surface) -> bool:
        """Whether rows answer less of a package than ``at_least``."""
        return self.at_least is not None and _shares(surface)["by_rows_percent"] < self.at_least


def lines_of(
    surfaces: Sequence[Surface], conflicts: Sequence[Conflict], wanted: Wanted
) -> Iterator[Line]:
    """The text form."""
    for surface in surfaces:
        for problem in surface.problems:
            yield Line(f"{problem.where}: {problem.message}", mark="note: ", style="dim")
        if wanted.everything:
            yield from (_entry_line(entry) for entry in surface.entries)
        elif wanted.silent:
            yield from _silent_lines(surface, wanted.limit)
    for conflict in conflicts:
        yield from _conflict_lines(conflict)
    for surface in surfaces:
        yield _figures_line(surface, wanted)
    for fall in wanted.falls:
        said = f"{_name(fall.package, fall.version)}: {fall.what} {fall.now} %, was {fall.before} %"
        yield Line(said, mark="LOWER ", style="error")


def plain_of(
    surfaces: Sequence[Surface], conflicts: Sequence[Conflict], wanted: Wanted
) -> Mapping[str, Any]:
    """The JSON form, with every message."""
    return {
        "schema": "modelmedic/surface/1",
        "packages": [
            {
                "package": surface.package,
                "version": surface.version,
                **_shares(surface),
                "quiet": surface.quiet,
                "tests": surface.tests,
                "messages": [_plain_entry(entry) for entry in _by_likelihood(surface)],
                "problems": [f"{p.code} {p.where}: {p.message}" for p in surface.problems],
            }
            for surface in surfaces
        ],
        "conflicts": [
            {
                "kind": each.kind,
                "row": each.row,
                "package": each.package,
                "version": each.version,
                "messages": [_place(entry) for entry in each.entries],
                "meant": [_place(entry) for entry in each.meant],
            }
            for each in conflicts
        ],
        "lower": [fall._asdict() for fall in wanted.falls],
    }


def _shares(surface: Surface) -> dict[str, Any]:
    from ....authoring.surface import percent

    sites, messages, rows, remedied, answered = surface.figures
    return {
        "places": sites,
        "distinct": messages,
        "by_rows": rows,
        "with_fix": remedied,
        "by_rows_or_source": answered,
        "by_rows_percent": percent(rows, messages),
        "by_rows_or_source_percent": percent(answered, messages),
    }


def _by_likelihood(surface: Surface) -> list[Entry]:
    return sorted(surface.entries, key=lambda e: (-e.likelihood, e.likeliest.file, e.template))


def _plain_entry(entry: Entry) -> dict[str, Any]:
    return {
        **_place(entry),
        "kind": entry.likeliest.kind,
        "exception": entry.exception,
        "answer": entry.answer,
        "rows": list(entry.rows),
        "with_fix": entry.remedied,
        "source": sorted({answer.source for answer in entry.answers if answer.source}),
        "likelihood": entry.likelihood,
        "places": [f"{site.file}:{site.line}" for site in entry.sites],
    }


def _place(entry: Entry) -> dict[str, Any]:
    site = entry.likeliest
    return {"template": entry.template, "place": f"{site.file}:{site.line}",
            "function": site.function, "guard": site.guard}  # fmt: skip


def _silent_lines(surface: Surface, limit: int) -> Iterator[Line]:
    silent = surface.unanswered()
    for entry in silent[:limit]:
        yield Line(_described(entry), mark=f"{entry.likelihood:>4}  ")
    if len(silent) > limit:
        yield Line(
            f"and {len(silent) - limit} more of {_name(surface.package, surface.version)}", 6
        )


def _entry_line(entry: Entry) -> Line:
    answer = ", ".join(entry.rows) if entry.by_rows else entry.answer
    return Line(f"{_described(entry)}: {answer}", mark="- ")


def _described(entry: Entry) -> str:
    site = entry.likeliest
    what = entry.exception or f"{site.kind} {site.level}".strip()
    shown = entry.template if len(entry.template) <= 160 else f"{entry.template[:156]} ..."
    where = f" in {site.function}" if site.function else ""
    return f"{site.file}:{site.line}{where}: {what}: {shown!r}"


def _conflict_lines(conflict: Conflict) -> Iterator[Line]:
    count = counted(len(conflict.entries), "message")
    name = _name(conflict.package, conflict.version)
    said = f"{conflict.row} answers {count} of {name}; {_ABOUT[conflict.kind]}"
    yield Line(said, mark=f"{conflict.kind.upper()} ", style="warning")
    for entry in conflict.entries[:MAX_LISTED]:
        yield Line(_described(entry), 4, mark="- ")
    if len(conflict.entries) > MAX_LISTED:
        yield Line(f"and {len(conflict.entries) - MAX_LISTED} more", 6)
    for entry in conflict.meant[:3]:
        yield Line(_described(entry), 4, mark="meant: ")


def _figures_line(surface: Surface, wanted: Wanted) -> Line:
    plain = _shares(surface)
    said = (
        f"{_name(surface.package, surface.version)}: {counted(plain['places'], 'place')}, "
        f"{counted(plain['distinct'], 'message')}; by rows {plain['by_rows_percent']} % "
        f"({plain['with_fix']} of {plain['by_rows']} with cause and fix), "
        f"by rows or source {plain['by_rows_or_source_percent']} %"
    )
    return Line(said, style="error" if wanted.is_below(surface) else "")


def _name(package: str, version: str) -> str:
    return f"{package} {version or '(sources)'}"
