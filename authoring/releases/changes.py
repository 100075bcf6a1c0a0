"""A change between two releases, and the order in which kinds of changes are reported."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from ...reading.packages.sites import Site
from ..surface.ranking import ASIDE_PARTS, likelihood
from .knowledge import Touch

AREAS = {
    "requires": "Requirements",
    "messages": "Messages",
    "api": "Functions, classes and parameters",
    "tables": "Constants, tables and names",
    "code": "Code",
    "files": "Files",
}
KINDS = {
    "requirement-changed": "requires", "requirement-added": "requires",
    "requirement-removed": "requires",
    "message-changed": "messages", "message-raised-otherwise": "messages",
    "message-moved": "messages", "message-removed": "messages", "message-added": "messages",
    "removed": "api", "renamed": "api", "moved": "api", "bases-changed": "api",
    "returns-changed": "api", "parameter-removed": "api", "parameter-renamed": "api",
    "parameter-required": "api", "parameter-moved": "api", "default-changed": "api",
    "parameter-added": "api", "added": "api",
    "constant-changed": "tables", "constant-removed": "tables", "constant-added": "tables",
    "entries-changed": "tables", "entries-removed": "tables", "entries-added": "tables",
    "names-removed": "tables", "names-added": "tables",
    "code-changed": "code",
    "file-moved": "files", "file-removed": "files", "file-added": "files",
}  # fmt: skip
"""Every kind of change with its area, in the order of the report."""


class Change(NamedTuple):
    """``name`` is the changed thing; ``old`` and ``new`` its former and present form; ``where`` its
    place (in the new release, if it is still there).

    ``words`` are the names that knowledge may know it by, in groups all of which must be there;
    ``before`` and ``after`` the sites of a message, or those in code that changed; ``new_names``
    what came into a table, ``beside`` what was in it, ``unknown`` what nothing of ours has.
    """

    kind: str
    name: str
    old: str = ""
    new: str = ""
    where: str = ""
    public: bool = True
    words: tuple[tuple[str, ...], ...] = ()
    before: tuple[Site, ...] = ()
    after: tuple[Site, ...] = ()
    touches: tuple[Touch, ...] = ()
    new_names: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()

    @property
    def area(self) -> str:
        """The area of the change."""
        return KINDS[self.kind]

    @property
    def concerns(self) -> bool:
        """Whether the change needs a review: if it touches an entry; for messages, only if rows no
        longer answer them, or not yet."""
        if self.area == "messages":
            unanswered = self.kind == "message-added" and not self.touches
            return unanswered or any(touch.how in _UNANSWERED for touch in self.touches)
        return bool(self.touches)


ANSWERS_OLD = "answers the old text only"
ANSWERS_GONE = "answers this text"
_UNANSWERED = (ANSWERS_OLD, ANSWERS_GONE)
_ORDER = {kind: at for at, kind in enumerate(KINDS)}


def in_order(change: Change, deciding: Collection[str] = ()) -> tuple[object, ...]:
    """The key to sort changes by: changes that concern knowledge first (``deciding`` entries, which
    distinguish the two releases, before others), then changes that users meet."""
    decides = any(touch.entry in deciding for touch in change.touches)
    aside = bool(ASIDE_PARTS & set(change.where.split("/")))
    likely = -max(map(likelihood, change.after), default=0) if change.kind == "message-added" else 0
    return (
        list(AREAS).index(change.area), not change.concerns, not decides, aside, not change.public,
        _ORDER[change.kind], likely, change.name, change.old, change.new,
    )  # fmt: skip
