"""One run of the default backend: what is ready, what fires, and which marks the network gets.

A rule is *ready* once each of its positive patterns has a match; until then it *watches* one that
has none, so that cost follows matches. A ready rule with one slot, or with one candidate for each
slot, has nothing to join: its candidates agree or they do not, and it goes on the agenda at once.
All other joins are the network's. Strata are fed in order, the negated marks of a rule before its
positive ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from ...facts import Fact, Value
from ..identity import identity, same
from ..operators import compare
from .aggregates import evaluate
from .derivation import Binding
from .mark_network import FiringBudgetExceeded, Mark, MarkLimitExceeded, MarkSession
from .network_index import Signal
from .slots import RulePlan, Slot
from .working_memory import Known, Token, Values, WorkingMemory

if TYPE_CHECKING:
    from .durable import DurableBackend

_Meaning = tuple[RulePlan, Slot, tuple[Value, ...]]
"""What a mark stands for: a rule, one of its slots, and the values of the slot's variables."""

_NO_FACT: Sequence[Known] = ((0, {}),)
"""The candidate of the constant slot: a rule that waits for nothing is ready."""

Premises = tuple[Token, ...]


class Run:
    """The state of one derivation in a working memory.

    ``fired`` holds each firing (rule number, binding) once, with its premises where the run knows
    all of them; ``reasons`` holds for each conclusion the firings that made it.
    """

    def __init__(self, backend: DurableBackend, memory: WorkingMemory) -> None:
        self.fired: dict[tuple[int, Binding], Premises | None] = {}
        self.reasons: dict[Fact, list[tuple[RulePlan, Binding, str]]] = {}
        self._backend = backend
        self._memory = memory
        self._matches = memory.matches
        self._first_watch = backend.program.network.first_watch
        self._session: MarkSession | None = None
        self._watchers: dict[Signal, list[RulePlan]] = {}
        self._live: dict[Signal, list[tuple[RulePlan, Slot]]] = {}
        self._ready: list[list[RulePlan]] = [[] for _ in range(backend.program.strata)]
        self._stratum = -1
        self._agenda: list[tuple[RulePlan, Binding, Premises | None]] = []
        self._outside: set[int] = set()
        self._keys: dict[tuple[str, Value], int] = {}
        self._sent: set[Mark] = set()
        self._pending: list[tuple[Mark, _Meaning]] = []
        self._meanings: dict[int, _Meaning] = {}

    def to_fixpoint(self) -> str:
        """Derive everything from the facts in working memory. Returns the cap that ended the run,
        or an empty text."""
        plan = self._backend.plan
        for index in self._backend.program.network.always_ready:
            self._wait_on(plan(index))
        for signal in list(self._matches):
            for index in self._first_watch.get(signal, ()):
                self._wait_on(plan(index))
        try:
            for stratum, ready in enumerate(self._ready):
                self._stratum = stratum
                for waiting in ready:
                    self._activate(waiting)
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
        while self._work_off_agenda():
            if not self._pending:
                return True
            for activation in self._flush().activations():
                plan, binding = self._binding(activation.marks)
                self._fire(plan, binding, None)
                if not self._work_off_agenda():
                    return False
                if self._pending:
                    self._flush()
        return False

    def _work_off_agenda(self) -> bool:
        most = self._backend.max_firings
        for plan, binding, premises in self._agenda:  # grows while it is walked
            if len(self.fired) > most:
                return False
            self._fire(plan, binding, premises)
        self._agenda.clear()
        return len(self.fired) <= most

    def _wait_on(self, plan: RulePlan) -> None:
        """Watch the next pattern without a match, or activate the rule."""
        rule = plan.rule
        for signal in rule.waits:
            if signal not in self._matches:
                self._watchers.setdefault(signal, []).append(plan)
                return
        if rule.stratum == self._stratum:
            self._activate(plan)
        else:
            self._ready[rule.stratum].append(plan)

    def _activate(self, plan: RulePlan) -> None:
        """Put a ready rule on the agenda, or hand it to the network."""
        for number, wanted in plan.aggregates:
            if self._aggregate(number) is not wanted:
                return
        candidates = []
        single = True
        for slot in plan.positives:
            found = _NO_FACT
            if slot.signal is not None:
                if slot.grows:
                    self._live.setdefault(slot.signal, []).append((plan, slot))
                found = self._matches.get(slot.signal, ())
                single = single and len(found) == 1
            candidates.append(found)
        if single:
            if len(candidates) > 1:
                self._outside.add(plan.number)
            self._schedule(plan, [found[0] for found in candidates], plan.told)
        elif len(candidates) == 1:
            for known in candidates[0]:
                self._schedule(plan, (known,), False)
        else:
            self._to_network(plan)

    def _join(self, plan: RulePlan, slot: Slot, known: Known) -> None:
        """A new candidate for a slot of an active rule."""
        if len(plan.positives) == 1:
            self._schedule(plan, (known,), False)
        elif plan.number in self._outside:
            self._outside.remove(plan.number)
            self._to_network(plan)
        else:
            self._send(plan, slot, (known,))

    def _schedule(self, plan: RulePlan, candidates: Sequence[Known], told: bool) -> None:
        """Put the rule on the agenda if its only candidates agree and nothing blocks them."""
        binding = tuple([candidates[slot][1].get(name) for slot, name in plan.sources])
        for slot, attribute, place in plan.checks:
            value, bound = candidates[slot][1].get(attribute), binding[place]
            if value is None or bound is None or not same(bound, value):
                return
        if None in binding or (plan.negatives and self._blocked(plan, binding)):
            return
        premises = tuple([fact for fact, _ in candidates]) if told else None
        self._agenda.append((plan, binding, premises))  # type: ignore[arg-type]

    def _blocked(self, plan: RulePlan, binding: Sequence[Value | None]) -> bool:
        bound = dict(zip(plan.rule.variables, binding, strict=True))
        return any(
            all(
                values.get(attribute) is not None and same(bound[variable], values[attribute])  # type: ignore[arg-type]
                for attribute, variable in slot.joins
            )
            for slot in plan.negatives
            for _, values in self._blockers(slot)
        )

    def _blockers(self, slot: Slot) -> Sequence[Known]:
        """The facts that a negated slot is about."""
        mode, pattern = slot.signal or ("", 0)
        signal = (mode, pattern) if mode == "unless_possible" else ("match", pattern)
        return self._matches.get(signal, ())

    def _to_network(self, plan: RulePlan) -> None:
        for slot in plan.negatives:
            self._send(plan, slot, self._blockers(slot))
        for slot in plan.positives:
            self._send(plan, slot, self._matches.get(slot.signal, ()) if slot.signal else _NO_FACT)

    def _aggregate(self, number: int) -> bool | None:
        aggregate = self._backend.program.aggregates[number]
        matching = self._matches.get(("match", aggregate.pattern), ())
        return evaluate(aggregate, [values for _, values in matching])

    def _send(self, plan: RulePlan, slot: Slot, candidates: Iterable[Known]) -> None:
        """Put marks in line for the network, each once; none for a fact that lacks a joined
        attribute or disagrees with itself."""
        shape = self._backend.program.network.rule_shapes[plan.number]
        for _, values in candidates:
            found = _joined(slot, values)
            if found is None:
                continue
            keys = (plan.number, *[self._intern(value) for value in found])
            mark = Mark(shape, slot.number, keys)
            if mark not in self._sent:
                self._sent.add(mark)
                self._pending.append((mark, (plan, slot, found)))

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

    def _binding(self, marks: Sequence[int]) -> tuple[RulePlan, Binding]:
        """The rule of an activation and the values of its variables."""
        values: dict[str, Value] = {}
        for number in marks:
            plan, slot, found = self._meanings[number]
            values.update(zip((variable for _, variable in slot.joins), found, strict=True))
        return plan, tuple([values[name] for name in plan.rule.variables])

    def _fire(self, plan: RulePlan, binding: Binding, premises: Premises | None) -> None:
        firing = plan.number, binding
        if firing in self.fired or (plan.rule.guards and not _guarded(plan, binding)):
            return
        self.fired[firing] = premises
        for maker in plan.conclusions:
            fact = maker.fact or maker.make(binding)
            known = self.reasons.get(fact)
            if known is None:
                self.reasons[fact] = [(plan, binding, maker.strength)]
                self._derived(fact)
            else:
                known.append((plan, binding, maker.strength))

    def _derived(self, fact: Fact) -> None:
        """Take up a derived fact: join it to the active rules, wake those that watch for it."""
        added = self._memory.add(fact)
        if added is None:
            return
        values, signals = added
        for signal in signals:
            for plan, slot in self._live.get(signal, ()):
                self._join(plan, slot, (fact, values))
        for signal in signals:
            if len(self._matches[signal]) == 1:
                for index in self._first_watch.get(signal, ()):
                    self._wait_on(self._backend.plan(index))
                for plan in self._watchers.pop(signal, ()):
                    self._wait_on(plan)

    def _intern(self, value: Value) -> int:
        return self._keys.setdefault(identity(value), len(self._keys))


def _guarded(plan: RulePlan, binding: Binding) -> bool:
    values = dict(zip(plan.rule.variables, binding, strict=True))
    guards = plan.rule.guards
    return all(compare(g.op, values[g.left], values[g.right]) is True for g in guards)


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
