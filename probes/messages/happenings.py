"""Messages of one event: an exception that led to another shares its owner."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from .message import Message
from .owners import Attribution, Origins


class Happenings:
    """The owners of ``messages``, each seen with the others of its group."""

    def __init__(
        self, origins: Origins, messages: Iterable[Message], about: Collection[str] = ()
    ) -> None:
        self._origins = origins
        self._about = about
        self._leading: dict[int, Message] = {}
        for message in messages:
            if message.keep and message.chain in ("", "final"):
                self._leading.setdefault(message.group, message)

    def owner(self, message: Message) -> Attribution | None:
        """The owner of a message. A cause of unknown origin, or from a library that others call,
        belongs to the owner of the error that it led to."""
        found = self._owner(message)
        return self._origins.within(found, self._about) if found else None

    def _owner(self, message: Message) -> Attribution | None:
        found = self._origins.of(message)
        if message.chain not in ("cause", "context"):
            return found
        if found and not self._origins.is_generic(found.owner):
            return found
        leader = self._leading.get(message.group)
        above = self._origins.of(leader) if leader else None
        if above is None or self._origins.is_generic(above.owner):
            return found
        return Attribution(above.owner, False, f"it led to a message known by {above.evidence}")
