"""The training loops of a script, and which code runs inside them."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import NamedTuple

from .findings import Script
from .reading.machine import Machine
from .reading.statements import own_nodes
from .reading.values import BACKWARD, FUNCTIONS, Event, constant, last_name


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
_STOPS = frozenset({"input", "breakpoint", "set_trace"})


def is_few(loop: ast.AST) -> bool:
    """Whether a loop is written to run two or three times, as over things that are compared."""
    over = getattr(loop, "iter", None)
    listed = isinstance(over, (ast.List, ast.Tuple)) and len(over.elts) <= _FEW
    return listed or is_toy(loop, _FEW)


def is_toy(loop: ast.AST, limit: int = 20) -> bool:
    """Whether a loop is written to run a few times only, as in a first trial."""
    iterated = getattr(loop, "iter", None)
    if not (isinstance(iterated, ast.Call) and last_name(iterated.func) == "range"):
        return False
    values = [constant(argument) for argument in iterated.args[:2]]
    return bool(values) and isinstance(values[-1], int) and values[-1] <= limit


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
