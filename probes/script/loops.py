"""The training loops of a script, and heavy work inside them.

Sizes cannot be seen in code. Work counts if it is repeated inside a step (a loop or a
comprehension within the loop), or if its kind is heavy by itself.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from math import prod
from typing import NamedTuple

from ...reading.python.nodes import COMPREHENSIONS, FUNCTIONS, constant, dotted, keyword, last_name
from .findings import Finding, Script
from .reading.machine import Machine
from .reading.statements import own_nodes
from .reading.terms import Term, Trace
from .reading.values import BACKWARD, Event, words
from .sequences import is_call, length

_LARGE = re.compile(
    r"all_|batch|data|images?\b|frames|features|embeddings|matrix|pixels|audio|wave|hidden|corpus"
)
_SMALL = re.compile(r"reward|adv|loss|score|logprob|lp|weight|metric|nll|target|mask|token|ids")


def find_loop_work(script: Script, loop: TrainingLoop | None) -> Iterator[Finding]:
    """The patterns of work in the loop, in the order of the text."""
    if loop is None:
        return
    calls = calls_in(loop.nodes)
    on_gpu = any(_on_gpu(call) for call in calls) or "device_map" in script.words
    repeated = _repeated_calls(script, loop, calls)
    for call in calls:
        pattern = _kind_of_work(script, call, id(call) in repeated, on_gpu)
        if pattern:
            yield Finding(pattern, call)


def _kind_of_work(script: Script, call: ast.Call, repeated: bool, on_gpu: bool) -> str:
    path, name = dotted(call.func), last_name(call.func)
    root = path.partition(".")[0]
    if path in words("conversions") or (name == "tolist" and not call.args):
        return "list-tensor-conversion-in-loop" if _is_large(call) else ""
    if path in words("json") or (name in words("json") and path != name):
        return "json-or-pickle-in-loop" if repeated else ""
    if path in ("json.load", "pickle.load"):
        return "file-read-in-loop"
    if root == "re" and name in words("regex"):
        return "heavy-regex-in-loop" if repeated else ""
    if root in ("np", "numpy") and name in words("numpy"):
        return "numpy-in-loop"
    if name in words("torch") and root in ("torch", "F", "nn"):
        return "torch-gpu-in-loop" if on_gpu else "torch-cpu-in-loop"
    if _on_gpu(call):
        return "torch-gpu-in-loop"
    if _tokenizes(script, call):
        return "tokenizing-in-loop" if repeated or name == "batch_encode_plus" else ""
    return "file-read-in-loop" if name in words("readers") and _reads(call, path, name) else ""


def _repeated_calls(script: Script, loop: TrainingLoop, calls: list[ast.Call]) -> set[int]:
    """The ids of the calls that run several times within one step."""
    around = {id(node) for node in (loop.step, loop.outer, *script.above(loop.step))}
    direct = {id(c) for c in calls if any(id(a) not in around for a in script.loops_of(c))}
    # A function that is called in an inner loop repeats everything in it.
    functions = {last_name(c.func) for c in calls if id(c) in direct}
    for call in calls:
        function = script.function_of(call)
        if isinstance(function, FUNCTIONS) and function.name in functions:
            direct.add(id(call))
    return direct


def _is_large(call: ast.Call) -> bool:
    """Whether a conversion takes a whole batch, data set, picture or the like. Tokens, rewards and
    log-probabilities of single examples, which every loop converts, are small."""
    given = call.args[0] if call.args else getattr(call.func, "value", None)
    if given is None:
        return False
    nodes = list(ast.walk(given))
    names = [last_name(n) for n in nodes if isinstance(n, (ast.Name, ast.Attribute))]
    if any(_SMALL.search(name) for name in names):
        return False
    return any(isinstance(n, COMPREHENSIONS) for n in nodes) or any(map(_LARGE.match, names))


def _on_gpu(call: ast.Call) -> bool:
    name = last_name(call.func)
    if name == "cuda" and isinstance(call.func, ast.Attribute):
        return dotted(call.func) != "torch.cuda"
    given = [*call.args, *(k.value for k in call.keywords)]
    return name in ("to", "device") and any(
        str(constant(a) or "").startswith("cuda") for a in given
    )


def _tokenizes(script: Script, call: ast.Call) -> bool:
    name = last_name(call.func)
    if name in ("build_supervised_example", "batch_encode_plus", "conversation_to_datum"):
        return True
    if isinstance(call.func, ast.Name):
        return script.machine.kind(call.func) == "tokenizer"
    receiver = script.machine.kind(call.func.value) if isinstance(call.func, ast.Attribute) else ""
    return name in ("encode", "apply_chat_template") and receiver in ("tokenizer", "unknown")


def _reads(call: ast.Call, path: str, name: str) -> bool:
    if name != "open":
        return True
    if path not in ("open", "gzip.open", "io.open"):
        return False
    mode = keyword(call, "mode") or (call.args[1] if len(call.args) > 1 else None)
    return mode is None or "r" in str(constant(mode) or "")


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
    """Whether a loop is written to run two or three times, for example over things that are
    compared."""
    return is_toy(script, loop, _FEW)


def is_toy(script: Script, loop: ast.AST, limit: int = _TOY) -> bool:
    """Whether a loop is written to run only a few times, as in a first trial."""
    count = _count(script, loop)
    return count is not None and 0 < count <= limit  # an empty list is another one


def are_toys(script: Script, loops: Iterable[ast.AST]) -> bool:
    """Whether the work that several loops repeat together is done a few times only."""
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
    """The largest number of passes; None if the text does not show it."""
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
