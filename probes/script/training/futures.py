"""Finds futures that are never awaited or too late, and requests that wait for each other."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ....reading.python.nodes import COMPREHENSIONS, last_name
from ..findings import OF_TINKER, Finding, Script
from ..loops import is_many, is_stepped, is_toy
from ..reading.terms import Called, Term
from ..reading.values import BACKWARD, TRAINING_STEPS, Value
from ..sequences import is_call
from .clients import may_be_another

_REQUESTS = ("sample", "compute_logprobs")
_MANY = "that the loop has many passes"
_LEAVES = (ast.Break, ast.Return, ast.Raise, ast.While)


def find_sequential(script: Script) -> Iterator[Finding]:
    """Loops over prompts that wait for each answer before they send the next request."""
    machine = script.machine
    if is_stepped(script):
        return
    submits = {e.uid: e for e in machine.events if e.what == "submit" and e.op in _REQUESTS}
    alone: dict[tuple[int, int], bool] = {}
    for wait in machine.events:
        sent = submits.get(wait.uid) if wait.what == "wait" else None
        if sent is None or sent.detached or not sent.sure or wait.style == "gather":
            continue
        loop = sent.each[-1] if sent.each and sent.each == wait.each else None
        if loop is None or not _is_plain(script, loop):
            continue
        place = id(sent.node), id(loop)
        if place not in alone:
            calls = [c for c in script.readings.get(place[0], ()) if loop in c.loops]
            alone[place] = bool(calls) and all(_is_alone(script, call) for call in calls)
        if alone[place]:
            many = any(_takes_long(script, each) for each in sent.each)
            assumed = (OF_TINKER if may_be_another(script) else "") if many else _MANY
            yield Finding("waits-in-sequence", wait.node, other=loop, assumed=assumed)


def _takes_long(script: Script, loop: ast.AST) -> bool:
    """Whether a loop is seen to run often: over a data set or a large number, or as it trains."""
    over = loop.generators[0] if isinstance(loop, COMPREHENSIONS) else loop
    return is_many(script, over) or _trains(script, loop)


def _trains(script: Script, loop: ast.AST) -> bool:
    return any(e.op in TRAINING_STEPS and loop in e.each for e in script.machine.events)


def _is_plain(script: Script, loop: ast.AST) -> bool:
    """Whether a loop goes over many things, trains nothing, and always to its end."""
    if _trains(script, loop) or isinstance(loop, (ast.While, ast.AsyncFor)) or is_toy(script, loop):
        return False
    if isinstance(loop, COMPREHENSIONS):
        return len(loop.generators) == 1 and not is_toy(script, loop.generators[0])
    inside = list(script.below(loop))
    slowed = any(isinstance(n, ast.Call) and last_name(n.func) == "sleep" for n in inside)
    return not slowed and not any(isinstance(n, _LEAVES) for n in inside)


def _is_alone(script: Script, call: Called) -> bool:
    """Whether a request is made from an element of the loop's values, and from no answer."""
    given = [v.term for v in (*call.args, *call.named.values()) if v.term is not None]
    seen = [t for term in given for t in script.machine.trace.walk(term, fed=True)]
    return bool(seen) and not any(map(_is_answer, seen)) and any(map(_is_element, seen))


def _is_answer(term: Term) -> bool:
    return is_call(term, *_REQUESTS) or term.op == "member"


def _is_element(term: Term) -> bool:
    return term.op in ("item", "part")


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
    """Whether the future of a call leaves the followed code, or may be awaited."""
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
    """Whether the program calls a function; the callers of other functions are unknown."""
    return any(script.machine.value(call.func).node is function for call in script.calls())


def _is_returned(script: Script, node: ast.AST) -> bool:
    """Whether a value is returned to the caller, alone or in a tuple."""
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
    """A loop that submits all its steps before it requests the first result."""
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
