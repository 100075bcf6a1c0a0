"""Finds futures whose results are never awaited, or only at the very end."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..findings import Finding, Script
from ..loops import is_toy
from ..reading.values import BACKWARD, TRAINING_STEPS, Value

_SAVES = frozenset({"save_state", "save_weights_for_sampler", "save_weights_external"})
_OF_CLIENT = TRAINING_STEPS | _SAVES | {"create-sampling", "forward"}


def find_futures(script: Script) -> Iterator[Finding]:
    """The patterns of futures."""
    yield from _never(script)
    yield from _late(script)


def _never(script: Script) -> Iterator[Finding]:
    """Futures of steps and saves whose result no code requests. (``futures-dropped`` reports
    forward_backward.)"""
    events = script.machine.events
    if script.machine.unresolved_waits:
        return
    waited = {event.uid for event in events if event.what == "wait"}
    asked = {e.node for e in events if e.what == "submit" and e.uid in waited}
    for number, event in enumerate(events):
        if event.what != "submit" or event.op not in {"optim_step", *_SAVES}:
            continue
        if event.node in asked or event.style not in ("plain", "async-call"):
            continue
        if _is_used(script, event.node):
            continue
        later = any(e.what == "wait" and e.op in _OF_CLIENT for e in events[number:])
        assumed = "that no later request to the client shows its failure" if later else ""
        pattern = "save-not-awaited" if event.op in _SAVES else "futures-never-awaited"
        yield Finding(pattern, event.node, assumed=assumed)


def _is_used(script: Script, call: ast.AST) -> bool:
    """Whether the future of a call goes where it is not followed any more, or may be asked."""
    return any(
        _goes_on(script, node, call) for node in script.all(ast.Call)
        if node is call or call in _nodes(script.machine.trace.latest.get(id(node), Value()))
    )  # fmt: skip


def _goes_on(script: Script, node: ast.AST, call: ast.AST) -> bool:
    above = script.parents.get(id(node))
    while isinstance(above, ast.Await):
        above = script.parents.get(id(above))
    if isinstance(above, ast.Expr):
        return False
    if _is_returned(script, node):
        return not _is_called(script, script.function_of(node))
    if not isinstance(above, ast.Assign):
        return True
    targets = [part for target in above.targets for part in ast.walk(target)]
    if any(isinstance(part, (ast.Attribute, ast.Subscript)) for part in targets):
        return True
    names = {part.id for part in targets if isinstance(part, ast.Name)}
    if isinstance(above.targets[0], ast.Tuple):
        held = (p for p in targets if call in _nodes(script.machine.value(p)))
        names = {part.id for part in held if isinstance(part, ast.Name)}
    scope = script.function_of(node) or script.module_of(node).tree
    loads = (n for n in script.below(scope) if isinstance(n, ast.Name) and n.id in names)
    handed = not _is_called(script, script.function_of(node))
    return any(
        isinstance(n.ctx, ast.Load) and (handed or not _is_returned(script, n)) for n in loads
    )


def _is_called(script: Script, function: ast.AST | None) -> bool:
    """Whether the program calls a function; of others the callers are not known."""
    return any(script.machine.value(call.func).node is function for call in script.calls())


def _is_returned(script: Script, node: ast.AST) -> bool:
    """Whether a value is handed to the caller, alone or in a tuple."""
    above = script.parents.get(id(node))
    while isinstance(above, (ast.Await, ast.Tuple)):
        above = script.parents.get(id(above))
    return isinstance(above, ast.Return)


def _nodes(value: Value, depth: int = 0) -> Iterator[ast.AST]:
    if value.kind in ("future", "coroutine") and value.node is not None:
        yield value.node
    for part in value.parts if depth < 3 else ():
        yield from _nodes(part, depth + 1)


def _late(script: Script) -> Iterator[Finding]:
    """A loop that submits all its steps before the first result is asked for."""
    events = script.machine.events
    if script.machine.unresolved_waits:
        return
    waits = [e for e in events if e.what == "wait" and e.op in TRAINING_STEPS]
    submits = [e for e in events if e.what == "submit" and e.op in BACKWARD and e.loops]
    steps = [e.loops for e in events if e.what == "submit" and e.op == "optim_step"]
    of_loops = {loops: _step_loop(steps, loops) for loops in {event.loops for event in submits}}
    for event in submits:
        loop = of_loops[event.loops]
        if loop is None or is_toy(script, loop) or not event.sure or event.detached:
            continue
        inside = any(loop in wait.loops for wait in waits)
        later = [w for w in waits if w.op in BACKWARD and w.uid == event.uid]
        if later and not inside:
            yield Finding("futures-awaited-late", event.node, other=later[0].node)


def _step_loop(steps: list[tuple[ast.AST, ...]], backward: tuple[ast.AST, ...]) -> ast.AST | None:
    """The innermost loop that repeats both the gradient and the step."""
    for loops in steps:
        shared = [loop for loop in backward if loop in loops]
        if shared:
            return shared[-1]
    return None
