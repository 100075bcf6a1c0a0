"""Requests that do not need each other, sent one after the other."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ....reading.python.nodes import COMPREHENSIONS, last_name
from ..findings import OF_TINKER, Finding, Script
from ..loops import is_many, is_stepped, is_toy
from ..reading.terms import Called, Term
from ..reading.values import TRAINING_STEPS
from .sequences import is_call
from .service import may_be_another

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
    """Whether a request is made from an element of what is looped over, and from no answer."""
    given = [v.term for v in (*call.args, *call.named.values()) if v.term is not None]
    seen = [t for term in given for t in script.machine.trace.walk(term, fed=True)]
    return bool(seen) and not any(map(_is_answer, seen)) and any(map(_is_element, seen))


def _is_answer(term: Term) -> bool:
    return is_call(term, *_REQUESTS) or term.op == "member"


def _is_element(term: Term) -> bool:
    return term.op in ("item", "part")
