"""The training loops of a script, and which code runs inside them."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from math import prod
from typing import NamedTuple

from ...reading.python.nodes import FUNCTIONS, last_name
from .findings import Script
from .reading.machine import Machine
from .reading.statements import own_nodes
from .reading.terms import Term, Trace
from .reading.values import BACKWARD, Event
from .training.sequences import is_call, length


class TrainingLoop(NamedTuple):
    """A loop that trains: ``step`` repeats one step, ``outer`` is the outermost loop around it.

    ``events`` are the SDK events inside it; ``nodes`` is the code that runs inside ``step``, also
    in functions of the script; ``outer_nodes`` that inside ``outer``.
    """

    step: ast.AST
    outer: ast.AST
    events: tuple[Event, ...]
    nodes: tuple[ast.AST, ...]
    outer_nodes: tuple[ast.AST, ...]


def training_loop(script: Script) -> TrainingLoop | None:
    """The first loop that submits forward_backward, directly or through functions."""
    events = [e for e in script.machine.events if e.what == "submit" and e.loops]
    backward = next((e for e in events if e.op in BACKWARD), None)
    if backward is None:
        return None
    step = backward.loops[-1]
    for event in events:
        shared = [loop for loop in backward.loops if loop in event.loops]
        if event.op == "optim_step" and shared:
            step = shared[-1]
            break
    inside = tuple(e for e in script.machine.events if step in e.loops)
    outer = backward.loops[0]
    return TrainingLoop(step, outer, inside, _inside(script.machine, step),
                        _inside(script.machine, outer))  # fmt: skip


def _inside(machine: Machine, loop: ast.AST) -> tuple[ast.AST, ...]:
    """The code that runs in a loop: its body and the functions that are called from there."""
    body = getattr(loop, "body", [])
    found: list[ast.AST] = []
    for statement in body:
        found.append(statement)
        if not isinstance(statement, (*FUNCTIONS, ast.ClassDef)):
            found.extend(own_nodes(statement))
    if isinstance(loop, ast.While):
        found.append(loop.test)
    for function, loops in machine.called_in.items():
        if loop in loops:
            found.extend(own_nodes(function))
    found.sort(key=lambda node: (getattr(node, "lineno", 0), getattr(node, "col_offset", 0)))
    return tuple(found)


def calls_in(nodes: Iterable[ast.AST]) -> list[ast.Call]:
    """The calls among nodes."""
    return [node for node in nodes if isinstance(node, ast.Call)]


_FEW = 3
_TOY = 20
_STOPS = frozenset({"input", "breakpoint", "set_trace"})
_DATA_SETS = frozenset({"load_dataset", "load_from_disk"})
_PAIRS = frozenset({"enumerate", "zip", "items", "keys", "values"})


def is_few(script: Script, loop: ast.AST) -> bool:
    """Whether a loop is written to run two or three times, as over things that are compared."""
    return is_toy(script, loop, _FEW)


def is_toy(script: Script, loop: ast.AST, limit: int = _TOY) -> bool:
    """Whether a loop is written to run a few times only, as in a first trial."""
    count = _count(script, loop)
    return count is not None and 0 < count <= limit  # an empty list stands for another one


def are_toys(script: Script, loops: Iterable[ast.AST]) -> bool:
    """Whether what several loops repeat together is done a few times only."""
    counts = [_count(script, loop) for loop in loops]
    known = [count for count in counts if count is not None]
    return len(known) == len(counts) and 0 < prod(known) <= _TOY


def is_many(script: Script, loop: ast.AST) -> bool:
    """Whether a loop is seen to run often: by a number in the text, or over a data set."""
    count = _count(script, loop)
    if count is not None:
        return count > _TOY
    trace = script.machine.trace
    return any(is_call(t, *_DATA_SETS) for t in trace.walk(trace.of(getattr(loop, "iter", None))))


def _count(script: Script, loop: ast.AST) -> int | None:
    over = getattr(loop, "iter", None)
    if isinstance(over, ast.Call) and last_name(over.func) == "range":
        bounds = [script.machine.value(each).const for each in over.args[:2]]
        return len(range(*bounds)) if bounds and all(type(b) is int for b in bounds) else None
    return _passes(script.machine.trace, script.machine.trace.of(over))


def _passes(trace: Trace, over: Term) -> int | None:
    """How many things there are to go over, at most; None if the text does not say it."""
    if is_call(over, *_PAIRS):
        counts = (_passes(trace, each) for each in over.args)
        return min((count for count in counts if count is not None), default=None)
    if over.op == "slice" and type(over.args[2].const) is int and over.args[2].const >= 0:
        return int(over.args[2].const)
    if isinstance(over.node, (ast.Dict, ast.Set)):
        return len(over.args)
    size = length(trace, over) if over.op != "nothing" else None
    return size.fixed if size is not None and not size.parts else None


def is_stepped(script: Script) -> bool:
    """Whether a person steps through the program: it stops and takes no answer."""
    return any(
        last_name(getattr(node.value, "func", None)) in _STOPS for node in script.all(ast.Expr)
    )


def client_escapes(script: Script, nodes: Iterable[ast.AST]) -> bool:
    """Whether a client is passed to code outside the script, which may do anything with it."""
    machine = script.machine
    for call in calls_in(nodes):
        target = machine.value(call.func)
        receiver = machine.kind(getattr(call.func, "value", None))
        local = target.kind in ("function", "method", "class")
        sdk = receiver in ("training", "sampling", "service", "client-future", "list", "dict")
        if local or sdk or last_name(call.func) in ("print", "isinstance", "gather", "str", "repr"):
            continue
        given = [*call.args, *(k.value for k in call.keywords)]
        if any(machine.kind(a) in ("training", "client-future", "object") for a in given):
            return True
    return False
