"""Effects of calls: SDK operations, waiting, containers, asyncio, and functions of the script."""

from __future__ import annotations

import ast
from dataclasses import replace

from ....reading.python.nodes import dotted, last_name
from .configuration import configured
from .machine import Machine
from .terms import grown, one_of, part_of
from .values import (
    ADDRESS,
    ELSEWHERE,
    MAKERS,
    OPERATIONS,
    PARAMETERS,
    UNKNOWN,
    Value,
    made_by,
    words,
)

# Kinds of values that are known not to be a client of the SDK.
_NO_CLIENTS = frozenset({
    "object", "import", "module", "class", "function", "method", "const", "text", "list", "tuple",
    "dict", "options", "file", "tokenizer", "renderer", "array", "datum", "model-input",
})  # fmt: skip
_TAKERS = frozenset({"pop", "popleft", "get", "get_nowait", "popitem"})
MAX_PARTS = 16


def call(
    machine: Machine, node: ast.Call, receiver: Value, target: Value, args: list[Value],
    named: dict[str, Value],
) -> Value:  # fmt: skip
    """The value of a call; records its events."""
    if target.kind in ("function", "method"):
        return _local(machine, target, args, named)
    if target.kind == "class":
        return machine.make_object(machine, target, args, named)
    name = last_name(node.func)
    for step in (_sdk, _wait_method, configured, _container, _asyncio, _texts, _makers):
        value = step(machine, node, name, receiver, args, named)
        if value is not None:
            return value
    if name == "result" and receiver.kind == "unknown":
        machine.unresolved_waits.append(node)
    return UNKNOWN


def _local(machine: Machine, target: Value, args: list[Value], named: dict[str, Value]) -> Value:
    if isinstance(target.node, ast.AsyncFunctionDef):
        return Value("coroutine", "", parts=(target, *args), const=named)
    return machine.run_function(machine, target, args, named)


def operation(name: str, receiver: Value) -> str:
    """The SDK operation of a method name on this receiver, or an empty text."""
    known = OPERATIONS.get(name)
    if known is None or receiver.kind in _NO_CLIENTS:
        return ""
    kind = receiver.op if receiver.kind == "client-future" else receiver.kind
    is_known = kind in known.receivers or (kind == "unknown" and "any" in known.receivers)
    return name if is_known else ""


def _sdk(
    machine: Machine, node: ast.Call, name: str, receiver: Value,
    args: list[Value], named: dict[str, Value],
) -> Value | None:  # fmt: skip
    if not isinstance(node.func, ast.Attribute):
        return None
    assumed = receiver.assumed
    if receiver.kind == "unknown":
        if not _fits(name.removesuffix("_async"), len(args), set(named)):
            return None  # another trainer's method of that name
        assumed = f"that {name}() is called on a client of Tinker"
    if name.endswith("_async") and operation(name.removesuffix("_async"), receiver):
        return Value("coroutine", name.removesuffix("_async"), node=node, assumed=assumed)
    op = operation(name, receiver)
    return _submitted(machine, node, op, "plain", assumed) if op else None


def _fits(name: str, given: int, named: set[str]) -> bool:
    """Whether the arguments of a call fit the SDK's method of that name."""
    known = PARAMETERS.get(name)
    return known is None or (given <= len(known) and named <= set(known[given:]))


def _submitted(machine: Machine, node: ast.AST, op: str, style: str, assumed: str) -> Value:
    known = OPERATIONS[op]
    if known.gives not in ("future", "client-future"):
        return Value(known.gives, op, assumed=assumed)
    uid = machine.fresh()
    machine.event("submit", op, uid, node, style, assumed)
    of = op if known.gives == "future" else known.of
    return Value(known.gives, of, uid, node=node, assumed=assumed)


def _wait_method(
    machine: Machine, node: ast.Call, name: str, receiver: Value,
    args: list[Value], named: dict[str, Value],
) -> Value | None:  # fmt: skip
    if name not in ("result", "result_async", "exception"):
        return None
    if name == "result_async" and receiver.kind in ("future", "client-future"):
        return Value("coroutine", "result", parts=(receiver,), node=node)
    if receiver.kind == "task" and receiver.parts:
        return receiver.parts[0]
    if receiver.kind in ("future", "client-future"):
        return waited(machine, node, receiver, "result")
    if receiver.kind == "coroutine":
        return Value("result", receiver.op, assumed=receiver.assumed)
    return None


