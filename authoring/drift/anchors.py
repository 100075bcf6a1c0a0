"""Looks for the texts that error rows are anchored to in the sources of packages."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from difflib import SequenceMatcher
from typing import Literal, NamedTuple

from ...engine.compiler.source.error_rows import Anchor
from ...engine.compiler.source.knowledge_source import Item, KnowledgeSource
from ...engine.inference.operators import compile_check
from ...facts import Location
from ...reading.packages.release import Release
from ...reading.packages.texts import normal

State = Literal["found", "moved", "changed", "gone", "not installed"]

ALIKE = 0.76
"""Share of a text that must be alike for it to count as the same one in other words."""
_WORD = re.compile(r"[A-Za-z_]{4,}")


class Anchored(NamedTuple):
    """An anchor of an error row and its place."""

    item: Item
    anchor: Anchor
    where: Location


class Found(NamedTuple):
    """The present state of an anchor. ``place`` and ``text`` give its place and wording now.

    ``expected``: whether the version events of the anchor have the text in the installed version; a
    text that is there (in its module) if and only if it is expected is not drift.
    """

    anchored: Anchored
    state: State
    version: str
    expected: bool
    place: str = ""
    text: str = ""

    @property
    def drifts(self) -> bool:
        """Whether the entry needs a review."""
        if self.state == "not installed":
            return False
        return self.state != "found" if self.expected else self.state in ("found", "moved")


def anchors_of(source: KnowledgeSource) -> Iterator[Anchored]:
    """Every anchor of the rows in force."""
    for item in source.of("error"):
        if item.entry.status != "deprecated":
            for index, anchor in enumerate(item.entry.anchored):
                yield Anchored(item, anchor, item.where("anchors", index))


def look_for(anchored: Anchored, packages: Mapping[str, Release]) -> Found:
    """Find the text of an anchor in the sources of its package."""
    anchor = anchored.anchor
    package = packages.get(anchor.package)
    if package is None:
        return Found(anchored, "not installed", "", True)
    expected = _expected(anchor, package.version)
    wanted = normal(anchor.text)
    for state, modules in _order(anchor.module, package):
        for module in modules:
            for text in package.texts(module):
                if wanted in text.text:
                    place = f"{module}:{text.line}"
                    return Found(anchored, state, package.version, expected, place, text.text)
    likest = _likest(wanted, anchor.module, package)
    if likest is not None:
        place, text_ = likest
        return Found(anchored, "changed", package.version, expected, place, text_)
    return Found(anchored, "gone", package.version, expected)


def _expected(anchor: Anchor, version: str) -> bool:
    """Whether this version should have the text; a version that is not known should."""
    if not anchor.versions or not version:
        return True
    events = [event.model_dump() for event in anchor.versions]
    return compile_check("affected", events)(version) is not False


def _order(module: str, package: Release) -> Iterator[tuple[State, list[str]]]:
    at_home = [m for m in package.files if _inside(m, module)]
    yield "found", at_home
    known = set(at_home)
    yield "moved", [m for m in package.files if m not in known]


def _inside(module: str, wanted: str) -> bool:
    """Whether a module is the wanted one or lies in it; any module counts if none is wanted."""
    return not wanted or module == wanted or module.startswith(f"{wanted}.")


def _likest(wanted: str, module: str, package: Release) -> tuple[str, str] | None:
    """The text that is most like the wanted one, if any is similar; texts of the module itself come
    first."""
    words = set(_WORD.findall(wanted.lower()))
    if len(words) < 2:  # one word is shared by texts that have nothing to do with each other
        return None
    best: tuple[float, str, str] = (ALIKE, "", "")
    for name in package.files:
        for text in package.texts(name):
            found = set(_WORD.findall(text.text.lower()))
            if len(words & found) * 3 < len(words) * 2 or len(text.text) > 4 * len(wanted) + 80:
                continue
            share = SequenceMatcher(None, wanted, text.text, autojunk=False).ratio()
            share += 0.05 * _inside(name, module)
            if share > best[0]:
                best = share, f"{name}:{text.line}", text.text
    return (best[1], best[2]) if best[1] else None
