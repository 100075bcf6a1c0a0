"""Values, errors and the interface of the mark network.

A mark network joins small integer tuples ("marks") into activations. It knows nothing of facts,
rules or text: the layer above turns those into marks and reads activations back. Every
implementation decides the same thing, so that a slow plain one can stand in for a fast one.

Semantics. A *shape* has positive and negated slots and equality joins between their ports. An
activation stands for one mark in each positive slot, such that all joins hold and no mark fed
earlier in a negated slot satisfies its joins. It is decided when the last of its positive marks is
fed; marks count as fed one by one in the order given. Each combination of marks is reported at
most once, and two marks with equal keys are two marks.

Feed order. Negated marks go first: a negated mark that comes after the positive marks it could
have blocked raises `FeedOrderError`. The layer above feeds strata in order, which guarantees it.

Joins are only those a shape lists. Port 0 holds, by convention, the key of rule and binding; join
every slot through it and different rules that share a shape never meet.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Protocol

from ...facts.records import NamedTuple

MAX_SLOTS = 8
"""Slots of one shape, positive and negated together."""

MAX_PORTS = 16
"""Ports of one slot that joins may name (0 to 15)."""

MAX_JOINS_PER_SLOT = 20
"""Equality tests of one slot."""

MAX_KEY = 2**31 - 1
"""Largest port value. Keys are interned numbers, so this is room to spare."""

DEFAULT_FIRING_BUDGET = 10_000
"""Activations of one session before the network calls it an endless chain."""

DEFAULT_MARK_LIMIT = 100_000
"""Marks of one session; each costs up to 8.5 KB until the session closes."""

Join = tuple[int, int, int, int]
"""(slot, port, earlier positive slot, its port): the two ports hold equal integers."""


class Shape(NamedTuple):
    """What a family of rules looks like to the joins.

    Slots 0 to `positives` - 1 are positive, the `negatives` slots after them are negated. Every
    slot but the first needs at least one join.
    """

    positives: int
    negatives: int = 0
    joins: tuple[Join, ...] = ()


class Mark(NamedTuple):
    """One candidate for one slot. `shape` indexes the network's shapes.

    `keys[p]` is the value at port p, 0 to `MAX_KEY`; it must reach up to the highest port that the
    shape's joins name for this slot, and ports beyond that are ignored.
    """

    shape: int
    slot: int
    keys: tuple[int, ...]


class Activation(NamedTuple):
    """One satisfied shape: the numbers of its marks, as `feed` returned them, in slot order."""

    shape: int
    marks: tuple[int, ...]


class NetworkError(Exception):
    """Base of everything a mark network raises on its own account."""


class NetworkUnavailable(NetworkError, ImportError):
    """The implementation cannot run here; the caller should take another one."""


class ShapeError(NetworkError, ValueError):
    """A shape is malformed, or the shapes together are more than the engine can carry."""


class MarkError(NetworkError, ValueError):
    """A mark names no slot of the network, lacks a port or holds something other than a key."""


class FeedOrderError(MarkError):
    """A negated mark came after the positive marks that it could have blocked."""


class MarkLimitExceeded(NetworkError, RuntimeError):
    """The session was fed more marks than its limit."""


class FiringBudgetExceeded(NetworkError, RuntimeError):
    """The session fired more often than its budget. `last` holds the latest activations."""

    def __init__(self, message: str, last: tuple[Activation, ...] = ()) -> None:
        super().__init__(message, last)
        self.last = last

    def __str__(self) -> str:
        return str(self.args[0])


class SessionLimitExceeded(NetworkError, RuntimeError):
    """Too many sessions are open at once and none was closed within the waiting time."""


class SessionClosed(NetworkError, RuntimeError):
    """The session (or its network) was closed, or an engine fault ended it."""


class EngineFault(NetworkError, RuntimeError):
    """The engine broke a promise it is trusted with: no result of this session may be used."""


class MarkSession(Protocol):
    """One diagnosis. Belongs to one thread at a time; use it in a `with` statement."""

    def feed(self, marks: Sequence[Mark], /) -> list[int]:
        """Add marks and return their numbers, unique in the session and rising.

        Allowed before, between and during iterations of `activations`. A batch with a bad mark
        raises `MarkError` and feeds nothing. Raises `MarkLimitExceeded`, `SessionClosed`.
        """

    def activations(self) -> Iterator[Activation]:
        """Yield each activation once, until nothing more follows from the marks fed so far.

        Leaving the loop early loses nothing: the next call goes on after the activations already
        yielded. Raises `FiringBudgetExceeded`, `SessionClosed`.
        """

    def close(self) -> None:
        """Free the session's memory. A second call does nothing."""

    def __enter__(self) -> MarkSession: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> None: ...


class MarkNetwork(Protocol):
    """Compiled shapes, shared by any number of sessions and threads."""

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """The shapes, in the order that `Mark.shape` counts."""

    def session(self) -> MarkSession:
        """Open a session. Raises `SessionLimitExceeded`, `SessionClosed`."""

    def close(self) -> None:
        """Free the network. Raises `NetworkError` while sessions are open."""


def check_shape(shape: Shape) -> None:
    """Raise `ShapeError` unless `shape` is well formed."""
    positives, negatives, joins = shape
    slots = positives + negatives
    if positives < 1 or negatives < 0 or slots > MAX_SLOTS:
        raise ShapeError(
            f"a shape has 1 positive slot or more and at most {MAX_SLOTS} in all: {shape}"
        )
    for slot, port, earlier, its_port in joins:
        if not 0 < slot < slots or not 0 <= earlier < min(slot, positives):
            raise ShapeError(f"a join goes from a slot to an earlier positive slot: {shape}")
        if not 0 <= port < MAX_PORTS or not 0 <= its_port < MAX_PORTS:
            raise ShapeError(f"ports count from 0 to {MAX_PORTS - 1}: {shape}")
    joined = [slot for slot, *_ in joins]
    for slot in range(1, slots):
        if not 0 < joined.count(slot) <= MAX_JOINS_PER_SLOT:
            raise ShapeError(
                f"slot {slot} needs 1 to {MAX_JOINS_PER_SLOT} joins to earlier slots: {shape}"
            )
