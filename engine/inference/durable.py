"""The default backend: alpha tests in Python, joins, negation and agenda in durable-rules.

A rule's marks are sent once each of its positive patterns has some match (the rule *watches* one
missing pattern at a time), so that cost follows matches. Strata are fed in order, the negated marks
of a rule before its positive ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ...facts import Fact, Value
from ...facts.fact import canonical
from ..identity import identity, same
from ..ir import Program
from ..operators import compare
from .aggregates import evaluate
from .alpha import AlphaLayer, Defaults, Values
from .derivation import MAX_FIRINGS, Derivation, Firing, concluded, firing_order
from .mark_network import (
    FiringBudgetExceeded,
    Mark,
    MarkLimitExceeded,
    MarkNetwork,
    MarkSession,
    Shape,
)
from .network_index import Signal
from .slots import RulePlan, Slot, plan_rule
from .working_memory import WorkingMemory

MAX_ACTIVATIONS = 1_000_000
"""Activations of one run, before comparisons between facts are made: some seconds of work."""


class DurableBackend:
    """Evaluates a program on a mark network. Raises ``NetworkUnavailable`` where durable-rules
    cannot be imported."""

    name = "durable"

    def __init__(
        self,
        program: Program,
        defaults: Defaults,
        max_firings: int = MAX_FIRINGS,
        network: Callable[[Sequence[Shape]], MarkNetwork] | None = None,
    ) -> None:
        self.program = program
        self.max_firings = max_firings
        self.alpha = AlphaLayer(program, defaults)
        self._plans: dict[int, RulePlan] = {}
        shapes = [Shape(*shape) for shape in program.network.shapes]
        self._network = (network or _durable_network)(shapes) if shapes else None

    def plan(self, index: int) -> RulePlan:
        """The slots of a rule; planned when the rule is first needed."""
        plan = self._plans.get(index)
        if plan is None:
            plan = self._plans[index] = plan_rule(self.program.rules[index])
        return plan

    def derive(self, facts: Sequence[Fact], memory: WorkingMemory | None = None) -> Derivation:
        """Run all strata to their fixpoints, in ``memory`` if it is given."""
        if memory is None:
            memory = WorkingMemory(self.alpha)
        if self._network is None:
            for fact in canonical(facts):
                memory.add(fact)
            return Derivation(tuple(memory.facts), ())
        with self._network.session() as session:
            run = _Run(self, session, memory)
            capped = run.to_fixpoint(canonical(facts))
        fired = tuple(sorted(run.fired, key=firing_order))
        return Derivation(canonical(memory.facts), fired, capped)


def _durable_network(shapes: Sequence[Shape]) -> MarkNetwork:
    from .durable_network import DurableNetwork

    # The cap on firings is the driver's; activations that a comparison then refuses do not count.
    return DurableNetwork(shapes, firing_budget=MAX_ACTIVATIONS)


_Meaning = tuple[int, Slot, tuple[Value, ...]]
"""What a mark stands for: a rule, one of its slots, and the values of the slot's variables."""
_Meant = tuple[Mark, _Meaning]


