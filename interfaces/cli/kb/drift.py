"""``diagnose kb drift``: do installed packages still say what the error tables say they do?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ... import output
from ...context import Context
from ...reports.layout import Line
from ...waiting import watched
from ..options import LAYERS, TEXT_OR_JSON, command, path_option
from .group import built_knowledge, kb, tell_interrupted

if TYPE_CHECKING:
    from ....authoring.drift import Found, Reach
    from ....engine.compiler.build import Built
    from ....reading.packages.release import Release

_MARKS = {"moved": "MOVED ", "changed": "CHANGED ", "gone": "GONE ", "found": "BACK "}


@command(kb)
@path_option(
    "--python",
    "Search the packages of this interpreter (it is not run); default: our own.",
    type=click.Path(exists=True, path_type=Path),
)
@click.option("--source", "sources", multiple=True, metavar="NAME=FOLDER",
              help="Use a folder of sources as a package.")  # fmt: skip
@click.option("--all", "each", is_flag=True, help="Also list texts that are as expected.")
@LAYERS
@TEXT_OR_JSON
def drift(context: Context, python: Path | None, sources: Sequence[str], each: bool) -> int:
    """Search the packages for the texts that error rows are anchored to, and compare version events
    with the installed versions. Files are read, nothing is run. Exit code 3 means that a text is
    not where its anchor says."""
    from ....authoring.drift import anchors_of, look_for, version_reach

    built = built_knowledge(context.overlays)
    packages = _packages(built, python, sources)
    anchors = list(anchors_of(built.source))
    found: list[Found] = []
    with watched() as watch, watch.part("anchors", len(anchors), ends_early=True) as step:
        for anchored in anchors:
            found.append(look_for(anchored, packages))
            if not step():
                break
    reach = list(version_reach(built.source, packages))
    reasons = _unanchored(built)
    context.emit(
        _plain(found, reach, packages, reasons), _lines(found, reach, packages, reasons, each)
    )
    if len(found) < len(anchors):
        tell_interrupted(f"{len(anchors) - len(found):,} anchors were not looked for")
        return output.INTERRUPTED
    return output.BAD_KNOWLEDGE if any(item.drifts for item in found) else output.OK


def _packages(built: Built, python: Path | None, sources: Sequence[str]) -> dict[str, Release]:
    from ....authoring.drift import anchors_of, versioned
    from ....reading.packages.environments import site_folders
    from ....reading.packages.release import installed, of_sources

    names = {anchored.anchor.package for anchored in anchors_of(built.source)}
    names |= set(versioned(built.source))
    found = installed(names, site_folders(python))
    for said in sources:
        name, equals, folder = said.partition("=")
        if not equals:
            raise click.UsageError(f"--source {said}: write NAME=FOLDER")
        release = of_sources(name, Path(folder))
        found[release.package] = release
    return found


def _unanchored(built: Built) -> Counter[str]:
    """Counts of rows without an anchor, by reason; "" if no reason is given."""
    rows = (item.entry for item in built.source.of("error") if item.entry.status != "deprecated")
    return Counter(row.anchors or "" for row in rows if not row.anchored)


def _lines(
    found: Sequence[Found],
    reach: Sequence[Reach],
    packages: Mapping[str, Release],
    reasons: Counter[str],
    everything: bool,
) -> Iterator[Line]:
    for item in found:
        if everything or item.drifts or not item.expected:
            yield from _anchor_lines(item)
    for span in reach:
        if everything or (span.open and span.affected):
            yield from _reach_lines(span)
    for name, package in sorted(packages.items()):
        yield Line(_counts(name, package, found))
    missing = Counter(i.anchored.anchor.package for i in found if i.state == "not installed")
    for name, count in sorted(missing.items()):
        yield Line(f"{name}: not installed, {count} anchors not looked for")
    for reason, count in sorted(reasons.items()):
        yield Line(f"{count} rows without anchor: {reason or 'no reason given'}")


def _anchor_lines(item: Found) -> Iterator[Line]:
    anchor = item.anchored.anchor
    place = f"{anchor.package} {item.version} {anchor.module}".replace("  ", " ").rstrip()
    heading = f"{item.anchored.where} [{item.anchored.item.id}] {anchor.text!r} in {place}"
    if item.drifts:
        yield Line(heading, mark=_MARKS[item.state], style="error")
    else:
        known = item.state if item.expected else f"{item.state}, as recorded"
        yield Line(f"{known}: {heading}")
    if item.place:
        yield Line(f"{item.place}: {item.text!r}"[:300], 4, mark="now: ")


def _reach_lines(span: Reach) -> Iterator[Line]:
    said = f"{span.package} {span.said or 'every version'}"
    where = f"{span.where} [{span.entry}] {said}"
    if span.open and span.affected:
        yield Line(f"{where} reaches {span.version}", mark="OPEN ", style="warning")
    else:
        inside = "affects" if span.affected else "does not affect"
        yield Line(f"{where} {inside} {span.version}")


def _counts(name: str, package: Release, found: Sequence[Found]) -> str:
    mine = [item for item in found if item.anchored.anchor.package == name]
    states = Counter(
        item.state if item.drifts or item.state == "found" else f"{item.state} as recorded"
        for item in mine
    )
    said = ", ".join(f"{count} {state}" for state, count in sorted(states.items()))
    return f"{name} {package.version or '(sources)'}: {said or 'no anchors'}"


def _plain(
    found: Sequence[Found],
    reach: Sequence[Reach],
    packages: Mapping[str, Release],
    reasons: Counter[str],
) -> Mapping[str, Any]:
    return {
        "schema": "modelmedic/drift/1",
        "packages": {name: package.version for name, package in sorted(packages.items())},
        "anchors": [
            {
                "entry": item.anchored.item.id,
                "where": str(item.anchored.where),
                "package": item.anchored.anchor.package,
                "module": item.anchored.anchor.module,
                "text": item.anchored.anchor.text,
                "state": item.state,
                "expected": item.expected,
                "drifts": item.drifts,
                "place": item.place,
                "now": item.text,
            }
            for item in found
        ],
        "versions": [span._asdict() | {"where": str(span.where)} for span in reach],
        "unanchored": dict(sorted(reasons.items())),
    }
