"""Two and more releases of a package, compared, with the effects on our knowledge."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from ...engine.compiler.build import Built
from ...engine.diagnosis.diagnoser import Diagnoser
from ...facts import Problem
from ...facts.progress import UNWATCHED, Progress
from ...reading.packages.folder import normal_name
from ...reading.packages.release import Release
from ...reading.packages.texts import normal
from ..drift import Found, anchors_of, look_for
from .api import api_changes
from .changes import Change, in_order
from .definitions import Reader
from .knowledge import Names
from .limits import Limit, limits
from .messages import Key, Message, by_function, message_changes, messages_of
from .packaging import file_changes, requirement_changes
from .sources import Cited, cited
from .touches import Rows, Toucher
from .values import code_changes, value_changes


class Lost(NamedTuple):
    """An anchor whose text is there in the old release, but not in the new one (``state`` as `kb
    drift` has it); or the other way round. ``known`` if its version events state this."""

    old: Found
    new: Found

    @property
    def known(self) -> bool:
        """Whether the entry needs no review."""
        return not self.new.drifts


class Pair(NamedTuple):
    """The changes from one release to the next. ``silent`` are the error rows that answered a
    message of the old one and answer none of the new one."""

    old: Release
    new: Release
    changes: tuple[Change, ...]
    anchors: tuple[Lost, ...]
    silent: tuple[str, ...]
    cited: tuple[Cited, ...]

    @property
    def breaks(self) -> bool:
        """Whether an error row lost its text."""
        return any(not each.known for each in self.anchors) or bool(self.silent)


class Comparison(NamedTuple):
    """The changes between releases in their order, and the version tests of our knowledge."""

    package: str
    releases: tuple[Release, ...]
    pairs: tuple[Pair, ...]
    limits: tuple[Limit, ...]
    problems: tuple[Problem, ...]


def compare(
    releases: Sequence[Release], built: Built, doctor: Diagnoser, progress: Progress = UNWATCHED
) -> Comparison:
    """Compare each release with the one before it."""
    names, rows, reader = Names(built.source), Rows(doctor), Reader()
    pairs = []
    for old, new in pairwise(releases):
        what = f"{old.label} to {new.label}"
        with progress.part(what, 4, "steps") as step:
            modules = reader.differing(old, new)
            step(1)
            messages = messages_of(old), messages_of(new)
            found = [
                *requirement_changes(old, new), *message_changes(*messages),
                *api_changes(*modules), *value_changes(*modules),
                *code_changes(*modules, *map(by_function, messages)), *file_changes(old, new),
            ]  # fmt: skip
            step(2)
            toucher = Toucher(names, rows, old, new)
            deciding = {each.entry for each in limits(built.source, (old, new)) if each.decides}
            changes = sorted(map(toucher.touched, found), key=lambda each: in_order(each, deciding))
            silent = _silent(rows, old, new, messages)
            step(3)
            anchors = tuple(_anchors(built, old, new, changes))
            quoted = tuple(cited(built.source, old.package, changes))
            pairs.append(Pair(old, new, tuple(changes), anchors, silent, quoted))
            step(4)
    return Comparison(
        releases[0].package, tuple(releases), tuple(pairs), tuple(limits(built.source, releases)),
        tuple(p for each in releases for p in (*each.problems, *each.index.problems)),
    )  # fmt: skip


def _silent(
    rows: Rows, old: Release, new: Release, messages: Sequence[Mapping[Key, Message]]
) -> tuple[str, ...]:
    sides = [
        {row for one in some.values() for row in rows.all(release, one.sites)}
        for release, some in zip((old, new), messages, strict=True)
    ]
    return tuple(sorted(sides[0] - sides[1]))


def _anchors(built: Built, old: Release, new: Release, changes: Sequence[Change]) -> Iterator[Lost]:
    """The anchors whose state differs in the new release."""
    for anchored in anchors_of(built.source):
        if normal_name(anchored.anchor.package) == old.package:
            was, now = (look_for(anchored, {anchored.anchor.package: each}) for each in (old, new))
            if now.state == "gone":
                now = _followed(now, changes)
            if was.state != now.state:
                yield Lost(was, now)


def _followed(found: Found, changes: Sequence[Change]) -> Found:
    """Follow a text that is gone to the new words of its message, if the message has any."""
    wanted = normal(found.anchored.anchor.text)
    for change in changes:
        if change.kind == "message-changed" and wanted in normal(change.old):
            return found._replace(state="changed", place=change.where, text=change.new)
    return found
