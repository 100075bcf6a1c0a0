"""The order of submitting and waiting: does the loop wait before it submits the next call?

``forward_backward(...)`` and ``optim_step(...)`` return futures at once. The question is whether
the result of forward_backward is awaited (``.result()``, ``await`` of the future,
``result_async``, ``gather``) before the optim_step that belongs to it is submitted.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from ...reading.python.nodes import last_name
from .findings import OF_TINKER, Finding, Script
from .loops import are_toys, is_few, is_stepped
from .reading.machine import exclusive
from .reading.values import BACKWARD, TRAINING_STEPS, Event
from .training.clients import may_be_another
from .training.reliance import UNSEEN, is_timed, relies
from .training.steps import evaluations

_NO_CLOCK = "that the time of each call is not what is asked for"


class Early(NamedTuple):
    """A wait for the call ``sent`` that comes before ``following`` is sent."""

    wait: Event
    sent: Event
    following: Event


def find_order(script: Script) -> Iterator[Finding]:
    """The patterns of submitting and waiting, each at the first place that shows it."""
    if is_stepped(script) or any(script.addresses):
        return  # the person takes long, or another service has its own way of handling requests
    waits: list[Finding] = []
    together: list[tuple[Event, Event, bool]] = []
    fresh = _making(script.machine.events)
    aside = evaluations(script)
    for trace, once in _traces(script.machine.events):
        early = (e for e in _early_waits(trace, aside) if _pays(script, e, once, fresh))
        waits += filter(None, (_waiting(script, each) for each in early))
        together += _pairs(trace)
    wait = min(waits, key=lambda finding: bool(finding.assumed), default=None)
    if wait is not None:
        yield wait
    plain = [(a, b) for a, b, waited in together if not waited and a.style == b.style == "plain"]
    calls = [(a, b) for a, b, _ in together if a.style == b.style == "async-call"]
    waited = [(a, b) for a, b, later in together if later]
    if wait is None:
        if calls:
            yield Finding("awaits-async-submits", calls[0][0].node)
        elif waited:
            yield Finding("submits-before-waiting", waited[0][0].node)
        elif plain:
            yield Finding("plain-calls-in-sequence", plain[0][0].node)
    if script.complete:
        if together and wait is None and not script.machine.unresolved_waits:
            yield Finding("waits-before-next-submit", None)
        if wait is not None and not together:
            yield Finding("submits-before-waiting", None)
            yield Finding("plain-calls-in-sequence", None)


def _traces(events: list[Event]) -> Iterator[tuple[list[Event], bool]]:
    """Events whose order to each other is known, and whether other code cannot repeat them: those
    of the program itself, not those of functions that others may call."""
    trace: list[Event] = []
    once = True
    for event in events:
        if event.what == "break":
            yield trace, once
            trace, once = [], False
        elif event.sure and not event.detached and event.op in TRAINING_STEPS:
            trace.append(event)
    yield trace, once


def _early_waits(trace: list[Event], aside: set[ast.AST]) -> Iterator[Early]:
    """Waits for forward_backward that come before its optim_step (or the next batch) is submitted.
    Code ``aside`` of the steps has no such step."""
    flying: dict[int, Event] = {}
    for index, event in enumerate(trace):
        if event.what == "submit":
            flying[event.uid] = event
            continue
        waited = flying.pop(event.uid, None)
        if waited is None or waited.op not in BACKWARD or waited.node in aside:
            continue
        uids = list(flying)
        after = [flying[u] for u in uids if u > waited.uid and not exclusive(flying[u], event)]
        if any(other.op == "optim_step" for other in after):
            continue
        alone = not any(o.op in BACKWARD and not exclusive(o, event) for o in flying.values())
        later = (e for e in trace[index + 1 :] if e.what == "submit")
        following = next(
            (e for e in later if not exclusive(e, event) and not exclusive(e, waited)), None
        )
        always = event.path == waited.path  # else another arm may do the step
        if following and (following.op == "optim_step" or (alone and always)):
            yield Early(event, waited, following)


def _waiting(script: Script, early: Early) -> Finding | None:
    """The finding, unless the following call needs the awaited result."""
    needed = relies(script, early.wait.node, early.following.node, early.sent.node)
    assumed = _assumption(script, early) or (UNSEEN if needed is None else "")
    node = early.wait.node
    return None if needed else Finding("waits-before-next-submit", node, assumed=assumed)


def _assumption(script: Script, early: Early) -> str:
    """The reason that may make a wait free of cost: it happens seldom, serves to measure time, or
    concerns another service."""
    around = set(script.above(early.sent.node))
    ifs = (a for a in script.above(early.wait.node) if isinstance(a, ast.If) and a not in around)
    safe = [_is_safeguard(each.test) for each in ifs]
    if len(early.wait.path) > len(early.sent.path) and not (safe and all(safe)):
        return "that the condition around holds in most steps"
    if early.following.op in BACKWARD and not _has_step(script, early.sent.node):
        return "that the gradients are for a step"
    shared = [loop for loop in early.wait.loops if loop in early.following.loops]
    if shared and are_toys(script, shared):
        return "that the loop has many passes"
    if may_be_another(script):
        return OF_TINKER
    return _NO_CLOCK if is_timed(script, early.wait.node, early.following.node) else ""


def _has_step(script: Script, node: ast.AST) -> bool:
    """Whether the function around a call also steps; a function that does not step evaluates."""
    scope = script.function_of(node)
    steps = (e.node for e in script.machine.events if e.op == "optim_step")
    return any(script.function_of(step) is scope for step in steps)


def _is_safeguard(test: ast.expr) -> bool:
    """A condition that always holds if the SDK returns the documented type: ``hasattr(future,
    "result")``, ``future is not None``."""
    if isinstance(test, ast.Call):
        return last_name(test.func) in ("hasattr", "isinstance", "callable", "isawaitable")
    return isinstance(test, ast.Compare) and any(isinstance(op, ast.IsNot) for op in test.ops)


def _making(events: list[Event]) -> set[ast.AST]:
    """Loops that make their training client again, so that each pass trains another one."""
    return {loop for event in events if event.op == "create_lora_training_client"
            for loop in event.loops}  # fmt: skip


def _pays(script: Script, early: Early, once: bool, fresh: set[ast.AST]) -> bool:
    """Whether steps wait for each other often enough to matter; steps that run only a few times
    try, measure or compare something."""
    following = early.following
    shared = [e for e in early.wait.loops if e in following.loops and e not in fresh]
    if not shared:
        return following.op == "optim_step" and not once
    return not all(is_few(script, loop) for loop in shared)


def _pairs(trace: list[Event]) -> Iterator[tuple[Event, Event, bool]]:
    """forward_backward with the optim_step that follows it without a wait in between, and whether
    one of the two is awaited later."""
    waited = {event.uid for event in trace if event.what == "wait"}
    last: Event | None = None
    for event in trace:
        if event.what == "wait":
            if last is not None and event.uid == last.uid:
                last = None
        elif event.op in BACKWARD:
            last = event
        elif last is not None and not exclusive(last, event):
            yield last, event, bool(waited & {last.uid, event.uid})
            last = None
