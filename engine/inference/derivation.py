"""The result of inference, and the interface that all its implementations share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from ...facts import Fact, Value
from ...facts.records import NamedTuple
from .program import Conclusion, Rule
from .working_memory import WorkingMemory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol
else:
    Protocol = object


MAX_FIRINGS = 10_000

MAX_JOIN_WORK = 500_000
"""Partial matches that the joins of one run may make: about a second and 200 MB."""

TIME_IS_UP = "the rules of the stratum in hand and of those above were left out"
"""What :attr:`Derivation.capped` says where the time is up."""
_ASK_EVERY = 500

Binding = tuple[Value, ...]


class OutOfTime(Exception):
    """Whoever asked for the work does not want to wait any longer."""


class Work:
    """The work of one diagnosis: facts matched, partial matches, firings, bindings tried. Every few
    hundred units it asks whether time is up. The clock belongs to who gives ``is_up``."""

    __slots__ = ("_is_up", "_left", "ended", "left_out")

    def __init__(self, is_up: Callable[[], bool] | None = None) -> None:
        self._is_up = is_up
        self._left = 0
        self.ended = False
        self.left_out: list[str] = []

    def goes_on(self, units: int = 1) -> bool:
        """Whether there is time for what comes, after so much more work."""
        if self._is_up is None:
            return True
        self._left -= units
        if self._left < 0:
            self._left = _ASK_EVERY
            self.ended = self.ended or self._is_up()
        return not self.ended


UNLIMITED = Work()
"""For work that may take as long as it takes."""


class Firing(NamedTuple):
    """A rule (its index in the program) that fired for one binding of its variables.

    ``premises`` holds for each literal of the rule the facts that it rests on, in canonical order:
    those that pass (``match``), contradict (``refuted``) or are counted (``aggregate``). The facts
    that a literal excludes are absent, so the premises of ``unless_*`` are empty.
    """

    rule: int
    binding: Binding
    premises: tuple[tuple[Fact, ...], ...] = ()


class Derivation(NamedTuple):
    """The fixpoint: all facts, given and derived, and all firings, both in canonical order.

    ``capped`` names the cap that ended the inference early; empty if it is complete.
    """

    facts: tuple[Fact, ...]
    firings: tuple[Firing, ...]
    capped: str = ""


class Backend(Protocol):
    """An implementation of inference. All derive the same from the same program and facts."""

    name: str

    def derive(
        self, facts: Sequence[Fact], memory: WorkingMemory | None = None, work: Work = UNLIMITED
    ) -> Derivation:
        """Run to the fixpoint, or until ``work`` ends. Thread-safe; keeps nothing between calls. A
        fresh ``memory`` holds all facts of the derivation afterwards, unless the work ended."""
        ...


def concluded(rule: Rule, binding: Binding) -> Iterable[Fact]:
    """The facts that a firing derives."""
    values = dict(zip(rule.variables, binding, strict=True))
    for conclusion in rule.conclusions:
        yield conclude(conclusion, values)


def conclude(conclusion: Conclusion, values: Mapping[str, Value]) -> Fact:
    """One derived fact, variables replaced by their values."""
    filled = ((n, values[v[0]] if isinstance(v, tuple) else v) for n, v in conclusion.values)
    return Fact(conclusion.kind, tuple(sorted(filled)))


def firing_order(firing: Firing) -> tuple[int, list[tuple[str, str]]]:
    """The canonical order: by rule (and so by stratum), then by binding of any types."""
    return firing.rule, [(type(v).__name__, repr(v)) for v in firing.binding]


def join_order(slots: Sequence[Sequence[str]]) -> tuple[int, ...]:
    """The order in which slots with these variables are joined: each shares as many variables as
    possible with those before it, the first with all others; ties go to the first slot."""
    left = list(range(len(slots)))
    bound: set[str] = set()
    order: list[int] = []
    while left:
        rest = bound or {v for n in left for v in slots[n] if sum(v in s for s in slots) > 1}
        best = max(left, key=lambda n: (len(rest.intersection(slots[n])), -n))
        order.append(best)
        left.remove(best)
        bound.update(slots[best])
    return tuple(order)


def combinations_exceeded(most: int) -> str:
    """The value of :attr:`Derivation.capped` if joins do too much work."""
    return (
        f"facts have more than {most:,} combinations; the rules of the stratum that joins them and "
        "of those above were left out"
    )
