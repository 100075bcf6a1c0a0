"""The text that every match of a regular expression contains.

With it a message is compared with a few hundred short texts instead of as many expressions: a
message that lacks the text cannot match. If no text is certain to be in every match, there is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

MIN_LENGTH = 3
MAX_LENGTH = 24
MAX_WAYS = 12
"""To spell a part of a pattern; one with more of them is left out."""

_parser: Any = re._parser  # type: ignore[attr-defined]
_constants: Any = re._constants  # type: ignore[attr-defined]


def required_text(pattern: str) -> str:
    """A lower-case ASCII text that the lower-case form of each ASCII text with a match contains;
    empty if there is none of :data:`MIN_LENGTH` characters or more.

    RE2 and Python agree on literals, groups and repetition; a pattern that Python does not parse
    has no required text.
    """
    longest = max(_runs(_parsed(pattern)), key=len, default="")
    return longest[:MAX_LENGTH] if len(longest) >= MIN_LENGTH else ""


def required_texts(pattern: str) -> tuple[str, ...]:
    """Texts like those of :func:`required_text`, at least one of which each matching text contains;
    none if there are none. It finds more, since it looks into alternatives."""
    return _any_of(_parsed(pattern))


@lru_cache(maxsize=16)
def _parsed(pattern: str) -> Sequence[Any]:
    """Kept for a moment: who finds no single text asks for several next."""
    try:
        parsed = _parser.parse(pattern)
    except (re.error, RecursionError, OverflowError):
        return ()
    return () if parsed.state.flags & re.VERBOSE else list(parsed)


def _any_of(parsed: Iterable[Any]) -> tuple[str, ...]:
    """Texts one of which each match contains: those whose shortest is the longest."""
    parsed = list(parsed)
    found = _spelled(parsed)
    for op, argument in parsed:
        if op is _constants.SUBPATTERN:
            found.append(_any_of(argument[-1]))
        elif op in (_constants.MAX_REPEAT, _constants.MIN_REPEAT) and argument[0] > 0:
            found.append(_any_of(argument[2]))
        elif op is _constants.BRANCH:
            branches = [_any_of(branch) for branch in argument[1]]
            every = {text for texts in branches for text in texts}
            found.append(tuple(sorted(every)) if all(branches) else ())
    certain = [texts for texts in found if texts and min(map(len, texts)) >= MIN_LENGTH]
    return max(certain, key=lambda texts: (min(map(len, texts)), -len(texts)), default=())


def _spelled(parsed: Iterable[Any]) -> list[tuple[str, ...]]:
    """The ways to spell each stretch of a sequence that has few of them."""
    stretches, ways = [], [""]
    for item in parsed:
        further = _ways(item)
        if further and len(ways) * len(further) <= MAX_WAYS:
            ways = [way + more for way in ways for more in further]
        else:
            stretches.append(ways)
            ways = further or [""]
    return [tuple(sorted({way[:MAX_LENGTH] for way in each})) for each in (*stretches, ways)]


def _ways(item: Any) -> list[str]:
    """All lower-case texts that a part of a pattern stands for; none if there are many."""
    op, argument = item
    if op is _constants.AT:
        return [""]  # an anchor takes no text
    if op is _constants.LITERAL:
        return [chr(argument).lower()] if argument < 128 else []
    if op is _constants.IN:
        ways = [way for part in argument for way in (_ways(part) or [""])]
        return sorted(set(ways)) if "" not in ways and len(ways) <= MAX_WAYS else []
    if op is _constants.RANGE:
        first, last = argument
        return [chr(n).lower() for n in range(first, last + 1)] if last - first < MAX_WAYS else []
    parts: list[Iterable[Any]] = []
    if op is _constants.SUBPATTERN:
        parts = [argument[-1]]
    elif op is _constants.BRANCH:
        parts = list(argument[1])
    found = [_all_of(part) for part in parts]
    every = sorted({way for ways in found for way in ways})
    return every if all(found) and len(every) <= MAX_WAYS else []


def _all_of(parsed: Iterable[Any]) -> list[str]:
    """All texts that a sequence stands for; none if there are many."""
    ways = [""]
    for item in parsed:
        further = _ways(item)
        ways = [way + more for way in ways for more in further]
        if not ways or len(ways) > MAX_WAYS:
            return []
    return ways


def _runs(parsed: Iterable[Any]) -> list[str]:
    """The runs of characters that each match contains."""
    runs: list[str] = []
    current = ""
    for op, argument in parsed:
        if op is _constants.LITERAL and argument < 128:
            current += chr(argument).lower()
            continue
        if op is _constants.AT:
            continue  # an anchor takes no text
        runs.append(current)
        current = ""
        if op is _constants.SUBPATTERN:
            runs += _runs(argument[-1])
        elif op in (_constants.MAX_REPEAT, _constants.MIN_REPEAT) and argument[0] > 0:
            runs += _runs(argument[2])
    return [*runs, current]
