"""Gradients of several batches for one step: what is left over, and settings that nothing reads."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ....reading.python.nodes import constant, last_name
from ..findings import Finding, Script
from ..reading.machine import exclusive
from ..reading.values import BACKWARD, Event

_EQUAL = (ast.Eq, ast.GtE)


def find_accumulation(script: Script) -> Iterator[Finding]:
    """The patterns of accumulated gradients."""
    events = [e for e in script.machine.events if e.what == "submit"]
    steps = [e for e in events if e.op == "optim_step" and e.loops]
    backward = [e for e in events if e.op in BACKWARD and e.loops]
    for step in steps[:1] if len({e.node for e in steps}) == 1 else ():
        yield from _left_over(script, step, backward, events)
    if steps and backward and script.whole:
        yield from _not_read(script, steps[0])


def _left_over(
    script: Script, step: Event, backward: list[Event], events: list[Event]
) -> Iterator[Finding]:
    """A loop steps after every so many batches; behind it nothing steps for those that remain."""
    loop = step.loops[-1]
    own = next((e for e in backward if e.loops[-1] is loop and not exclusive(e, step)), None)
    if own is None or not step.sure or not isinstance(loop, (ast.For, ast.AsyncFor)):
        return
    gate = _gate(script, step, loop)
    outside = any(e.op == "optim_step" and loop not in e.loops for e in events)
    if gate is None or outside or any(each is gate for each in script.above(own.node)):
        return
    size = _size(script, gate.test)
    if size is None or (isinstance(size, int) and _divides(script, loop, size)):
        return
    yield Finding("accumulation-left-over", step.node, other=own.node)


def _gate(script: Script, step: Event, loop: ast.AST) -> ast.If | None:
    """The condition inside the loop under which the step is taken."""
    for each in script.above(step.node):
        if each is loop:
            return None
        if isinstance(each, ast.If):
            return each
    return None


def _size(script: Script, test: ast.expr) -> int | str | None:
    """After how many batches a test is true, as far as it is known; None for other tests, such as
    one that is also true for the last batch."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        number: ast.expr | None = _modulus(test.operand)
    elif isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], _EQUAL):
        number = _modulus(test.left)
        if number is None and "accum" in ast.unparse(test).lower():
            number = test.comparators[0]
    else:
        return None
    if number is None:
        return None
    value = script.machine.value(number).const
    if not isinstance(value, int):
        return "unknown"
    return value if value > 1 else None


def _modulus(node: ast.expr) -> ast.expr | None:
    return node.right if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) else None


def _divides(script: Script, loop: ast.For | ast.AsyncFor, size: int) -> bool:
    """Whether a loop over a range of known length leaves nothing over."""
    made = loop.iter
    if not isinstance(made, ast.Call) or last_name(made.func) != "range" or len(made.args) != 1:
        return False
    count = script.machine.value(made.args[0]).const
    return isinstance(count, int) and count % size == 0


def _not_read(script: Script, step: Event) -> Iterator[Finding]:
    """A number of batches to accumulate is set, and nothing reads it."""
    if not any("accum" in word.lower() for word in script.words):
        return
    said = _occurrences(script)
    for node in script.all((ast.Assign, ast.AnnAssign)):
        name = _set_name(node)
        if name and said.get(name) == 1:
            yield Finding("accumulation-not-read", node, other=step.node, given=name)
            return


def _set_name(node: ast.AST) -> str:
    """The name that is given a number above 1, if it mentions accumulation."""
    if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        name = last_name(targets[0])
        value = constant(node.value)
        if "accum" in name.lower() and type(value) is int and value > 1:
            return name
    return ""


def _occurrences(script: Script) -> dict[str, int]:
    """Count how often each name that mentions accumulation occurs in a program, in whatever
    form."""
    found: dict[str, int] = {}
    for node in script.nodes:
        for text in _texts(node):
            if "accum" in text.lower():
                found[text] = found.get(text, 0) + 1
    return found


def _texts(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.Attribute):
        yield node.attr
    elif isinstance(node, (ast.keyword, ast.arg)):
        yield node.arg or ""
    elif isinstance(node, ast.alias):
        yield (node.asname or node.name).rpartition(".")[2]
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value.lstrip("-").replace("-", "_")
