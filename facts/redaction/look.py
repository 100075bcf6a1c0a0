"""One look at a text: which detectors have a chance in it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache

from .detectors import searchable
from .first_look import FirstLook

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .mapping import Variant

_HIDDEN = "\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff"
_HIDDEN += "\ufff9-\ufffb\U000e0000-\U000e007f\u115f\u1160\u3164\uffa0\ufe00-\ufe0f"
_ESCAPES = r"\x1b(?:\[[0-9;:?]{0,40}[@-~]|\][^\x07\x1b]{0,400}(?:\x07|\x1b\\)|[@-Z\\-_])"
ENCODED = frozenset(("escapes", "runs"))


class Look:
    """A text, its bytes, one for each character, and what shows in it at first sight: numbers of
    ``issuers`` and ``contexts``, names of detectors that are code (``code``), and whether anything
    shows without decoding (``plainly``)."""

    __slots__ = ("code", "contexts", "data", "issuers", "plainly", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.data = searchable(text)
        self.issuers: list[int] = []
        self.contexts: list[int] = []
        self.code: set[str] = set()
        by_kind: dict[str, Callable[[Any], None]]
        by_kind = {"issuers": self.issuers.append, "contexts": self.contexts.append}
        for kind, name in FirstLook.shipped().found(self.data):
            by_kind.get(kind, self.code.add)(name)
        self.plainly = bool(self.issuers or self.contexts or self.code - ENCODED)


Reading = Callable[[str], "Iterable[Variant]"]


class Seen:
    """What has been looked at in one document: the same texts show again and again, alone,
    together, decoded, and when the document is searched again without its secrets."""

    __slots__ = ("_hidden", "_looks", "clean")

    def __init__(self) -> None:
        self._looks: dict[str, Look] = {}
        self.clean: set[str] = set()
        """Texts in which nothing was found."""
        self._hidden: dict[tuple[Reading, str], tuple[Variant, ...]] = {}

    def look(self, text: str) -> Look:
        """The look at a text."""
        known = self._looks.get(text)
        if known is None:
            known = self._looks[text] = Look(text)
        return known

    def hidden(self, read: Reading, part: str) -> tuple[Variant, ...]:
        """What a part of a text stands for."""
        known = self._hidden.get((read, part))
        if known is None:
            known = self._hidden[read, part] = tuple(read(part))
        return known


def hides_something(text: str) -> bool:
    """Whether invisible characters may split a secret."""
    if text.isascii():  # without compiling a pattern
        return not text.replace("\n", " ").replace("\t", " ").isprintable()
    return hidden().search(text) is not None


@cache
def hidden() -> re.Pattern[str]:
    """Invisible characters and terminal sequences."""
    return re.compile(f"{_ESCAPES}|[{_HIDDEN}]")
