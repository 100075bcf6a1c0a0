"""How a rule runs: its slots, what it waits for, how it joins, what it concludes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ...facts import Fact, Value
from ...facts.records import NamedTuple
from .derivation import conclude, join_order
from .operators import same
from .program import Conclusion, Rule
from .rule_index import Signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class PlanContext(NamedTuple):
    """The inputs of a plan besides its rule: whether rules may derive facts that match a pattern
    (``may_grow``), the signals of every fact that a conclusion may become (None if they depend on
    the binding), and ``intern``, which makes equal values one object."""

    may_grow: Callable[[int], bool]
    signals_of: Callable[[Conclusion], Sequence[Signal] | None]
    intern: Callable[[Any], Any]


class Slot:
    """The place of a literal that binds facts. ``joins`` pairs attributes with variables;
    ``variables`` are the distinct ones, ``attributes`` what binds each of them, ``repeats`` the
    further attributes (with the place of their variable) that must agree. ``grows``: rules may
    derive facts for it.

    Slots and plans are read at every step of every run, hence ``__slots__``.
    """

    __slots__ = ("attributes", "grows", "joins", "number", "repeats", "signal", "variables")

    def __init__(
        self, number: int, signal: Signal, joins: tuple[tuple[str, str], ...], grows: bool
    ) -> None:
        self.number = number
        self.signal = signal
        self.joins = joins
        self.grows = grows
        first: dict[str, str] = {}
        repeats: list[tuple[str, str]] = []
        for attribute, variable in joins:
            if first.setdefault(variable, attribute) != attribute:
                repeats.append((attribute, variable))
        self.variables = tuple(first)
        self.attributes = tuple(first.values())
        self.repeats = tuple([(a, self.variables.index(v)) for a, v in repeats])

    def bind(self, values: Mapping[str, Value]) -> tuple[Value, ...] | None:
        """The values that a fact binds to the variables; None if a value is missing or two
        disagree."""
        bound: Any = tuple(map(values.get, self.attributes))
        if None in bound:
            return None
        for attribute, place in self.repeats:
            value = values.get(attribute)
            if value is None or not same(bound[place], value):
                return None
        return bound  # type: ignore[no-any-return]


class JoinStep(NamedTuple):
    """How a slot (a condition of the rule) joins the partial matches of earlier slots: variables in
    ``left``, as (place in the join order, variable), must equal the slot's own in ``right``."""

    left: tuple[tuple[int, int], ...]
    right: tuple[int, ...]


class RulePlan:
    """How a rule runs.

    ``positives`` bind facts, ``negatives`` exclude them, ``aggregates`` must have the wanted truth.
    ``order`` are the positive slots in join order, ``places`` the place of each slot in it,
    ``steps`` the joins; ``bound_at`` tells for each variable which place binds it and where.
    ``single_premise`` says that the rule needs one fact and nothing else, ``grows`` that rules may
    derive facts for its slots. ``premises`` tells for each literal where its premises are: in a
    positive slot, with an aggregate, or nowhere.
    """

    __slots__ = (
        "aggregates", "bound_at", "conclusions", "entry", "grows", "guards", "negatives", "number",
        "order", "places", "positives", "premises", "rule", "signals", "single_premise", "steps",
        "stratum", "waits",
    )  # fmt: skip

    def __init__(self, number: int, rule: Rule, context: PlanContext) -> None:
        intern = context.intern
        self.number = number
        self.rule = rule
        self.entry = rule.entry
        self.stratum = rule.stratum
        self.guards = rule.guards
        self.waits = tuple(map(intern, rule.waits))
        positives: list[Slot] = []
        negatives: list[Slot] = []
        aggregates: list[tuple[int, bool]] = []
        premises: list[tuple[str, int] | None] = []
        for x in rule.literals:
            joins = intern(x.joins)
            if x.mode == "aggregate":
                premises.append(("aggregate", x.pattern))
                aggregates.append((x.pattern, x.wanted))
            elif x.mode in ("match", "refuted"):
                premises.append(("slot", len(positives)))
                signal, grows = intern((x.mode, x.pattern)), context.may_grow(x.pattern)
                positives.append(Slot(len(positives), signal, joins, grows))
            else:
                premises.append(None)
                # the signal of the facts that it excludes
                mode = x.mode if x.mode == "unless_possible" else "match"
                negatives.append(Slot(len(negatives), intern((mode, x.pattern)), joins, False))
        self.positives = tuple(positives)
        self.negatives = tuple(negatives)
        self.premises = intern(tuple(premises))
        self.signals = tuple([slot.signal for slot in positives])
        self.aggregates = tuple(aggregates)
        self.grows = any(slot.grows for slot in positives)
        self.single_premise = len(positives) == len(rule.literals) == 1
        self.order = intern(join_order([slot.variables for slot in positives]))
        ordered = [positives[n] for n in self.order]
        self.steps = intern(_steps([slot.variables for slot in ordered]))
        self.places = intern(tuple(map(self.order.index, range(len(ordered)))))
        self.bound_at = intern(_bound_at(rule.variables, ordered))
        self.conclusions = tuple([ConclusionTemplate(rule, c, context) for c in rule.conclusions])


class ConclusionTemplate:
    """A conclusion: the ``fact`` if it is the same for all bindings, else its values with the
    places of variables in a binding. ``signals`` are those of the fact, None if they depend on the
    binding; no rule looks at a ``final`` fact."""

    __slots__ = ("fact", "final", "kind", "signals", "strength", "values")

    def __init__(self, rule: Rule, conclusion: Conclusion, context: PlanContext) -> None:
        values = sorted(
            (n, None, rule.variables.index(v[0])) if isinstance(v, tuple) else (n, v, -1)
            for n, v in conclusion.values
        )
        constant = all(place < 0 for _, _, place in values)
        self.kind = conclusion.kind
        self.strength = conclusion.strength
        self.values = tuple(values)
        self.fact = context.intern(conclude(conclusion, {})) if constant else None
        self.signals = context.signals_of(conclusion)
        self.final = self.signals is not None and not self.signals

    def make(self, binding: Sequence[Value]) -> Fact:
        """The fact that a binding concludes."""
        values: Any = [(n, v if place < 0 else binding[place]) for n, v, place in self.values]
        return Fact(self.kind, tuple(values))


def _bound_at(variables: Sequence[str], slots: Sequence[Slot]) -> tuple[tuple[int, int], ...]:
    first: dict[str, tuple[int, int]] = {}
    for place, slot in enumerate(slots):
        for number, variable in enumerate(slot.variables):
            first.setdefault(variable, (place, number))
    return tuple([first[variable] for variable in variables])


def _steps(ordered: Sequence[Sequence[str]]) -> tuple[JoinStep, ...]:
    steps = []
    for place in range(1, len(ordered)):
        left, right = [], []
        for number, variable in enumerate(ordered[place]):
            known = [n for n in range(place) if variable in ordered[n]]
            if known:
                left.append((known[0], ordered[known[0]].index(variable)))
                right.append(number)
        steps.append(JoinStep(tuple(left), tuple(right)))
    return tuple(steps)
