"""The fact of a check that refused a call."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from ..outcome import Collector
from .failing_line import FailingLine
from .known_sites import KnownSite
from .message import Message
from .owners import Attribution, Origins

if TYPE_CHECKING:
    from .failed_check import FailedCheck

_MAX_CALL = 160
_BACK = "\\"
_ASSIGNED = re.compile(r" \S{0,2}= | of |: ")
_GIVEN = re.compile(r"not \w+\Z")
_SETTINGS = re.compile(r"kwargs|config|cfg|args|options")
_REST = re.compile(r"(\w+) = ([\w.\[\]]+) % ([\w.\[\]]+)\Z")
_PASSED_ON = re.compile(r"assert|check\Z|require")
"""Functions to which other functions delegate their check."""


class Checks:
    """Collects the checks that messages report; ``standing`` is the failing line of the last
    traceback."""

    def __init__(self, origins: Origins, standing: FailingLine | None) -> None:
        self._standing = standing
        own = standing.lines if standing else ()
        self._own = next((each for each in reversed(own) if origins.is_own(each[0])), None)

    def add(
        self, collector: Collector, message: Message, owner: Attribution | None,
        site: KnownSite | None, place: Callable[[int], str],
    ) -> None:  # fmt: skip
        """Add the ``failed_check`` of a message of an exception, if its traceback shows the
        assertion, or the public sources contain the test before the message."""
        here = self._standing
        if here and (here.cut or here.line != message.line):
            here = None
        shown = here.code if here and not _PASSED_ON.search(here.function) else ""
        guard = "" if site is None or _is_passed_on(site) else site.guard
        raised = message.exception and not message.exception.endswith("Warning")
        if not raised or not (guard or shown.startswith("assert ")):
            return
        from .failed_check import of_assertion, of_condition  # with the parser of Python

        found = of_assertion(shown) or of_condition(guard)
        if found is None:
            return
        made = site.made if site else ""
        found = _of_rest(found, made)
        path, line, code = (self._own if here else None) or ("", 0, "")
        where = f"{here.function} in {here.place}" if here else None
        collector.add(
            "failed_check", place(message.number), condition=found.condition,
            test=found.kind or None, subject=found.subject or None, limit=found.limit or None,
            place=(site.place if site else "") or where,
            file=message.file or None, exception=message.exception,
            owner=owner.owner if owner else None,
            called_at=f"{path.replace(_BACK, '/').rpartition('/')[2]}:{line}" if code else None,
            call=code[:_MAX_CALL] or None, set_by=(site.set_by if site else "") or None,
            made=made or None, worked_out=makes(made, found.subject) if found.subject else None,
        )  # fmt: skip


def _of_rest(found: FailedCheck, made: str) -> FailedCheck:
    """Turn a test of the remainder of a division into one of its dividend: a multiple of the
    divisor."""
    rest = _REST.match(made)
    if rest is None or found.subject != rest[1] or found.kind == "multiple":
        return found
    return found._replace(kind="multiple", subject=rest[2], limit=rest[3])


def _is_passed_on(site: KnownSite) -> bool:
    """Whether the test is in a helper, which raises if its argument is invalid."""
    function = site.place.partition(" ")[0]
    return bool(_PASSED_ON.search(function) and _GIVEN.match(site.guard))


def makes(made: str, subject: str) -> bool:
    """Whether one of the assignments computes the value that a test checks."""
    name = re.match(r"\w+", subject)
    if name is None or not made:
        return False
    for each in made.split("; "):
        made_of = _ASSIGNED.search(each)
        if made_of and name[0] in re.findall(r"\w+", each[: made_of.start()]):
            return not _is_given(each[made_of.end() :])
    return False


def _is_given(value: str) -> bool:
    """Whether a value is only a value of the caller's, from arguments or a configuration."""
    match = re.match(r"([\w.]+)([(\[]?)", value)
    if match is None or (not match[2] and match.end() < len(value)):
        return False
    *before, last = match[1].split(".")
    if match[2] == "(":
        return last in ("get", "pop") and any(map(_SETTINGS.search, before[-1:]))
    return any(map(_SETTINGS.search, (*before[-1:], last)))
