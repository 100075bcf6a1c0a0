"""Gradients and optimizer steps: their order, and what else adds gradients."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import pairwise

from ..findings import Finding, Script
from ..loops import client_escapes, training_loop
from ..reading.machine import exclusive
from ..reading.terms import NOTHING, Called, Term
from ..reading.values import BACKWARD, TRAINING_STEPS, Event
from .sequences import is_call

_RESUMES = frozenset({"load_state", "create_training_client_from_state"})


def find_steps(script: Script) -> Iterator[Finding]:
    """The patterns of gradients and steps."""
    for trace in _traces(script):
        yield from _before(trace)
        yield from _left_over(trace)
    yield from _without(script)
    yield from _resumed(script)


def _traces(script: Script) -> Iterator[list[Event]]:
    """Submissions of training whose order to each other is known."""
    trace: list[Event] = []
    for event in script.machine.events:
        if event.what == "break":
            yield trace
            trace = []
        elif event.op in TRAINING_STEPS and event.what == "submit":
            if not event.sure or event.detached:
                return
            trace.append(event)
    yield trace


def _before(trace: list[Event]) -> Iterator[Finding]:
    """The first thing that a loop does is a step, with no gradient yet."""
    if len(trace) < 2 or trace[0].op != "optim_step" or not trace[0].loops:
        return
    step, loop = trace[0], trace[0].loops[-1]
    backward = next((e for e in trace if e.op in BACKWARD), None)
    # Under a condition it may be the step of the pass before.
    if backward is not None and loop in backward.loops and step.path == backward.path:
        yield Finding("step-before-gradient", step.node, other=backward.node)


def _without(script: Script) -> Iterator[Finding]:
    """Steps in a program that computes no gradients at all."""
    events = [e for e in script.machine.events if e.what == "submit"]
    step = next((e for e in events if e.op == "optim_step" and e.loops), None)
    known = any(e.op in ("forward", "create_lora_training_client") for e in events)
    if step is None or not known or any(e.op in BACKWARD for e in events) or not script.whole:
        return
    names = {*BACKWARD, *(f"{name}_async" for name in BACKWARD)}
    if not names & script.words and not client_escapes(script, script.nodes):
        yield Finding("step-before-gradient", step.node)


def _left_over(trace: list[Event]) -> Iterator[Finding]:
    """A forward_backward behind the step of the same pass, whose gradient goes into the step of the
    next pass together with that of its batch: an evaluation."""
    own = {event.node for event in _closed(trace)}
    steps = [number for number, event in enumerate(trace) if event.op == "optim_step"]
    if not own or not steps:
        return
    last = {event.node: number for number, event in enumerate(trace)}
    for number, event in enumerate(trace[1:], 1):
        # Behind the step of the last pass: no step follows there.
        if event.op not in BACKWARD or event.node in own or last[event.node] < steps[-1]:
            continue
        before = next((e for e in reversed(trace[:number]) if e.node is not event.node), event)
        after = next((e for e in trace[number + 1 :] if e.node is not event.node), None)
        if before.op != "optim_step" or after is None or after.op not in BACKWARD:
            continue
        loop = before.loops[-1] if before.loops else None
        if loop in event.loops and not exclusive(before, event) and not exclusive(after, event):
            yield Finding("evaluation-leaves-gradients", event.node, other=before.node)


def evaluations(script: Script) -> set[ast.AST]:
    """The calls of forward_backward to which no step belongs."""
    found = (finding for trace in _traces(script) for finding in _left_over(trace))
    return {finding.node for finding in found if finding.node is not None}


def _closed(trace: list[Event]) -> Iterator[Event]:
    """The gradients that a step follows at once."""
    for one, other in pairwise(trace):
        if one.op in BACKWARD and other.op == "optim_step":
            yield one


def _resumed(script: Script) -> Iterator[Finding]:
    """A run that goes on where it stopped, with a fresh optimizer."""
    events = script.machine.events
    loop = training_loop(script)
    steps = [e for e in events if e.what == "submit" and e.op == "optim_step" and e.loops]
    for call in script.machine.trace.calls:
        if call.name not in _RESUMES or loop is None or _with_optimizer(call):
            continue
        path = call.given("path", 0)
        start = next((s for each in steps for s in _starts(script, each.loops)), None)
        after = next((e for e in steps if events.index(e) >= call.position - 1), None)
        if path is None or path.term is None or start is None or after is None:
            continue
        if _root(path.term) is _root(start) and _root(start).op not in ("const", "nothing"):
            yield Finding("resumed-without-optimizer", call.node, other=after.node)


def _with_optimizer(call: Called) -> bool:
    return "optimizer" in call.named or "**" in call.named


def _starts(script: Script, loops: tuple[ast.AST, ...]) -> Iterator[Term]:
    """The start values of loops that do not begin at the first example."""
    trace = script.machine.trace
    for loop in loops:
        term = trace.of(getattr(loop, "iter", None))
        for _ in range(4):
            if is_call(term, "enumerate", "tqdm") and len(term.args) > 1:
                term = term.args[1]
        if is_call(term, "range") and len(term.args) > 2 and term.args[1].op != "const":
            yield term.args[1]
        if term.op == "slice" and term.args[1] is not NOTHING and term.args[1].op != "const":
            yield term.args[1]


def _root(term: Term) -> Term:
    """The value that another was taken from: the record of ``record["path"]``."""
    while term.op in ("index", "attr", "part"):
        term = term.args[0]
    if is_call(term, "get", "int") and term.args[0] is not NOTHING:
        return _root(term.args[0])
    return _root(term.args[1]) if is_call(term, "int") and len(term.args) > 1 else term
