"""The inference engine, and the choice of an implementation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import itemgetter

from ...facts import Fact, ModelMedicError, Problem, Value
from ...facts.fact import canonical
from .agenda import NOBODY, Run, Watchers
from .derivation import (
    MAX_FIRINGS,
    MAX_JOIN_WORK,
    TIME_IS_UP,
    UNLIMITED,
    Backend,
    Derivation,
    Firing,
    Work,
    firing_order,
)
from .join_strategy import Budget, JoinStrategy, RuleJoin
from .matcher import Matcher
from .program import Conclusion, Program
from .rule_index import Lookup, Signal
from .rule_plan import PlanContext, RulePlan
from .working_memory import WorkingMemory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal

    Choice = Literal["auto", "durable", "native", "reference"]


Defaults = Mapping[str, Mapping[str, Value]]


class InferenceEngine:
    """Forward chaining over a program. Threads may share it. ``strategy`` joins where it can; the
    native strategy does the rest."""

    def __init__(
        self,
        program: Program,
        defaults: Defaults,
        strategy: JoinStrategy | None = None,
        *,
        max_firings: int = MAX_FIRINGS,
        max_join_work: int = MAX_JOIN_WORK,
    ) -> None:
        self.name = "durable" if strategy else "native"
        self.program = program
        self.strategy = strategy
        self.max_firings = max_firings
        self.max_join_work = max_join_work
        self.matcher = Matcher(program, defaults)
        self.watchers = Lookup(self._watchers)
        self._plans: dict[int, RulePlan] = {}
        self._context = PlanContext(self._may_grow, self._signals_of, self.matcher.intern)

    def plan(self, index: int) -> RulePlan:
        """How a rule runs; planned when the rule is first needed."""
        plan = self._plans.get(index)
        if plan is None:
            rule = self.program.rules[index]
            plan = self._plans[index] = RulePlan(index, rule, self._context)
        return plan

    def derive(
        self, facts: Sequence[Fact], memory: WorkingMemory | None = None, work: Work = UNLIMITED
    ) -> Derivation:
        """Run all strata to their fixpoints, in ``memory`` if it is given."""
        if memory is None:
            memory = WorkingMemory(self.matcher)
        given = canonical(facts)
        for fact in given:
            if not work.goes_on():
                return Derivation(given, (), TIME_IS_UP)
            memory.add(fact)
        run = Run(self, memory, work)
        capped = run.to_fixpoint()
        for fact in run.reasons:
            if fact not in memory.facts:
                memory.add(fact)
        derived = sorted(memory.facts, key=Fact.sort_key)  # equal ones are one by now
        return Derivation(tuple(derived), self._firings(run), capped)

    def _firings(self, run: Run) -> tuple[Firing, ...]:
        found: dict[int, list[Firing]] = {}
        for (number, binding), premises in run.fired.items():
            behind = run.premises_by_literal(self.plan(number), premises)
            shown = tuple([_facts(matches) for matches in behind])
            found.setdefault(number, []).append(Firing(number, binding, shown))
        for alike in found.values():
            if len(alike) > 1:
                alike.sort(key=firing_order)
        return tuple([firing for number in sorted(found) for firing in found[number]])

    def _signals_of(self, conclusion: Conclusion) -> Sequence[Signal] | None:
        constants: dict[str, Value] = {}
        variable: list[str] = []
        for name, value in conclusion.values:
            if isinstance(value, tuple):
                variable.append(name)
            else:
                constants[name] = value
        return self.matcher.signals_of(conclusion.kind, constants, variable)

    def _watchers(self, signal: Signal) -> Watchers:
        single: list[RulePlan] = []
        others: list[RulePlan] = []
        for index in self.program.network.first_watch[signal]:
            plan = self.plan(index)
            (single if plan.single_premise else others).append(plan)
        return (single, others) if single or others else NOBODY

    def _may_grow(self, pattern: int) -> bool:
        return self.program.patterns[pattern].kind in self.program.network.concluded


def choose_backend(program: Program, defaults: Defaults, choice: Choice) -> Backend:
    """The engine of a choice: ``auto`` joins with durable-rules where it is installed, natively
    where it is not. Raises :class:`ModelMedicError` (MM302) where ``durable`` is demanded and
    missing."""
    if choice == "reference":
        from .reference import ReferenceBackend

        return ReferenceBackend(program, defaults)
    if choice == "durable":
        from .durable_join import load_extension

        try:
            load_extension()
        except ImportError as error:
            hint = (
                "pip install 'modelmedic[durable]' (needs a C compiler and Python below 3.13), or"
            )
            raise ModelMedicError(
                Problem(
                    "MM302",
                    f"durable-rules is not available: {error}",
                    None,
                    f"{hint} use --engine auto or --engine native",
                )
            ) from None
    return InferenceEngine(program, defaults, None if choice == "native" else _durable)


def _durable(plan: RulePlan, budget: Budget, size: int) -> RuleJoin | None:
    from .durable_join import start

    return start(plan, budget, size)


def _facts(matches: Sequence[tuple[object, object]]) -> tuple[Fact, ...]:
    facts: Any = list(map(itemgetter(0), matches))
    if len(facts) > 1:
        facts.sort(key=Fact.sort_key)
    return tuple(facts)