def waited(machine: Machine, node: ast.AST, future: Value, style: str) -> Value:
    """The value of a future that is awaited here."""
    op = future.op if future.kind == "future" else f"create-{future.op}"
    machine.event("wait", op, future.uid, node, style, future.assumed)
    if future.kind == "client-future":
        return Value(future.op, assumed=future.assumed)
    if future.op == "get_server_capabilities":
        return Value("capabilities", assumed=future.assumed)
    return Value("result", future.op, assumed=future.assumed)


def await_value(machine: Machine, node: ast.AST, value: Value, style: str) -> Value:
    """The value of ``await value``."""
    if value.kind in ("future", "client-future"):
        return waited(machine, node, value, style)
    if value.kind == "task" and value.parts:
        return value.parts[0]
    if value.kind == "coroutine-done":
        return value.parts[0]
    if value.kind in ("list", "tuple"):
        parts = tuple(await_value(machine, node, part, style) for part in value.parts)
        return Value(value.kind, parts=parts)
    if value.kind != "coroutine":
        return UNKNOWN
    if value.op == "result" and value.parts:
        return waited(machine, node, value.parts[0], style)
    if value.op:
        made = _submitted(machine, value.node or node, value.op, "async-call", value.assumed)
        if made.kind == "client-future":
            return Value(made.op, assumed=made.assumed)
        if made.kind == "future" and value.op in words("direct-when-awaited"):
            return waited(machine, node, made, style)
        return made
    return machine.run_function(machine, value.parts[0], list(value.parts[1:]), value.const or {})


def concurrent(machine: Machine, node: ast.AST, value: Value) -> Value:
    """Code that runs concurrently with the caller: its submissions count, its order does not."""
    if value.kind in ("list", "tuple"):
        return Value(value.kind, parts=tuple(concurrent(machine, node, p) for p in value.parts))
    if value.kind == "coroutine" and not value.op:
        machine.detached_functions.add(id(value.parts[0].node))
        with machine.within(detached=machine.detached + 1):
            return await_value(machine, node, value, "gather")
    return await_value(machine, node, value, "gather")


def _asyncio(
    machine: Machine, node: ast.Call, name: str, receiver: Value,
    args: list[Value], named: dict[str, Value],
) -> Value | None:  # fmt: skip
    if name in ("run", "run_until_complete", "wait_for") and args:
        return await_value(machine, node, args[0], "await")
    if name in ("gather", "wait") and args:
        parts = args[0].parts if len(args) == 1 and args[0].kind in ("list", "tuple") else args
        # All are on their way before the first is awaited.
        done = [concurrent(machine, node, _submit_first(machine, p, node)) for p in parts]
        return Value("coroutine-done", parts=(Value("list", parts=tuple(done)),))
    if name == "as_completed" and args:
        return _as_completed(machine, node, args[0])
    if name in words("tasks") and args:
        return Value("task", parts=(_task(machine, node, args[0]),))
    if name in words("spawners"):
        for value in (*args, *named.values()):
            if value.kind in ("function", "method"):
                machine.detached_functions.add(id(value.node))
    return None


def _as_completed(machine: Machine, node: ast.AST, given: Value) -> Value:
    """Coroutines that run side by side, each yielded when it is done; other values are
    unchanged."""
    parts = tuple(
        Value("task", parts=(concurrent(machine, node, part),)) if part.kind == "coroutine"
        else part for part in given.parts
    )  # fmt: skip
    return replace(given, parts=parts)


def _submit_first(machine: Machine, value: Value, node: ast.AST) -> Value:
    """Submit an SDK coroutine in ``gather`` at once; other values are unchanged."""
    if value.kind == "coroutine" and value.op and value.op != "result":
        submitted = await_value(machine, node, value, "gather")
        return Value("task", parts=(submitted,))
    return value


def _task(machine: Machine, node: ast.AST, value: Value) -> Value:
    if value.kind == "coroutine" and value.op and value.op != "result":
        return await_value(machine, node, value, "gather")
    if value.kind == "coroutine" and value.op == "result":
        return value.parts[0]
    return concurrent(machine, node, value) if value.kind == "coroutine" else value


