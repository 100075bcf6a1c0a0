"""Epochs that are meant to differ, and do not."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..findings import Finding, Script
from ..reading.terms import NOTHING, Called
from ..reading.values import BACKWARD

_SEEDED = frozenset({"Random", "default_rng", "RandomState", "seed", "manual_seed"})
_ORDERS = frozenset({"permutation", "randperm", "sample"})


def find_epochs(script: Script) -> Iterator[Finding]:
    """A generator that is made again with the same seed in every epoch, and orders the examples."""
    events = script.machine.events
    trained = next((e for e in events if e.op in BACKWARD and len(e.loops) > 1), None)
    made = {loop for e in events if e.op.startswith("create_") for loop in e.loops}
    if trained is None:
        return
    # A loop that makes clients goes over models or settings.
    epochs = {*trained.loops[:-1]} - made
    calls = script.machine.trace.calls
    for call in calls:
        loop = call.loops[-1] if call.loops else None
        if call.name not in _SEEDED or loop not in epochs or not _is_fixed(call):
            continue
        near = [c for c in calls if c.loops == call.loops and c is not call]
        if any(_orders(call, c) or _of_new_list(script, c) for c in near):
            yield Finding("same-order-every-epoch", call.node, other=loop)


def _orders(seeded: Called, call: Called) -> bool:
    """Whether a call gives things in the order of the generator."""
    if call.name not in _ORDERS:
        return False
    return call.receiver.kind == "import" or call.receiver.term is seeded.term


def _is_fixed(call: Called) -> bool:
    given = [value.term or NOTHING for value in (*call.args, *call.named.values())]
    return len(given) == 1 and given[0].op == "const" and given[0].const is not None


def _of_new_list(script: Script, call: Called) -> bool:
    """``shuffle(order)`` where ``order`` is made in the same epoch: a list that is shuffled on and
    on has another order each time."""
    given = call.node.args[0] if call.name == "shuffle" and call.node.args else None
    if not isinstance(given, ast.Name):
        return False
    scope = script.function_of(call.node)
    around = script.loops_of(call.node)
    nodes = script.below(around[-1]) if around else script.below(scope) if scope else ()
    return any(isinstance(n, ast.Name) and n.id == given.id and isinstance(n.ctx, ast.Store)
               for n in nodes)  # fmt: skip
