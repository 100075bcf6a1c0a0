"""The interface by which long work reports its progress and learns that it should end early.

A probe or reader that may take longer than a second takes ``progress`` as a keyword. The caller
decides how to show it: a probe never prints.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

from .problems import INTERRUPTED, Location, Problem


class Step(Protocol):
    """Is told that so much more is done; False asks to end here, with what is known."""

    def __call__(self, done: int = 1, /) -> bool: ...


class Progress(Protocol):
    """Is told what is being done, part by part."""

    def part(
        self, what: str, total: int = 0, unit: str = "", *, ends_early: bool = False
    ) -> AbstractContextManager[Step]:
        """A part of the work, of ``total`` units (0: unknown). With ``ends_early`` the work ends
        soon after a step has answered False, and reports the rest by :func:`interrupted`; without
        it, it may be broken off anywhere by ``KeyboardInterrupt``."""
        ...


class _Unwatched:
    """Progress that is not shown."""

    def part(
        self, what: str, total: int = 0, unit: str = "", *, ends_early: bool = False
    ) -> AbstractContextManager[Step]:
        return nullcontext(go_on)


def go_on(done: int = 1, /) -> bool:
    """The step of work without progress."""
    return True


UNWATCHED: Progress = _Unwatched()


def interrupted(left_out: str, where: Location | None = None) -> Problem:
    """The problem of parts left out because the user did not want to wait (MM407)."""
    hint = "run it again and let it end, or name less"
    return Problem(INTERRUPTED, f"interrupted: {left_out}", where, hint)