def _container(
    machine: Machine, node: ast.Call, name: str, receiver: Value,
    args: list[Value], named: dict[str, Value],
) -> Value | None:  # fmt: skip
    if name in words("pass-through"):
        # The first one that `cast` is given is the type.
        return args[-1 if name == "cast" else 0] if args else Value("list")
    if name == "setdefault" and len(args) == 2 and args[0].const == ADDRESS:
        machine.address = args[1]
    if name == "enumerate" and args:
        first = _first(machine, args[0])
        return Value("list", parts=(Value("tuple", parts=(UNKNOWN, first)),))
    if name == "zip":
        firsts = tuple(_first(machine, a) for a in args)
        return Value("list", parts=(Value("tuple", parts=firsts),))
    owner = node.func.value if isinstance(node.func, ast.Attribute) else None
    if name in words("adders") and args and receiver.kind in ("list", "dict"):
        added = args[-1].parts if name == "extend" else (args[-1],)
        parts = (*receiver.parts, *added)[-MAX_PARTS:]
        _store(machine, owner, Value("list", parts=parts, term=grown(machine, receiver, args)))
        return UNKNOWN
    if name in _TAKERS and receiver.kind == "list" and receiver.parts:
        at = -1 if name == "pop" and not args else 0
        rest = receiver.parts[:-1] if at else receiver.parts[1:]
        term = grown(machine, receiver, ())
        _store(machine, owner, Value("list", parts=rest or receiver.parts, term=term))
        return receiver.parts[at]
    if name == "values" and receiver.kind == "dict":
        return Value("list", parts=receiver.parts)
    if name == "items" and receiver.kind == "dict":
        pairs = (Value("tuple", parts=(UNKNOWN, part)) for part in receiver.parts)
        return Value("list", parts=tuple(pairs))
    return None


def _store(machine: Machine, owner: ast.AST | None, value: Value) -> None:
    if isinstance(owner, ast.Name):
        frame = machine.frame
        while owner.id not in frame.names and frame.parent is not None:
            frame = frame.parent
        frame.names[owner.id] = value
    elif isinstance(owner, ast.Attribute):
        base = machine.value(owner.value)
        if base.kind == "object":
            machine.attributes[(base.op, owner.attr)] = value


def _first(machine: Machine, value: Value) -> Value:
    if value.kind in ("list", "tuple") and value.parts:
        return one_of(machine, value, value.parts[0])
    return part_of(machine, "item", value)


def _texts(
    machine: Machine, node: ast.Call, name: str, receiver: Value,
    args: list[Value], named: dict[str, Value],
) -> Value | None:  # fmt: skip
    kinds = {value.kind for value in (receiver, *args, *named.values())}
    if name in ("decode", "parse_response", "batch_decode"):
        text = Value("sampled-text" if "sampled-tokens" in kinds else "text")
        return Value("tuple", parts=(text, UNKNOWN)) if name == "parse_response" else text
    if name == "encode" or (receiver.kind == "unknown" and name in ("tokenizer", "tok")):
        return Value("reencoded-ids" if "sampled-text" in kinds else "ids")
    if name == "apply_chat_template":
        return Value("template")
    if name in words("text-methods") and "sampled-text" in kinds:
        return Value("sampled-text")
    if name == "from_ints":
        return Value("model-input", "reencoded" if "reencoded-ids" in kinds else "")
    return None


def _makers(
    machine: Machine, node: ast.Call, name: str, receiver: Value,
    args: list[Value], named: dict[str, Value],
) -> Value | None:  # fmt: skip
    path = dotted(node.func)
    if path in ("np.array", "numpy.array", "torch.tensor", "torch.LongTensor"):
        return Value("array")
    target = machine.value(node.func)
    if target.kind == "import":
        kind = made_by(target.op)
        address = named.get("base_url") or machine.address
        if kind == "service" and address is not None and _is_elsewhere(address):
            return Value(kind, ELSEWHERE, const=address.const)
        return Value(kind) if kind else None
    # ``AutoTokenizer.from_pretrained`` of a name that came from nowhere, as in a part of a script.
    made = (MAKERS[part] for part in reversed(path.split(".")[-2:]) if part in MAKERS)
    kind = next(made, "")
    if not kind or target.kind != "unknown":
        return None
    return Value(kind, assumed=f"that {path[:60]} is that of Tinker")


def _is_elsewhere(address: Value) -> bool:
    """Whether a client talks to another service than Tinker's, or may do so."""
    if address.kind == "const" and address.const is None:
        return False
    return not (isinstance(address.const, str) and "thinkingmachines" in address.const)
