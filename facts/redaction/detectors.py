"""The detectors that are data. Maintainers edit ``issuers.yaml`` and ``contexts.yaml``;
``build.py`` checks them and writes ``detectors.json``, which takes no YAML parser to read. The
patterns run in RE2, in linear time; it has no look-around, so a group marks the secret, and a check
tests conditions that a pattern cannot.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from itertools import starmap

from ..json_text import loads
from ..records import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


COMPILED = os.path.join(os.path.dirname(__file__), "detectors.json")
# A credential does not begin within a word; `_` may precede it, as in a file name, and so may the
# escape of a line break.
START = r"(?:^|[^A-Za-z0-9]|\\[nrt])"
ELLIPSIS = "\x1a"  # stands for "…" in what is searched
_MEMORY = 1 << 26


class Span(NamedTuple):
    """A part of a text that is secret; ``secret`` is the whole of it where the text holds it split,
    quoted, encoded or cut short."""

    start: int
    end: int
    kind: str
    secret: str


class Detector(NamedTuple):
    """How a credential looks; the last group of the pattern that took part is the secret. With
    ``within`` the pattern is looked for, any number of times, in what that pattern finds."""

    kind: str
    pattern: str
    check: str
    within: str = ""


@cache
def compiled(pattern: str) -> Any:
    """A pattern for RE2 over bytes."""
    import re2

    return re2.compile(pattern.encode("latin-1"), options())


def searchable(text: str) -> bytes:
    """The text with one byte for each character, so that places are the same in both."""
    if text.isascii():
        return text.encode("ascii")
    return text.replace("…", ELLIPSIS).encode("ascii", "replace")


@cache
def shipped() -> tuple[tuple[Detector, ...], tuple[Detector, ...]]:
    """The formats of issuers, and the contexts."""
    with open(COMPILED, encoding="utf-8") as file:
        rows = loads(file.read())
    return tuple(starmap(Detector, rows["issuers"])), tuple(starmap(Detector, rows["contexts"]))


def spans_of(detector: Detector, text: str, data: bytes) -> Iterator[Span]:
    """The matches of a detector."""
    from .checks import CHECKS  # most texts hold nothing to check

    accept = CHECKS[detector.check]
    for start, end in _regions(detector, data):
        for found in compiled(detector.pattern).finditer(data, start, end):
            at, stop = found.span(_last(found))
            while text[stop - 1 : stop] == "\\" and text[stop : stop + 1] in ('"', "'"):
                stop -= 1  # it escapes the quote
            if accept(text[at:stop]):
                yield Span(at, stop, detector.kind, text[at:stop])


def _regions(detector: Detector, data: bytes) -> Iterator[tuple[int, int]]:
    if not detector.within:
        yield 0, len(data)
        return
    for found in compiled(detector.within).finditer(data):
        yield found.span(1)


def _last(found: Any) -> int:
    """The last group that took part."""
    return max(n for n, part in enumerate((True, *found.groups())) if part is not None)


@cache
def options() -> Any:
    """How RE2 reads all patterns."""
    import re2

    chosen = re2.Options()
    chosen.encoding = re2.Options.Encoding.LATIN1
    chosen.never_nl = False
    chosen.log_errors = False
    chosen.max_mem = _MEMORY
    return chosen
