"""Shapes compiled to the rule set text of durable-rules, within the limits of its C code.

One rule per shape, whatever the number of rules that have it. Every slot gets a code of its own as
its first test, so that a mark reaches one pattern only; joins are equalities between integers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import NamedTuple

from .identities import ALIASES, ONE_PROPERTY, PORT_PROPERTIES, SLOT_PROPERTY
from .mark_network import Join, Shape, ShapeError, check_shape

MAX_SIBLING_TESTS = 400
"""Tests under one node. Measured: 512 hang at the first assert, 513 hang while compiling."""

MAX_PATTERN_USERS = 200
"""Rules with one identical pattern. Measured: 256 crash."""

MAX_JOIN_PATTERN_USERS = 50
"""Join tests one mark can reach at once. Measured: 65 fail with error 303, 512 hang."""

MAX_RULES = 4000
"""Rules of one rule set. Measured: 4,097 fail with error 106."""

BOOT_CODE = 0
"""Slot code of the boot mark; the slots of the shapes are numbered from 1."""

Pick = Callable[[tuple[int, ...]], tuple[int, ...]]
"""Selects the port values that some joins name out of a mark's keys."""

Watch = tuple[int, Pick]
"""A number for a pair of slots (positive, negated), and the port values that meet there."""


class SlotPlan(NamedTuple):
    """How a mark of one slot becomes engine text, and what it means for the feed order."""

    template: str
    """JSON text; takes the session id, the mark number and the picked keys."""
    pick: Pick
    meets: tuple[Watch, ...]
    """For a positive slot: its side of each pair with a negated slot."""
    blocks: tuple[Watch, ...]
    """For a negated slot: its side of each pair with a positive slot."""


Tests = tuple[tuple[str, ...], ...]


class Compiled(NamedTuple):
    """A rule set ready for the engine."""

    text: str
    plans: dict[tuple[int, int], SlotPlan]


def compile_shapes(shapes: Sequence[Shape]) -> Compiled:
    """Compile `shapes`. Raises `ShapeError` if one is malformed or the engine cannot carry them."""
    plans: dict[tuple[int, int], SlotPlan] = {}
    patterns: list[list[list[str]]] = [[[_equals(SLOT_PROPERTY, BOOT_CODE)]]]
    rules = [_rule("boot", [f'{{"{ALIASES[0]}":{_equals(SLOT_PROPERTY, BOOT_CODE)}}}'])]
    for index, shape in enumerate(shapes):
        check_shape(shape)
        tests = []
        for slot in range(shape.positives + shape.negatives):
            code = len(plans) + 1
            plans[index, slot] = _plan_slot(shape, slot, code)
            tests.append(_tests(shape, slot, code))
        patterns.append(tests)
        rules.append(_rule(f"r{index}", [_pattern(shape, s, t) for s, t in enumerate(tests)]))
    check_limits(patterns)
    return Compiled("{" + ",".join(rules) + "}", plans)


def check_limits(rules: Sequence[Sequence[Sequence[str]]]) -> None:
    """Raise `ShapeError` if a network of `rules` comes near a wall of the engine.

    A rule is a list of patterns, a pattern a list of tests in network order. Tests with equal text
    after an equal prefix are one node, except join tests, which the engine never shares.
    """
    siblings: dict[tuple[str, ...], set[str]] = {}
    users: dict[tuple[str, ...], int] = {}
    joins: dict[tuple[str, ...], int] = {}
    for pattern in (pattern for rule in rules for pattern in rule):
        depth = 0
        while depth < len(pattern) and not _is_join(pattern[depth]):
            siblings.setdefault(tuple(pattern[:depth]), set()).add(pattern[depth])
            depth += 1
        prefix = tuple(pattern[:depth])
        table = users if depth == len(pattern) else joins
        table[prefix] = table.get(prefix, 0) + 1
    for what, count, limit in (
        ("rules", len(rules), MAX_RULES),
        ("tests under one node (slots of all shapes)", _most(siblings), MAX_SIBLING_TESTS),
        ("users of one pattern", max(users.values(), default=0), MAX_PATTERN_USERS),
        ("users of one join pattern", max(joins.values(), default=0), MAX_JOIN_PATTERN_USERS),
    ):
        if count > limit:
            raise ShapeError(
                f"the network has {count} {what}, durable-rules is trusted with {limit}:"
                " spread the shapes over several networks"
            )


def _most(groups: dict[tuple[str, ...], set[str]]) -> int:
    return max((len(group) for group in groups.values()), default=0)


def _plan_slot(shape: Shape, slot: int, code: int) -> SlotPlan:
    ports = _ports(shape.joins, slot)
    fields = "".join(f',"{PORT_PROPERTIES[port]}":%d' for port in ports)
    template = f'{{"sid":%d,"id":%d,"{SLOT_PROPERTY}":{code},"{ONE_PROPERTY}":1{fields}}}'
    meets, blocks = [], []
    for number, (positive, negated) in enumerate(_pairs(shape)):
        between = [j for j in shape.joins if j[0] == negated and j[2] == positive]
        if slot == positive:
            # The code of the shape's first slot makes the pair's number unique in the network.
            meets.append(((code - slot) * 64 + number, _picker([j[3] for j in between])))
        if slot == negated:
            blocks.append(((code - slot) * 64 + number, _picker([j[1] for j in between])))
    return SlotPlan(template, _picker(ports), tuple(meets), tuple(blocks))


def _pairs(shape: Shape) -> list[tuple[int, int]]:
    return sorted({(j[2], j[0]) for j in shape.joins if j[0] >= shape.positives})


def _ports(joins: Sequence[Join], slot: int) -> list[int]:
    own = {port for mine, port, _, _ in joins if mine == slot}
    return sorted(own | {its_port for _, _, earlier, its_port in joins if earlier == slot})


def _picker(ports: Sequence[int]) -> Pick:
    """Return a getter that gives a tuple for any number of ports, one included."""
    if len(ports) == 1:
        return itemgetter(slice(ports[0], ports[0] + 1))
    return itemgetter(*ports) if ports else itemgetter(slice(0, 0))


def _equals(name: str, value: int) -> str:
    return f'{{"{name}":{value}}}'


def _joined(name: str, slot: int, its_name: str) -> str:
    return f'{{"{name}":{{"{ALIASES[slot]}":"{its_name}"}}}}'


def _is_join(test: str) -> bool:
    return ':{"' in test


def _tests(shape: Shape, slot: int, code: int) -> list[str]:
    tests = [_equals(SLOT_PROPERTY, code)]
    for port, earlier, its_port in dict.fromkeys(j[1:] for j in shape.joins if j[0] == slot):
        tests.append(_joined(PORT_PROPERTIES[port], earlier, PORT_PROPERTIES[its_port]))
    if slot:
        # The engine reads past the end of a join whose last test is false: let it be true always.
        tests.append(_joined(ONE_PROPERTY, 0, ONE_PROPERTY))
    return tests


def _pattern(shape: Shape, slot: int, tests: Sequence[str]) -> str:
    name = ALIASES[slot] + ("$not" if slot >= shape.positives else "")
    body = tests[0] if len(tests) == 1 else '{"$and":[' + ",".join(tests) + "]}"
    return f'{{"{name}":{body}}}'


def _rule(name: str, patterns: Sequence[str]) -> str:
    return f'"{name}":{{"all":[{",".join(patterns)}]}}'
