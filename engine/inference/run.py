"""One run of the default backend: what is ready, what fires, and which marks the network gets.

A rule is *ready* once each of its positive patterns has a match; until then it *watches* one that
has none, so that cost follows matches. A ready rule with one slot, or with one candidate for each
slot, has nothing to join: its candidates agree or they do not, and it goes on the agenda at once.
All other joins are the network's. Strata are fed in order, the negated marks of a rule before its
positive ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from ...facts import Fact, Value
from ..identity import identity, same
from ..operators import compare
from .aggregates import evaluate
from .derivation import Firing, conclude
from .mark_network import FiringBudgetExceeded, Mark, MarkLimitExceeded, MarkSession
from .network_index import Signal
from .slots import RulePlan, Slot
from .working_memory import Known, Values, WorkingMemory

if TYPE_CHECKING:
    from .durable import DurableBackend

_Meaning = tuple[int, Slot, tuple[Value, ...]]
"""What a mark stands for: a rule, one of its slots, and the values of the slot's variables."""

_NO_FACT: Sequence[Known] = ((Fact("", ()), {}),)
"""The candidate of the constant slot: a rule that waits for nothing is ready."""


class Run:
    """The state of one derivation in a working memory."""

    def __init__(self, backend: DurableBackend, memory: WorkingMemory) -> None:
        self.fired: dict[Firing, None] = {}
        self._backend = backend
        self._memory = memory
        self._rules = backend.program.rules
        self._session: MarkSession | None = None
        self._watchers: dict[Signal, list[int]] = {}
        self._live: dict[Signal, list[tuple[int, Slot]]] = {}
        self._ready: list[list[int]] = [[] for _ in range(backend.program.strata)]
        self._stratum = -1
        self._agenda: list[tuple[int, Mapping[str, Value]]] = []
        self._outside: set[int] = set()
        self._keys: dict[tuple[str, Value], int] = {}
        self._sent: set[Mark] = set()
        self._pending: list[tuple[Mark, _Meaning]] = []
        self._meanings: dict[int, _Meaning] = {}
        for index in backend.program.network.always_ready:
            self._ready[self._rules[index].stratum].append(index)

    def add(self, fact: Fact, values: Values, signals: Sequence[Signal]) -> None:
        """A fact that working memory has taken up, with its signals."""
        known = fact, values
        for signal in signals:
            for index, slot in self._live.get(signal, ()):
                self._join(index, slot, known)
        matches = self._memory.matches
        for signal in signals:
            if len(matches[signal]) == 1:
                for index in self._backend.program.network.first_watch.get(signal, ()):
                    self._wait_on(index)
                for index in self._watchers.pop(signal, ()):
                    self._wait_on(index)

    def to_fixpoint(self) -> str:
        """Returns the cap that ended the run, or an empty text."""
        try:
            for stratum, ready in enumerate(self._ready):
                self._stratum = stratum
                for index in ready:
                    self._activate(index)
                if not self._to_fixpoint_of_stratum():
                    return f"stopped after {self._backend.max_firings} firings"
        except (FiringBudgetExceeded, MarkLimitExceeded) as error:
            return str(error)
        return ""

    def close(self) -> None:
        """Free the network's session. A second call does nothing."""
        if self._session is not None:
            self._session.close()

    def _to_fixpoint_of_stratum(self) -> bool:
        """Whether the end was reached below the cap on firings."""
        while True:
            if not self._work_off_agenda():
                return False
            if not self._pending:
                return True
            for activation in self._flush().activations():
                self._fire(*self._binding(activation.marks))
                if not self._work_off_agenda():
                    return False
                if self._pending:
                    self._flush()

    def _work_off_agenda(self) -> bool:
        agenda, most = self._agenda, self._backend.max_firings
        for index, binding in agenda:  # grows while it is walked
            if len(self.fired) > most:
                return False
            self._fire(index, binding)
        agenda.clear()
        return len(self.fired) <= most

    def _wait_on(self, index: int) -> None:
        """Watch the next pattern without a match, or activate the rule."""
        rule = self._rules[index]
        for signal in rule.waits:
            if signal not in self._memory.matches:
                self._watchers.setdefault(signal, []).append(index)
                return
        if rule.stratum == self._stratum:
            self._activate(index)
        else:
            self._ready[rule.stratum].append(index)

    def _activate(self, index: int) -> None:
        """Put a ready rule on the agenda, or hand it to the network."""
        plan = self._backend.plan(index)
        if not all(self._aggregate(number) is wanted for number, wanted in plan.aggregates):
            return
        candidates = []
        for slot in plan.positives:
            if slot.signal is None:
                candidates.append(_NO_FACT)
                continue
            self._live.setdefault(slot.signal, []).append((index, slot))
            candidates.append(self._memory.matches.get(slot.signal, ()))
        if len(candidates) == 1:
            for known in candidates[0]:
                self._schedule(index, plan, (known,))
        elif all(len(found) == 1 for found in candidates):
            self._outside.add(index)
            self._schedule(index, plan, [found[0] for found in candidates])
        else:
            self._to_network(index, plan)

    def _join(self, index: int, slot: Slot, known: Known) -> None:
        """A new candidate for a slot of an active rule."""
        plan = self._backend.plan(index)
        if len(plan.positives) == 1:
            self._schedule(index, plan, (known,))
        elif index in self._outside:
            self._outside.remove(index)
            self._to_network(index, plan)
        else:
            self._send(index, slot, (known,))

    def _schedule(self, index: int, plan: RulePlan, candidates: Iterable[Known]) -> None:
        """Put the rule on the agenda if its only candidates agree and nothing blocks them."""
        binding: dict[str, Value] = {}
        for slot, (_, values) in zip(plan.positives, candidates, strict=True):
            for attribute, variable in slot.joins:
                value = values.get(attribute)
                if value is None or not same(binding.setdefault(variable, value), value):
                    return
        for slot in plan.negatives:
            for _, values in self._blockers(slot):
                if _agrees(slot, values, binding):
                    return
        self._agenda.append((index, binding))

    def _blockers(self, slot: Slot) -> Sequence[Known]:
        """The facts that a negated slot is about."""
        mode, pattern = slot.signal or ("", 0)
        signal = (mode, pattern) if mode == "unless_possible" else ("match", pattern)
        return self._memory.matches.get(signal, ())

    def _to_network(self, index: int, plan: RulePlan) -> None:
        for slot in plan.negatives:
            self._send(index, slot, self._blockers(slot))
        for slot in plan.positives:
            known = self._memory.matches.get(slot.signal, ()) if slot.signal else _NO_FACT
            self._send(index, slot, known)

    def _aggregate(self, number: int) -> bool | None:
        aggregate = self._backend.program.aggregates[number]
        matching = self._memory.matches.get(("match", aggregate.pattern), ())
        return evaluate(aggregate, [values for _, values in matching])

    def _send(self, index: int, slot: Slot, candidates: Iterable[Known]) -> None:
        """Put marks in line for the network, each once; none for a fact that lacks a joined
        attribute or disagrees with itself."""
        shape = self._backend.program.network.rule_shapes[index]
        for _, values in candidates:
            joined: dict[str, Value] = {}
            if not _agrees(slot, values, joined, bind=True):
                continue
            found = tuple([values[attribute] for attribute, _ in slot.joins])
            mark = Mark(shape, slot.number, (index, *[self._intern(value) for value in found]))
            if mark not in self._sent:
                self._sent.add(mark)
                self._pending.append((mark, (index, slot, found)))

    def _flush(self) -> MarkSession:
        """Feed what is in line; the negated marks of a rule stand before its positive ones."""
        if self._session is None:
            self._session = self._backend.open_session()
        if self._pending:
            numbers = self._session.feed([mark for mark, _ in self._pending])
            for number, (_, meaning) in zip(numbers, self._pending, strict=True):
                self._meanings[number] = meaning
            self._pending.clear()
        return self._session

    def _binding(self, marks: Sequence[int]) -> tuple[int, Mapping[str, Value]]:
        """The rule and the variables of an activation."""
        values: dict[str, Value] = {}
        index = 0
        for number in marks:
            index, slot, found = self._meanings[number]
            values.update(zip((variable for _, variable in slot.joins), found, strict=True))
        return index, values

    def _fire(self, index: int, values: Mapping[str, Value]) -> None:
        rule = self._rules[index]
        for guard in rule.guards:
            if compare(guard.op, values[guard.left], values[guard.right]) is not True:
                return
        firing = Firing(index, tuple([values[name] for name in rule.variables]))
        if firing in self.fired:
            return
        self.fired[firing] = None
        for conclusion, constant in self._backend.plan(index).conclusions:
            fact = constant or conclude(conclusion, values)
            added = self._memory.add(fact)
            if added:
                self.add(fact, *added)

    def _intern(self, value: Value) -> int:
        return self._keys.setdefault(identity(value), len(self._keys))


def _agrees(slot: Slot, values: Values, binding: dict[str, Value], bind: bool = False) -> bool:
    """Whether a fact has the joined attributes and agrees with the binding."""
    for attribute, variable in slot.joins:
        value = values.get(attribute)
        if value is None:
            return False
        known = binding.setdefault(variable, value) if bind else binding.get(variable)
        if known is None or not same(known, value):
            return False
    return True
