"""How a script uses the training loop: steps, results, logging, saving, sampling, processes."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...reading.python.nodes import (
    COMPREHENSIONS,
    FUNCTIONS,
    LOOPS,
    argument,
    constant,
    dotted,
    keyword,
    last_name,
)
from .findings import Finding, Script, at_first
from .loops import TrainingLoop, calls_in, client_escapes, is_few, is_toy
from .reading.values import BACKWARD, words
from .running import callers, started_together

_COOKBOOK = re.compile(r"tinker_cookbook\.(supervised|rl)\.train\.(main|Config)\Z")
_LOGS = re.compile(
    r"print|log|info|debug|warn|write|report|track|record|append|postfix|description|echo|metric"
    r"|progress|update|dump|add_scalar|emit|set_"
)
_IN_POOLS = frozenset({"map", "starmap", "apply_async", "submit"})
_SAVES = re.compile(r"save|checkpoint|ckpt")
_SAMPLES = re.compile(r"sampl|eval|generat|rollout|valid|test")


def find_usage(script: Script, loop: TrainingLoop | None) -> Iterator[Finding]:
    """The usage patterns of a script."""
    yield from _kind_of_loop(script, loop)
    yield from _dropped(script)
    yield from _blocking(script)
    yield from _forked(script)
    if loop is None:
        return
    escapes = client_escapes(script, loop.outer_nodes)
    makes = any(e.op.startswith("create_") for e in script.machine.events if e.what == "submit")
    if makes and script.whole and not escapes:
        yield from _optimizer(script, loop)
        yield from _looked_after(script, loop)
    yield from _batches(script, loop)


def _kind_of_loop(script: Script, loop: TrainingLoop | None) -> Iterator[Finding]:
    cookbook = next((c for c in script.calls() if _is_cookbook(script, c)), None)
    if cookbook is not None:
        yield Finding("cookbook-train-loop", cookbook)
    elif script.complete and loop is not None:
        yield Finding("cookbook-train-loop", None)
    if loop is not None:
        yield Finding("custom-training-loop", loop.step)
    elif script.complete and cookbook is not None and "forward_backward" not in script.words:
        yield Finding("custom-training-loop", None)


def _is_cookbook(script: Script, call: ast.Call) -> bool:
    target = script.machine.value(call.func)
    return target.kind == "import" and bool(_COOKBOOK.match(target.op))


def _optimizer(script: Script, loop: TrainingLoop) -> Iterator[Finding]:
    if any(event.op == "optim_step" for event in script.machine.events):
        if script.complete:
            yield Finding("no-optim-step", None)
    elif not {"optim_step", "optim_step_async"} & script.words:
        backward = next(e for e in loop.events if e.op in BACKWARD)
        if not any(is_few(script, each) for each in backward.loops):  # else it compares gradients
            saves = any(event.op.startswith("save_") for event in script.machine.events)
            assumed = "" if saves else "that it is to train, and does not measure"
            yield Finding("no-optim-step", backward.node, assumed=assumed)


def _dropped(script: Script) -> Iterator[Finding]:
    """forward_backward whose future is never used, so that neither loss nor error is seen."""
    calls = [call for call in script.calls() if _is_backward(script, call)]
    read = _names_read(script) if calls else set()
    yield from at_first("futures-dropped", (c for c in calls if _is_dropped(script, c, read)))
    if calls and script.complete:
        yield Finding("futures-dropped", None)


def _is_backward(script: Script, call: ast.Call) -> bool:
    value = script.machine.value(call)
    return value.kind in ("future", "coroutine") and value.op in BACKWARD


def _names_read(script: Script) -> set[tuple[int, str]]:
    """Names that are read, with each function around (0 for the module)."""
    found: set[tuple[int, str]] = set()
    for node in script.all(ast.Name):
        if isinstance(node.ctx, ast.Load):
            scopes = (id(each) for each in script.above(node) if isinstance(each, FUNCTIONS))
            found.update((scope, node.id) for scope in (0, *scopes))
    return found


def _is_dropped(script: Script, call: ast.Call, read: set[tuple[int, str]]) -> bool:
    above = script.parents.get(id(call))
    if isinstance(above, ast.Await):
        value = script.machine.value(above)
        if value.kind != "future":  # the result itself was awaited, which shows an error
            return False
        above = script.parents.get(id(above))
    if isinstance(above, ast.Expr):
        return True
    if not (isinstance(above, ast.Assign) and isinstance(above.targets[0], ast.Name)):
        return False
    scope = script.function_of(call)
    return (id(scope) if scope is not None else 0, above.targets[0].id) not in read


def _blocking(script: Script) -> Iterator[Finding]:
    """``.result()`` inside async code, on a future that was not awaited before. It stops others
    if other coroutines run at the same time."""
    done: set[int] = set()
    found: list[ast.AST] = []
    for event in script.machine.events:
        if event.what != "wait":
            continue
        blocks = event.in_async and event.sure and event.style == "result"
        if blocks and event.uid not in done and not _is_done(script, event.node):
            found.append(event.node)
        done.add(event.uid)
    if found:
        shared = started_together(script)
        among = next((node for node in found if callers(script, {id(node)}) & shared), None)
        assumed = "" if among is not None else "that other coroutines run at the same time"
        yield Finding("sync-call-in-async", among or found[0], assumed=assumed)


def _is_done(script: Script, node: ast.AST) -> bool:
    """Whether code around tests whether futures are done: then their results are available."""
    scope = script.function_of(node)
    calls = script.all(ast.Call, scope) if scope is not None else ()
    return any(last_name(call.func) == "done" for call in calls)


def _forked(script: Script) -> Iterator[Finding]:
    """A client that was made before a fork and is used by the child."""
    if {"spawn", "forkserver"} & script.words:
        return
    machine, pools = script.machine, _process_pools(script)
    for call in script.calls_of({"fork", "Process", *_IN_POOLS}):
        name = last_name(call.func)
        if dotted(call.func) == "os.fork":
            clients = (c for c in script.calls() if machine.kind(c) in ("training", "sampling"))
            if any(client.lineno < call.lineno for client in clients):
                yield Finding("sdk-client-in-forked-process", call)
            return
        owner = dotted(getattr(call.func, "value", None))
        if name != "Process" and not (name in _IN_POOLS and owner in pools):
            continue
        given = [*call.args, *(k.value for k in call.keywords)]
        flat = [n for g in given for n in ast.walk(g)]
        functions = [machine.value(n).node for n in flat if machine.kind(n) == "function"]
        shared = any(machine.kind(n) in ("training", "sampling", "service") for n in flat)
        if shared or any(_uses_client(script, function) for function in functions):
            yield Finding("sdk-client-in-forked-process", call)


def _process_pools(script: Script) -> set[str]:
    """The names of pools of processes: the first binding of a name counts."""
    made: dict[str, str] = {}
    named = any("Pool" in word for word in script.words)
    for node in script.all((ast.withitem, ast.Assign)) if named else ():
        if isinstance(node, ast.Assign):
            value, target = node.value, dotted(node.targets[0])
        else:
            assert isinstance(node, ast.withitem)
            value, target = node.context_expr, dotted(node.optional_vars)
        if target and isinstance(value, ast.Call):
            made.setdefault(target, dotted(value.func))
    return {name for name, of in made.items() if of.endswith("ProcessPoolExecutor") or (
        of.endswith("Pool") and "dummy" not in of and "Thread" not in of)}  # fmt: skip


def _uses_client(script: Script, function: ast.AST | None) -> bool:
    """Whether a function uses a client of the module that it did not make itself."""
    if function is None:
        return False
    made = {n.id for n in ast.walk(function) if isinstance(n, ast.Name)
            and isinstance(n.ctx, ast.Store)}  # fmt: skip
    return any(
        isinstance(n, ast.Name) and n.id not in made and n.id in script.machine.module.names
        and script.machine.module.names[n.id].kind in ("training", "sampling", "service")
        for n in ast.walk(function)
    )  # fmt: skip


def _looked_after(script: Script, loop: TrainingLoop) -> Iterator[Finding]:
    """Loops that do not log, save or sample. Small trial loops need none of that."""
    calls = calls_in(loop.outer_nodes)
    names = [last_name(call.func) for call in calls]
    hidden = any(
        script.machine.kind(call.func) in ("unknown", "import") and _gets_results(script, call)
        for call in calls
    )
    shown = any(_LOGS.search(name) for name in names) or "tqdm" in script.words
    if not shown and not hidden and not _is_written(loop):
        yield Finding("no-progress-log", loop.step)
    if is_toy(script, loop.outer) and is_toy(script, loop.step):
        return
    if not any(_SAVES.search(name) for name in names):
        yield Finding("no-save-in-loop", loop.step)
    if not any(_SAMPLES.search(name) for name in names):
        yield Finding("no-sampling-in-loop", loop.step)


def _gets_results(script: Script, call: ast.Call) -> bool:
    given = [*call.args, *(k.value for k in call.keywords)]
    return any(script.machine.kind(n) in ("result", "result-field", "future")
               for g in given for n in ast.walk(g))  # fmt: skip


def _is_written(loop: TrainingLoop) -> bool:
    """Whether something is stored under a key or yielded: a record for other code."""
    return any(
        isinstance(n, (ast.Yield, ast.Return)) or (isinstance(n, ast.Subscript)
                                                   and isinstance(n.ctx, ast.Store))
        for n in loop.outer_nodes
    )  # fmt: skip


def _batches(script: Script, loop: TrainingLoop) -> Iterator[Finding]:
    backward = [e for e in loop.events if e.what == "submit" and e.op in BACKWARD]
    call = next((e.node for e in backward if isinstance(e.node, ast.Call)), None)
    data = argument(call, "data", 0) if call is not None else None
    direct = bool(backward) and backward[0].loops and backward[0].loops[-1] is loop.step
    optim = any(e.op == "optim_step" for e in loop.events)
    one = data.elts if isinstance(data, ast.List) and len(data.elts) == 1 else []
    if direct and optim and any(not isinstance(datum, ast.Starred) for datum in one):
        yield Finding("single-datum-step", call)
    if isinstance(data, ast.Name) and call is not None:
        yield from _empty(script, call, data.id)
    yield from _one_prompt(script, loop)
    yield from _order_of_examples(script, loop)


def _empty(script: Script, call: ast.Call, name: str) -> Iterator[Finding]:
    """A filtered list that is passed to forward_backward without a check that it is not empty."""
    scope = script.function_of(call) or script.tree
    filtered = tested = False
    for node in ast.walk(scope):
        if isinstance(node, ast.Assign) and any(dotted(t) == name for t in node.targets):
            value = node.value
            filtered |= isinstance(value, ast.ListComp) and any(g.ifs for g in value.generators)
        tests = [node.test] if isinstance(node, (ast.If, ast.While, ast.Assert, ast.IfExp)) else []
        tested |= any(isinstance(n, ast.Name) and n.id == name for t in tests for n in ast.walk(t))
    if filtered and not tested:
        yield Finding("empty-batch-submitted", call)


def _one_prompt(script: Script, loop: TrainingLoop) -> Iterator[Finding]:
    """Sampling and training in turns, one prompt each, with nothing else in flight."""
    backward = next((e for e in loop.events if e.op in BACKWARD), None)
    for event in loop.events:
        if event.what != "submit" or event.op != "sample" or backward is None or event.detached:
            continue
        same = event.loops == backward.loops and backward.path[: len(event.path)] == event.path
        around = script.loops_of(event.node)
        alone = not any(isinstance(a, COMPREHENSIONS) for a in around)
        inner = [a for a in around if isinstance(a, LOOPS)]
        if same and alone and (not inner or inner[0] is loop.step) and event.uid < backward.uid:
            yield Finding("one-prompt-per-step", event.node)


def _order_of_examples(script: Script, loop: TrainingLoop) -> Iterator[Finding]:
    """Several epochs over the same list in the same order."""
    outer = loop.outer
    if outer is loop.step or not isinstance(outer, ast.For) or not script.complete:
        return
    parts = (*ast.walk(outer.target), *ast.walk(outer.iter))
    epochs = any(isinstance(n, ast.Name) and "epoch" in n.id.lower() for n in parts)
    if not epochs or words("shuffles") & script.words or _is_seeded(script):
        return
    counts = [constant(a) for a in getattr(outer.iter, "args", [])]
    if counts[-1:] != [1]:
        yield Finding("no-shuffle", outer)


def _is_seeded(script: Script) -> bool:
    """Whether some call is given ``shuffle=`` or a seed, so that others shuffle."""
    return any(
        keyword(c, "shuffle") is not None or keyword(c, "seed") is not None
        for c in script.calls()
        if last_name(c.func) != "create_lora_training_client"
    )
