"""How the rules of a program become shapes and slots of the mark network."""

from __future__ import annotations

from typing import NamedTuple

from ..ir import Program, Rule
from .mark_network import MAX_SLOTS, Join, Shape

Signal = tuple[str, int]
"""(mode, pattern): something that a literal waits for."""


class Slot(NamedTuple):
    """A literal's place in its shape. ``joins`` are (attribute, variable) in port order; port 0
    holds the rule. A slot without signal is the constant slot of a rule without positive literal."""

    number: int
    signal: Signal | None
    joins: tuple[tuple[str, str], ...]


class RulePlan(NamedTuple):
    """What the driver needs for one rule: its shape, its slots, and what it waits for."""

    shape: int
    positives: tuple[Slot, ...]
    negatives: tuple[Slot, ...]
    waits: tuple[Signal, ...]
    aggregates: tuple[tuple[int, bool], ...]


def crowded(rule: Rule) -> bool:
    """Whether the rule has more literals with variables or negations than a shape has slots."""
    needed = sum(1 for x in rule.literals if x.joins or x.mode.startswith("unless"))
    return needed >= MAX_SLOTS


def plan_rules(program: Program) -> tuple[list[Shape], list[RulePlan]]:
    """Shapes (each once) and one plan for each rule."""
    uses: dict[Signal, int] = {}
    for rule in program.rules:
        for literal in rule.literals:
            uses[literal.mode, literal.pattern] = uses.get((literal.mode, literal.pattern), 0) + 1
    shapes: dict[Shape, int] = {}
    plans = []
    for rule in program.rules:
        positives, negatives = _slots(rule)
        shape = _shape(positives, negatives)
        waits = {(x.mode, x.pattern) for x in rule.literals if x.mode in ("match", "refuted")}
        plans.append(
            RulePlan(
                shapes.setdefault(shape, len(shapes)),
                positives,
                negatives,
                tuple(sorted(waits, key=lambda s: (uses[s], s))),  # its rarest pattern first
                tuple((x.pattern, x.wanted) for x in rule.literals if x.mode == "aggregate"),
            )
        )
    return list(shapes), plans


def _slots(rule: Rule) -> tuple[tuple[Slot, ...], tuple[Slot, ...]]:
    """Positive and negated slots. Literals without variables beyond the slots that a shape has are
    left to the readiness check of the driver, which they pass before any mark is sent."""
    negated = [x for x in rule.literals if x.mode.startswith("unless")]
    positive = [x for x in rule.literals if x.mode in ("match", "refuted")]
    positive.sort(key=lambda x: (not x.joins, x.mode == "refuted"))
    kept = positive[: MAX_SLOTS - len(negated)]
    slots = [Slot(i, (x.mode, x.pattern), x.joins) for i, x in enumerate(kept)]
    if not slots:
        slots = [Slot(0, None, ())]
    base = len(slots)
    blockers = [Slot(base + i, (x.mode, x.pattern), x.joins) for i, x in enumerate(negated)]
    return tuple(slots), tuple(blockers)


def _shape(positives: tuple[Slot, ...], negatives: tuple[Slot, ...]) -> Shape:
    first_port: dict[str, tuple[int, int]] = {}
    joins: list[Join] = []
    for slot in (*positives, *negatives):
        if slot.number:
            joins.append((slot.number, 0, 0, 0))
        for port, (_, variable) in enumerate(slot.joins, 1):
            if variable in first_port and first_port[variable][0] != slot.number:
                joins.append((slot.number, port, *first_port[variable]))
        if slot.number < len(positives):
            for port, (_, variable) in enumerate(slot.joins, 1):
                first_port.setdefault(variable, (slot.number, port))
    return Shape(len(positives), len(negatives), tuple(joins))
