"""The answer of ``diagnose kb releases`` as text and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ....reports.layout import Line, counted

if TYPE_CHECKING:
    from .....authoring.releases import Change, Comparison, Limit, Lost, Pair
    from .....authoring.releases.proposal import Proposal

MAX_TOUCHES = 3
MAX_TEXT = 240
MAX_NAMES = 6
_MARKS = {"moved": "MOVED ", "changed": "CHANGED ", "gone": "GONE ", "found": "NEW "}
_HOLDS = {True: "yes", False: "no", None: "not known"}


class Shown(NamedTuple):
    """How much to list, and where the proposals were written."""

    everything: bool
    limit: int
    written: Path | None


def lines_of(found: Comparison, proposed: Sequence[Proposal], shown: Shown) -> Iterator[Line]:
    """The text form."""
    for problem in found.problems:
        yield Line(str(problem), mark="note: ", style="dim")
    for pair in found.pairs:
        yield from _pair_lines(pair, shown)
    yield from _limit_lines(found, shown)
    for each in proposed:
        yield Line(_proposed(each), mark="proposed: ")
    if shown.written is not None:
        count = counted(len(proposed), "proposal")
        yield Line(f"wrote {count} to {shown.written}; the knowledge is as it was", keep=True)


def _pair_lines(pair: Pair, shown: Shown) -> Iterator[Line]:
    from .....authoring.releases import AREAS

    yield Line(f"{pair.old.package} {pair.old.label} -> {pair.new.label}", style="heading")
    for each in pair.anchors:
        if not each.known:
            yield from _anchor_lines(each)
    if known := sum(each.known for each in pair.anchors):
        yield Line(f"{counted(known, 'anchor')} came or went as the versions of the rows say", 2)
    for row in pair.silent:
        text = f"{row} answered a message of {pair.old.label}, and none of {pair.new.label}"
        yield Line(text, 2, mark="SILENT ", style="error")
    for area, heading in AREAS.items():
        changes = [change for change in pair.changes if change.area == area]
        if changes:
            yield Line(f"{heading}: {_counts(changes)}", 2, style="heading")
            yield from _change_lines(changes, shown)
    if pair.cited:
        places = ", ".join(f"{each.entry} ({each.module})" for each in pair.cited[:MAX_NAMES])
        yield Line(f"Changed modules that entries cite: {places}{_rest(pair.cited, MAX_NAMES)}", 2)


def _counts(changes: Sequence[Change]) -> str:
    kinds = Counter(change.kind for change in changes)
    touched = sum(change.concerns for change in changes)
    return f"{', '.join(f'{n} {kind}' for kind, n in kinds.items())}; {touched} to look at"


def _change_lines(changes: Sequence[Change], shown: Shown) -> Iterator[Line]:
    most = len(changes) if shown.everything else shown.limit
    for change in changes[:most]:
        how = f": {_cut(change.old)} -> {_cut(change.new)}" if change.old and change.new else (
            f": {_cut(change.new or change.old)}" if change.new or change.old else "")  # fmt: skip
        place = f"  ({change.where})" if change.where else ""
        mark = "* " if change.concerns else "- "
        yield Line(f"{change.kind} {change.name}{how}{place}", 4, mark=mark)
        if change.unknown and change.touches:
            names = ", ".join(change.unknown[:MAX_NAMES])
            yield Line(
                f"{names}{_rest(change.unknown, MAX_NAMES)}", 8, mark="not in our knowledge: "
            )
        if change.touches:
            said = "; ".join(f"{each.entry} {each.how}" for each in change.touches[:MAX_TOUCHES])
            yield Line(f"{said}{_rest(change.touches, MAX_TOUCHES)}", 8, "dim", mark="touches: ")
    if len(changes) > most:
        yield Line(f"and {len(changes) - most} more (--all)", 4, "dim")


def _anchor_lines(each: Lost) -> Iterator[Line]:
    anchored = each.new.anchored
    text = f"{anchored.where} [{anchored.item.id}] {anchored.anchor.text!r}"
    yield Line(text, 2, "error", mark=_MARKS[each.new.state])
    if each.new.place:
        yield Line(_cut(f"{each.new.place}: {each.new.text!r}"), 6, mark="now: ")


def _limit_lines(found: Comparison, shown: Shown) -> Iterator[Line]:
    """The version tests: those that tell the releases apart, and those that nothing ends."""
    told = [limit for limit in found.limits if limit.decides]
    if told:
        yield Line("Versions in our knowledge that tell these releases apart", style="heading")
        yield from _some_limits(told, found, shown)
    still = [limit for limit in found.limits if limit.open and not limit.decides]
    if still:
        newest = found.releases[-1].label
        yield Line(f"Ranges without an end that {newest} lies in", style="heading")
        yield from _some_limits(still, found, shown)


def _some_limits(some: Sequence[Limit], found: Comparison, shown: Shown) -> Iterator[Line]:
    most = len(some) if shown.everything else shown.limit
    for limit in some[:most]:
        pairs = zip(found.releases, limit.holds, strict=True)
        told = ", ".join(f"{release.label} {_HOLDS[holds]}" for release, holds in pairs)
        yield Line(f"{limit.where} [{limit.entry}] {limit.said}: {told}", 2, mark="- ")
    if len(some) > most:
        yield Line(f"and {len(some) - most} more (--all)", 2, "dim")


def _proposed(each: Proposal) -> str:
    what = each.get("entry") or each.get("table") or each.get("message", "")
    return _cut(f"{what}: {each['do']}")


def _rest(found: Sequence[Any], most: int) -> str:
    return f", and {len(found) - most} more" if len(found) > most else ""


def _cut(text: str) -> str:
    return text if len(text) <= MAX_TEXT else f"{text[: MAX_TEXT - 4]} ..."


def plain_of(found: Comparison, proposed: Sequence[Proposal]) -> Mapping[str, Any]:
    """The JSON form, with every change."""
    return {
        "schema": "modelmedic/releases/1",
        "package": found.package,
        "releases": [{"version": each.label, "files": len(each.names),
                      "requires": dict(sorted(each.requires.items()))}
                     for each in found.releases],
        "pairs": [_plain_pair(pair) for pair in found.pairs],
        "versions": [each._asdict() | {"holds": list(each.holds), "decides": each.decides}
                     for each in found.limits],
        "proposals": list(proposed),
        "problems": [str(problem) for problem in found.problems],
    }  # fmt: skip


def _plain_pair(pair: Pair) -> Mapping[str, Any]:
    return {
        "old": pair.old.label,
        "new": pair.new.label,
        "breaks": pair.breaks,
        "anchors": [
            {"entry": each.new.anchored.item.id, "where": str(each.new.anchored.where),
             "text": each.new.anchored.anchor.text, "was": each.old.state, "is": each.new.state,
             "known": each.known, "place": each.new.place, "now": each.new.text}
            for each in pair.anchors
        ],
        "silent": list(pair.silent),
        "changes": [
            {"area": each.area, "kind": each.kind, "name": each.name, "old": each.old,
             "new": each.new, "where": each.where, "public": each.public,
             "to_look_at": each.concerns, "unknown": list(each.unknown),
             "touches": [touch._asdict() for touch in each.touches]}
            for each in pair.changes
        ],
        "cited": [each._asdict() for each in pair.cited],
    }  # fmt: skip
