"""One run: which rules are ready, what is on the agenda, what fires.

A rule is *ready* once each of its positive patterns has a match; until then it *watches* one that
has none, so that cost follows matches, not rules. A rule that needs one fact goes on the agenda
with each that matches; several slots are joined. Strata run in order, so that all facts that a
negated pattern excludes are there before a rule of its stratum fires.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...facts import Fact, Value
from .aggregates import evaluate
from .derivation import (
    TIME_IS_UP,
    UNLIMITED,
    Binding,
    OutOfTime,
    Work,
    combinations_exceeded,
)
from .join_strategy import Rows, TooMuchWork
from .operators import compare, same
from .rule_index import Signal
from .rule_plan import RulePlan, Slot
from .working_memory import Match, Token, WorkingMemory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .engine import InferenceEngine
    from .joins import Joins

Premises = list[list[Match]]
"""For each positive slot the facts that bind its variables like the firing; more may join them
while the run goes on."""

Reason = tuple[RulePlan, Premises, str]
"""A firing by its rule and premises, with the strength that it gives to a conclusion."""


Watchers = tuple[Sequence[RulePlan], Sequence[RulePlan]]
"""The rules that watch a signal before all others: those for which it is all they need, and the
rest."""

NOBODY: Watchers = (), ()


class Run:
    """The state of one derivation in a working memory.

    ``fired`` holds each firing (rule number, binding) once, with its premises; ``reasons`` holds
    for each conclusion the firings that made it. Final conclusions, which no rule looks at, do not
    go into working memory.
    """

    def __init__(
        self, engine: InferenceEngine, memory: WorkingMemory, work: Work = UNLIMITED
    ) -> None:
        self.fired: dict[tuple[int, Binding], Premises] = {}
        self.reasons: dict[Fact, list[Reason]] = {}
        self._engine = engine
        self._work = work
        self._watched = engine.watchers
        self._memory = memory
        self._matches = memory.matches
        self._watchers: dict[Signal, list[RulePlan]] = {}
        self._live: dict[Signal, list[tuple[RulePlan, Slot]]] = {}
        self._ready: list[list[RulePlan]] = [[] for _ in range(engine.program.strata)]
        self._stratum = -1
        self._agenda: list[tuple[RulePlan, Binding, Premises]] = []
        self._joins: Joins | None = None
        self._excluded: dict[tuple[int, int], set[tuple[object, ...]]] = {}

    def to_fixpoint(self) -> str:
        """Derive everything from the facts in working memory. Returns the cap that ended the run,
        or an empty text."""
        given = len(self._memory.facts)
        engine = self._engine
        try:
            for index in engine.program.network.always_ready:
                self._wait_on(engine.plan(index))
            for signal in self._matches:  # waking makes plans, no facts
                if self._watched[signal] is not NOBODY:
                    self._wake(signal)
            for stratum, ready in enumerate(self._ready):
                self._stratum = stratum
                for waiting in ready:
                    if not self._work.goes_on():
                        raise OutOfTime
                    self._activate(waiting)
                if not self._work_off_agenda():
                    return f"stopped after {engine.max_firings} firings"
        except TooMuchWork:
            self._forget_stratum(given)
            return combinations_exceeded(engine.max_join_work)
        except OutOfTime:
            self._forget_stratum(given)
            return TIME_IS_UP
        finally:
            if self._joins is not None:
                self._joins.close()
        return ""

    def premises(self, reason: Reason) -> tuple[Token, ...]:
        """The facts that a firing rests on, each once."""
        plan, premises, _ = reason
        if len(premises) == 1 and plan.single_premise:
            return tuple([token for token, _ in premises[0]])
        behind = self.premises_by_literal(plan, premises)
        return tuple({token: None for matches in behind for token, _ in matches})

    def premises_by_literal(self, plan: RulePlan, premises: Premises) -> list[Sequence[Match]]:
        """The facts behind each literal of a rule that fired."""
        if len(premises) == len(plan.premises):
            return list(premises)  # each literal has a slot
        found: list[Sequence[Match]] = []
        for source in plan.premises:
            if source is None:
                found.append(())
            elif source[0] == "slot":
                found.append(premises[source[1]])
            else:
                found.append(self._counted(source[1]))
        return found

    def _forget_stratum(self, given: int) -> None:
        """Take back what the rules of this stratum and above made before they were too much: what
        is left does not depend on who came first."""
        rules, below = self._engine.program.rules, self._stratum
        for firing in [f for f in self.fired if rules[f[0]].stratum >= below]:
            del self.fired[firing]
        for fact, reasons in list(self.reasons.items()):
            if all(plan.stratum >= below for plan, *_ in reasons):
                del self.reasons[fact]
        for fact in list(self._memory.facts)[given:]:
            if fact not in self.reasons:
                self._memory.forget(fact)

    def _work_off_agenda(self) -> bool:
        """Whether the end was reached below the cap on firings. Raises :class:`OutOfTime`."""
        most, work = self._engine.max_firings, self._work
        for plan, binding, premises in self._agenda:  # grows while it is walked
            if len(self.fired) > most:
                return False
            if not work.goes_on():
                raise OutOfTime
            self._fire(plan, binding, premises)
        self._agenda.clear()
        return len(self.fired) <= most

    def _wake(self, signal: Signal) -> None:
        """A pattern has its first match: look at the rules that watch it before all others."""
        single, others = self._watched[signal]
        for plan in single:
            self._schedule_single_premise(plan, signal)
        for plan in others:
            self._wait_on(plan)

    def _schedule_single_premise(self, plan: RulePlan, signal: Signal) -> None:
        """Put a rule that needs one fact and nothing else on the agenda, for each that there is.
        Its stratum does not matter: nothing that comes later takes its premise away."""
        known = self._matches[signal]
        slot = plan.positives[0]
        if not slot.joins:
            self._agenda.append((plan, (), [known]))  # one firing, whatever the facts
            return
        if slot.grows:
            self._live.setdefault(signal, []).append((plan, slot))
        for match in known:
            self._schedule(plan, slot, match)

    def _schedule(self, plan: RulePlan, slot: Slot, match: Match) -> None:
        """Put a rule with one slot on the agenda for one fact."""
        values = slot.bind(match[1])
        if values is None:
            return
        binding = tuple([values[place] for _, place in plan.bound_at])
        if not plan.negatives or not self._excludes(plan, binding):
            self._agenda.append((plan, binding, [[match]]))

    def _wait_on(self, plan: RulePlan) -> None:
        """Watch the next pattern without a match, or activate the rule."""
        for signal in plan.waits:
            if signal not in self._matches:
                self._watchers.setdefault(signal, []).append(plan)
                return
        if plan.stratum == self._stratum:
            self._activate(plan)
        else:
            self._ready[plan.stratum].append(plan)

    def _activate(self, plan: RulePlan) -> None:
        """Put what a ready rule matches on the agenda."""
        for number, wanted in plan.aggregates:
            if self._aggregate(number) is not wanted:
                return
        candidates = [self._matches[signal] for signal in plan.signals]
        if len(candidates) == 1:
            self._activate_single(plan, candidates[0])
        elif max(map(len, candidates), default=1) == 1:
            self._schedule_only_match(plan, candidates)
        else:
            self._schedule_rows(plan, self._joining().start(plan, candidates))
        for slot in plan.positives:
            if slot.grows:
                self._live.setdefault(slot.signal, []).append((plan, slot))

    def _activate_single(self, plan: RulePlan, known: list[Match]) -> None:
        slot = plan.positives[0]
        if slot.joins:
            for match in known:
                self._schedule(plan, slot, match)
        elif not plan.negatives or not self._excludes(plan, ()):
            self._agenda.append((plan, (), [known]))

    def _schedule_only_match(self, plan: RulePlan, candidates: Sequence[list[Match]]) -> None:
        """One candidate for each slot: nothing to join until there are more. (A rule without slots
        has one match, too.)"""
        bound: dict[str, Value] = {}
        for slot, known in zip(plan.positives, candidates, strict=True):
            values = known[0][1]
            for attribute, variable in slot.joins:
                value = values.get(attribute)
                if value is None or not same(bound.setdefault(variable, value), value):
                    return
        binding = tuple([bound[name] for name in plan.rule.variables])
        if not plan.negatives or not self._excludes(plan, binding):
            self._agenda.append((plan, binding, [[found[0]] for found in candidates]))

    def _schedule_rows(self, plan: RulePlan, found: Sequence[Rows]) -> None:
        bound_at, places = plan.bound_at, plan.places
        for rows in found:
            binding = tuple([rows[place].values[number] for place, number in bound_at])
            if not plan.negatives or not self._excludes(plan, binding):
                premises = [rows[place].matches for place in places]
                self._agenda.append((plan, binding, premises))

    def _join(
        self, plan: RulePlan, slot: Slot, match: Match, begun: list[RulePlan]
    ) -> Sequence[Rows]:
        """Join a further candidate to a rule. A join that only begins takes it in all slots at once
        and is noted in ``begun``."""
        joins = self._joining()
        if joins.has(plan):
            return joins.add(plan, slot.number, match)
        begun.append(plan)
        return joins.start(plan, [self._matches[signal] for signal in plan.signals])

    def _joining(self) -> Joins:
        if self._joins is None:
            from .joins import Joins

            self._joins = Joins(self._engine.max_join_work, self._engine.strategy, self._work)
        return self._joins

    def _excludes(self, plan: RulePlan, binding: Binding) -> bool:
        """Whether a fact is there that a negated pattern excludes under the binding."""
        for slot in plan.negatives:
            if slot.signal not in self._matches:
                continue
            if not slot.joins or self._key(plan, slot, binding) in self._excluded_keys(plan, slot):
                return True
        return False

    def _excluded_keys(self, plan: RulePlan, slot: Slot) -> set[tuple[object, ...]]:
        """The bindings of a negated slot by its facts, which are complete by now."""
        place = plan.number, slot.number
        known = self._excluded.get(place)
        if known is None:
            bound = [slot.bind(values) for _, values in self._matches[slot.signal]]
            known = {_comparable(values) for values in bound if values is not None}
            self._excluded[place] = known
        return known

    def _key(self, plan: RulePlan, slot: Slot, binding: Binding) -> tuple[object, ...]:
        variables = plan.rule.variables
        return _comparable([binding[variables.index(name)] for name in slot.variables])

    def _aggregate(self, number: int) -> bool | None:
        aggregate = self._engine.program.aggregates[number]
        return evaluate(aggregate, [values for _, values in self._counted(number)])

    def _counted(self, number: int) -> Sequence[Match]:
        pattern = self._engine.program.aggregates[number].pattern
        return self._matches.get(("match", pattern), ())

    def _fire(self, plan: RulePlan, binding: Binding, premises: Premises) -> None:
        if plan.guards and not _guarded(plan, binding):
            return
        known = self.fired.setdefault((plan.number, binding), premises)
        if known is not premises:
            if len(premises) > 1:
                known[:] = premises  # those of a join, after those of the only match
            elif known[0] is not premises[0]:
                known[0].extend(premises[0])  # another fact that binds alike
            return
        reasons = self.reasons
        for template in plan.conclusions:
            fact = template.make(binding) if template.fact is None else template.fact
            others = reasons.get(fact)
            if others is not None:
                others.append((plan, premises, template.strength))
                continue
            reasons[fact] = [(plan, premises, template.strength)]
            if not template.final:
                self._derived(fact, template.signals)

    def _derived(self, fact: Fact, signals: Sequence[Signal] | None) -> None:
        """Take up a derived fact: join it to the active rules, wake those that watch for it."""
        memory = self._memory
        if signals is None:
            signals = memory.add(fact)
            if signals is None:
                return
        elif not memory.add_matched(fact, signals):
            return
        match = fact, memory.facts[fact]
        begun: list[RulePlan] = []
        for signal in signals:
            for plan, slot in self._live.get(signal, ()):
                if len(plan.positives) == 1:
                    if slot.joins:
                        self._schedule(plan, slot, match)
                elif plan not in begun:
                    self._schedule_rows(plan, self._join(plan, slot, match, begun))
        for signal in signals:
            if len(self._matches[signal]) == 1:
                self._wake(signal)
                for plan in self._watchers.pop(signal, ()):
                    self._wait_on(plan)


def _comparable(values: Sequence[Value]) -> tuple[object, ...]:
    """Values that compare as they should: truth values never equal numbers."""
    return tuple([("b", v) if v is True or v is False else v for v in values])


def _guarded(plan: RulePlan, binding: Binding) -> bool:
    values: dict[str, Value] = dict(zip(plan.rule.variables, binding, strict=True))
    return all(compare(g.op, values[g.left], values[g.right]) is True for g in plan.guards)
