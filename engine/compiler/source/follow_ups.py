"""Causes before consequences: which problems follow from others, and their order."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from ....facts import Problem

_NAME = re.compile(r"(?<![a-z0-9])[a-z0-9]++(?:[._-][a-z0-9]++)++")
_QUOTED = re.compile(r"'([a-z0-9._-]+)'")
_LAST = frozenset({"MM267", "MM268", "MM269", "MM271"})
"""A name that is left over or has no counterpart is more often the effect of a mistake than the
mistake."""
_OF_ABSENCE = frozenset(
    ["MM224", "MM227", "MM234", "MM240", "MM246", "MM250", "MM258", "MM266", "MM292", *_LAST]
)
"""Something named here is missing, or nothing is there for it."""
_UNREADABLE = ("MM20", "MM21", "MM22")


def names_in(text: str) -> set[str]:
    """The ids and names of several words in a text: what a file may bring, if it could be read."""
    return set(_NAME.findall(text))


def without_follow_ups(problems: Iterable[Problem], lost: Collection[str]) -> list[Problem]:
    """The problems without those about something missing that a file which did not load may bring.
    ``lost`` holds the :func:`names_in` such files."""
    gone = frozenset(lost)
    return [p for p in problems if p.code not in _OF_ABSENCE or not _named(p.message) & gone]


def _named(message: str) -> set[str]:
    """The missing names in a message: those in quotes, else every name."""
    return set(_QUOTED.findall(message)) or names_in(message)


def ordered(problems: Iterable[Problem]) -> list[Problem]:
    """Each problem once: first files that do not load, last what may be an echo; then by place."""

    def key(problem: Problem) -> tuple[int, str, int, int, str, str]:
        where, code = problem.where, problem.code
        spot = (where.path, where.line, where.column) if where else ("", 0, 0)
        rank = 0 if code.startswith(_UNREADABLE) else 2 if code in _LAST else 1
        return (rank, *spot, code, problem.message)

    return sorted(dict.fromkeys(problems), key=key)
