"""What one run feeds to the mark network: marks for the slots of rules that need a join."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from ...facts import Value
from ..identity import identity, same
from .derivation import Binding
from .mark_network import Mark, MarkSession
from .slots import RulePlan, Slot
from .working_memory import Known, Values

_Meaning = tuple[RulePlan, Slot, tuple[Value, ...]]
"""What a mark stands for: a rule, one of its slots, and the values of the slot's variables."""


class Feed:
    """The marks of one run, each sent once, and what the activations of the network mean.

    The session is opened when there is something to join, and belongs to this feed.
    """

    def __init__(self, open_session: Callable[[], MarkSession], shapes: Sequence[int]) -> None:
        self._open = open_session
        self._shapes = shapes
        self._session: MarkSession | None = None
        self._keys: dict[tuple[str, Value], int] = {}
        self._sent: set[Mark] = set()
        self._meanings: dict[int, _Meaning] = {}
        self.pending: list[tuple[Mark, _Meaning]] = []

    def send(self, plan: RulePlan, slot: Slot, candidates: Iterable[Known]) -> None:
        """Put marks in line; none for a fact that lacks a joined attribute or disagrees with
        itself."""
        shape = self._shapes[plan.number]
        for _, values in candidates:
            found = _joined(slot, values)
            if found is None:
                continue
            mark = Mark(shape, slot.number, (plan.number, *[self._key(value) for value in found]))
            if mark not in self._sent:
                self._sent.add(mark)
                self.pending.append((mark, (plan, slot, found)))

    def flush(self) -> None:
        """Feed what is in line; the negated marks of a rule stand before its positive ones."""
        if self._session is None:
            self._session = self._open()
        if self.pending:
            numbers = self._session.feed([mark for mark, _ in self.pending])
            for number, (_, meaning) in zip(numbers, self.pending, strict=True):
                self._meanings[number] = meaning
            self.pending.clear()

    def activations(self) -> Iterator[tuple[RulePlan, Binding]]:
        """The rules that the network activates, with the values of their variables."""
        if self._session is not None:
            for activation in self._session.activations():
                yield self._binding(activation.marks)

    def close(self) -> None:
        """Free the session. A second call does nothing."""
        if self._session is not None:
            self._session.close()

    def _binding(self, marks: Sequence[int]) -> tuple[RulePlan, Binding]:
        values: dict[str, Value] = {}
        for number in marks:
            plan, slot, found = self._meanings[number]
            values.update(zip((variable for _, variable in slot.joins), found, strict=True))
        return plan, tuple([values[name] for name in plan.rule.variables])

    def _key(self, value: Value) -> int:
        return self._keys.setdefault(identity(value), len(self._keys))


def _joined(slot: Slot, values: Values) -> tuple[Value, ...] | None:
    """The values of a slot's variables; None if one is missing or two disagree."""
    found: list[Value] = []
    seen: dict[str, Value] = {}
    for attribute, variable in slot.joins:
        value = values.get(attribute)
        if value is None or not same(seen.setdefault(variable, value), value):
            return None
        found.append(value)
    return tuple(found)
