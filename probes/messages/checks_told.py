"""The fact of a check that refused a call."""

from __future__ import annotations

import re
from collections.abc import Callable

from ..outcome import Collector
from .failed_check import of_assertion, of_condition
from .failing_line import FailingLine
from .known_sites import KnownSite
from .message import Message
from .owners import Attribution

_MAX_CALL = 160
_PASSED_ON = re.compile(r"assert|check\Z|require")
"""Functions that others give their check to."""


def add_check(
    collector: Collector, message: Message, owner: Attribution | None, site: KnownSite | None,
    standing: FailingLine | None, place: Callable[[int], str],
) -> None:  # fmt: skip
    """Add the ``failed_check`` of a message that an exception tells, where its traceback shows the
    assertion, or the public sources have the test before it."""
    if not message.exception:
        return
    here = standing if standing and standing.line == message.line and not standing.cut else None
    found = of_assertion(here.code) if here and not _PASSED_ON.search(here.function) else None
    found = found or (of_condition(site.guard) if site and site.guard else None)
    if found is None:
        return
    function = f"{here.function} in {here.place}" if here else ""
    collector.add(
        "failed_check", place(message.number), condition=found.condition, test=found.kind or None,
        subject=found.subject or None, limit=found.limit or None,
        place=(site.place if site else "") or function or None,
        file=message.file or None, exception=message.exception,
        owner=owner.owner if owner else None,
        called_at=here.own_place or None if here else None,
        call=here.own_code[:_MAX_CALL] or None if here else None,
    )  # fmt: skip
