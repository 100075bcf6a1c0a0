"""The type that renderers and writers accept."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

T_co = TypeVar("T_co", covariant=True)
R = TypeVar("R")

_SEAL = object()


class Redacted(Generic[T_co]):
    """A value without secrets, and how many of each kind were taken out of it.

    Cannot be made by hand: :meth:`.Redactor.redact` makes it, :meth:`map` carries it on.
    """

    __slots__ = ("counts", "value")

    value: T_co
    counts: Mapping[str, int]

    def __init__(self, value: T_co, counts: Mapping[str, int], seal: object = None) -> None:
        if seal is not _SEAL:
            raise TypeError("only a redactor makes redacted values")
        self.value = value
        self.counts = counts

    def map(self, change: Callable[[T_co], R]) -> Redacted[R]:
        """What a pure function makes of the value; such a function adds no secrets."""
        return Redacted(change(self.value), self.counts, _SEAL)


def sealed(value: R, counts: Mapping[str, int]) -> Redacted[R]:
    """For the redactor alone."""
    return Redacted(value, counts, _SEAL)
