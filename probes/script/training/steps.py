"""Gradients, optimizer steps and epochs: their order, gradients left over, epochs that repeat."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import pairwise

from ....reading.python.nodes import constant, last_name
from ..findings import Finding, Script
from ..loops import client_escapes, training_loop
from ..reading.machine import exclusive
from ..reading.terms import NOTHING, Called, Term
from ..reading.values import BACKWARD, TRAINING_STEPS, Event
from ..sequences import is_call

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
    """``shuffle(order)`` if ``order`` is made in the same epoch: a list that is shuffled on and
    on has another order each time."""
    given = call.node.args[0] if call.name == "shuffle" and call.node.args else None
    if not isinstance(given, ast.Name):
        return False
    scope = script.function_of(call.node)
    around = script.loops_of(call.node)
    nodes = script.below(around[-1]) if around else script.below(scope) if scope else ()
    return any(isinstance(n, ast.Name) and n.id == given.id and isinstance(n.ctx, ast.Store)
               for n in nodes)  # fmt: skip


_EQUAL = (ast.Eq, ast.GtE)


def find_accumulation(script: Script) -> Iterator[Finding]:
    """The patterns of accumulated gradients."""
    events = [e for e in script.machine.events if e.what == "submit"]
    steps = [e for e in events if e.op == "optim_step" and e.loops]
    backward = [e for e in events if e.op in BACKWARD and e.loops]
    for step in steps[:1] if len({e.node for e in steps}) == 1 else ():
        yield from _incomplete(script, step, backward, events)
    if steps and backward and script.whole:
        yield from _not_read(script, steps[0])


def _incomplete(
    script: Script, step: Event, backward: list[Event], events: list[Event]
) -> Iterator[Finding]:
    """A loop that steps after every so many batches, without a step after it for those that
    remain."""
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
    """The number of batches after which a test is true, if known; None for other tests, such as one
    that is also true for the last batch."""
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
    """A loop whose first action is a step, before any gradient."""
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
    """A forward_backward after the step of the same pass, whose gradient goes into the step of the
    next pass together with that of its batch: an evaluation."""
    own = {event.node for event in _closed(trace)}
    steps = [number for number, event in enumerate(trace) if event.op == "optim_step"]
    if not own or not steps:
        return
    last = {event.node: number for number, event in enumerate(trace)}
    for number, event in enumerate(trace[1:], 1):
        # After the step of the last pass: no step follows there.
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
    """A run that resumes from a checkpoint, with a fresh optimizer."""
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