class _Run:
    """The state of one derivation."""

    def __init__(
        self, backend: DurableBackend, session: MarkSession, memory: WorkingMemory
    ) -> None:
        self._backend = backend
        self._memory = memory
        self._rules = backend.program.rules
        self._shapes = backend.program.network.rule_shapes
        self._session = session
        self.fired: dict[Firing, None] = {}
        self._watchers: dict[Signal, list[int]] = {}
        self._live: dict[Signal, list[tuple[int, Slot]]] = {}
        self._ready: list[list[int]] = [[] for _ in range(backend.program.strata)]
        self._stratum = -1
        self._keys: dict[tuple[str, Value], int] = {}
        self._sent: set[Mark] = set()
        self._pending: list[_Meant] = []
        self._meanings: dict[int, _Meaning] = {}
        for index in backend.program.network.always_ready:
            self._ready[self._rules[index].stratum].append(index)

    def to_fixpoint(self, facts: Sequence[Fact]) -> str:
        """Returns the cap that ended the run, or an empty text."""
        for fact in facts:
            self._add(fact)
        try:
            for stratum in range(len(self._ready)):
                self._stratum = stratum
                for index in self._ready[stratum]:
                    self._activate(index)
                self._flush()
                for activation in self._session.activations():
                    self._fire(activation.marks)
                    self._flush()
                    if len(self.fired) > self._backend.max_firings:
                        return f"stopped after {self._backend.max_firings} firings"
        except (FiringBudgetExceeded, MarkLimitExceeded) as error:
            return str(error)
        return ""

    def _add(self, fact: Fact) -> None:
        matches = self._memory.matches
        for signal in self._memory.add(fact):
            known = matches[signal]
            for index, slot in self._live.get(signal, ()):
                self._send([self._mark(index, slot, known[-1][1])])
            if len(known) == 1:
                waiting = [
                    *self._backend.program.network.first_watch.get(signal, ()),
                    *self._watchers.pop(signal, ()),
                ]
                for index in waiting:
                    self._wait_on(index)

    def _wait_on(self, index: int) -> None:
        """Watch the next pattern without a match, or activate the rule."""
        for signal in self._rules[index].waits:
            if signal not in self._memory.matches:
                self._watchers.setdefault(signal, []).append(index)
                return
        stratum = self._rules[index].stratum
        if stratum == self._stratum:
            self._activate(index)
        else:
            self._ready[stratum].append(index)

    def _activate(self, index: int) -> None:
        """Send the rule's marks, negated ones first."""
        plan = self._backend.plan(index)
        matches = self._memory.matches
        if not all(self._aggregate(number) is wanted for number, wanted in plan.aggregates):
            return
        marks = []
        for slot in plan.negatives:
            mode, pattern = slot.signal or ("", 0)
            signal = (mode, pattern) if mode == "unless_possible" else ("match", pattern)
            marks += [self._mark(index, slot, values) for _, values in matches.get(signal, ())]
        for slot in plan.positives:
            if slot.signal is None:
                marks.append(self._mark(index, slot, {}))
                continue
            self._live.setdefault(slot.signal, []).append((index, slot))
            marks += [self._mark(index, slot, values) for _, values in matches.get(slot.signal, ())]
        self._send(marks)

    def _aggregate(self, number: int) -> bool | None:
        aggregate = self._backend.program.aggregates[number]
        matching = self._memory.matches.get(("match", aggregate.pattern), ())
        return evaluate(aggregate, [values for _, values in matching])

    def _mark(self, index: int, slot: Slot, values: Values) -> _Meant | None:
        """The mark of a fact for a slot; None if it lacks a joined attribute or disagrees."""
        joined: dict[str, Value] = {}
        for attribute, variable in slot.joins:
            value = values.get(attribute)
            if value is None or not same(joined.setdefault(variable, value), value):
                return None
        found = tuple(values[attribute] for attribute, _ in slot.joins)
        keys = (index, *(self._intern(value) for value in found))
        return Mark(self._shapes[index], slot.number, keys), (index, slot, found)

    def _send(self, found: Iterable[_Meant | None]) -> None:
        """Put marks in line for the network, each once."""
        for item in found:
            if item is not None and item[0] not in self._sent:
                self._sent.add(item[0])
                self._pending.append(item)

    def _flush(self) -> None:
        """Feed what is in line; the negated marks of a rule stand before its positive ones."""
        if not self._pending:
            return
        numbers = self._session.feed([mark for mark, _ in self._pending])
        for number, (_, meaning) in zip(numbers, self._pending, strict=True):
            self._meanings[number] = meaning
        self._pending.clear()

    def _fire(self, marks: Sequence[int]) -> None:
        values: dict[str, Value] = {}
        index = 0
        for number in marks:
            index, slot, found = self._meanings[number]
            values.update(zip((variable for _, variable in slot.joins), found, strict=True))
        rule = self._rules[index]
        if not all(compare(g.op, values[g.left], values[g.right]) is True for g in rule.guards):
            return
        firing = Firing(index, tuple(values[name] for name in rule.variables))
        if firing in self.fired:
            return
        self.fired[firing] = None
        for fact in concluded(rule, firing.binding):
            self._add(fact)

    def _intern(self, value: Value) -> int:
        return self._keys.setdefault(identity(value), len(self._keys))
