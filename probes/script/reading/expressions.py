"""Values of expressions: names, attributes, containers, comprehensions."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from ....reading.python.nodes import FUNCTIONS, constant, folded
from .calls import await_value, call
from .guards import without
from .machine import Frame, Machine, guessed
from .terms import one_of, part_of, traced
from .values import ADDRESS, PLAIN, UNKNOWN, Value, either

MAX_BASES = 8
_RESULT_LISTS = {"sample.sequences": "sequence"}


def evaluate(machine: Machine, node: ast.AST) -> Value:
    """The value of an expression; records its events."""
    machine.visit()
    handler = _HANDLERS.get(type(node))
    if handler is None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                evaluate(machine, child)
        return machine.note(node, traced(machine, node, UNKNOWN))
    return machine.note(node, traced(machine, node, handler(machine, node)))


def attribute(machine: Machine, base: Value, name: str) -> Value:
    """The attribute ``name`` of a value."""
    if base.kind == "import":
        return Value("import", f"{base.op}.{name}")
    if base.kind == "module":
        return imported(machine, base.op, base.uid, name)
    if base.kind == "options":
        return machine.options.get(name, UNKNOWN)
    if base.kind == "dict" and isinstance(base.const, tuple) and name in base.const:
        return base.parts[base.const.index(name)]  # as configurations of OmegaConf are read
    if base.kind in ("object", "class"):
        return _member(machine, base, name)
    if base.kind in ("result", "sequence"):
        field = f"{base.op or base.kind}.{name}"
        if field in _RESULT_LISTS:
            part = Value(_RESULT_LISTS[field], assumed=base.assumed)
            return Value("list", parts=(part,), assumed=base.assumed)
        if field.endswith(".tokens") and base.kind == "sequence":
            return Value("sampled-tokens", assumed=base.assumed)
        return Value("result-field", field, assumed=base.assumed)
    return guessed(name)


def imported(machine: Machine, module: str, level: int, name: str) -> Value:
    """The value of ``from module import name``."""
    frame = machine.linked(module, level)
    path = f"{module}.{name}" if module else name
    if frame is None:
        return Value("import", f"{'.' * level}{path}")
    if name in frame.names:
        return frame.names[name]
    return Value("module", path, level) if machine.linked(path, level) else UNKNOWN


def _member(machine: Machine, base: Value, name: str) -> Value:
    for owner in (base.op, *lineage(machine, base.op)):
        stored = machine.attributes.get((owner, name))
        if stored is not None:
            return stored
    method = find_method(machine, base, name)
    if method is None:
        return guessed(name)
    bound = Value("method", name, parts=(base,), node=method)
    if any(isinstance(d, ast.Name) and "property" in d.id for d in method.decorator_list):
        return machine.run_function(machine, bound, [], {})
    return bound


def find_method(
    machine: Machine, base: Value, name: str
) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    """The method of a class of the script, also of its bases in the script."""
    for owner in lineage(machine, base.op):
        for statement in getattr(machine.classes[owner].node, "body", ()):
            if isinstance(statement, FUNCTIONS) and statement.name == name:
                return statement
    return None


def lineage(machine: Machine, name: str) -> Iterator[str]:
    """The keys of a class of the project and of its bases in it, nearest first."""
    waiting, seen = [name], 0
    while waiting and seen < MAX_BASES:
        key = waiting.pop(0)
        owner = machine.classes.get(key)
        seen += 1
        if owner is None or not isinstance(owner.node, ast.ClassDef):
            continue
        yield key
        home = machine.homes[id(owner.node)]
        bases = (home.get(b.id) for b in owner.node.bases if isinstance(b, ast.Name))
        waiting += [base.op for base in bases if base.kind == "class"]


def _sequence(machine: Machine, node: Any) -> Value:
    kind = "tuple" if isinstance(node, ast.Tuple) else "list"
    return Value(kind, parts=tuple(evaluate(machine, part) for part in node.elts))


def _dict(machine: Machine, node: Any) -> Value:
    keys = tuple(constant(key) for key in node.keys)
    for key in node.keys:
        if key is not None:
            evaluate(machine, key)
    parts = tuple(evaluate(machine, value) for value in node.values)
    return Value("dict", parts=parts, const=keys)


def _comprehension(machine: Machine, node: Any) -> Value:
    frame = Frame(machine.frame, machine.frame.function)
    with machine.within(frame=frame, each=(*machine.each, node)):
        for generator in node.generators:
            items = evaluate(machine, generator.iter)
            assign(machine, generator.target, element(machine, items))
            for test in generator.ifs:
                evaluate(machine, test)
        if isinstance(node, ast.DictComp):
            evaluate(machine, node.key)
            return Value("list", parts=(evaluate(machine, node.value),))
        return Value("list", parts=(evaluate(machine, node.elt),))


def element(machine: Machine, value: Value, last: bool = False) -> Value:
    """The value that iterating over a value yields: its first (or last) element."""
    if value.kind in ("list", "tuple", "dict") and value.parts:
        return one_of(machine, value, value.parts[-1 if last else 0])
    return part_of(machine, "item", value)


def _either(machine: Machine, node: Any) -> Value:
    evaluate(machine, node.test)
    branch, names = machine.fresh(), machine.frame.names
    with machine.arm(branch, 0):
        machine.frame.names = without(names, node.test, 0)
        first = evaluate(machine, node.body)
    with machine.arm(branch, 1):
        machine.frame.names = without(names, node.test, 1)
        second = evaluate(machine, node.orelse)
    machine.frame.names = names
    kinds = {first.kind, second.kind}
    if kinds <= PLAIN and kinds != {"unknown"}:
        return either(first, second)
    chosen = first if first.kind not in ("unknown", "const") else second
    return either(second if chosen is first else first, chosen) if first.kind != second.kind else (
        chosen)  # fmt: skip


def _bool(machine: Machine, node: Any) -> Value:
    values = [evaluate(machine, part) for part in node.values]
    if isinstance(node.op, ast.Or) and all(v.kind in PLAIN for v in values):
        return _first_true(values)
    return next((v for v in values if v.kind not in ("unknown", "const")), values[-1])


def _first_true(values: list[Value]) -> Value:
    """The value of ``a or b``: the first true one; only possibly, if an unknown value precedes
    it."""
    told = [v for v in values if v.const or v.const is None]
    first = next((v for v in told if v.const), values[-1])
    return first if told[:1] == [first] else either(UNKNOWN, first)


def _binary(machine: Machine, node: Any) -> Value:
    left, right = evaluate(machine, node.left), evaluate(machine, node.right)
    if left.kind == right.kind == "list":
        return Value("list", parts=left.parts + right.parts)
    for kind in ("sampled-text", "reencoded-ids", "sampled-tokens", "text"):
        if kind in (left.kind, right.kind):
            return Value(kind)
    return Value("const", const=folded(node.op, left.const, right.const))


def _joined(machine: Machine, node: Any) -> Value:
    kinds = {evaluate(machine, part).kind for part in node.values}
    return Value("sampled-text" if "sampled-text" in kinds else "text")


def _subscript(machine: Machine, node: Any) -> Value:
    base, index = evaluate(machine, node.value), evaluate(machine, node.slice)
    if base.kind == "dict" and isinstance(base.const, tuple) and index.const in base.const:
        return base.parts[base.const.index(index.const)]
    if isinstance(node.slice, ast.Slice):
        return base
    if base.kind in ("list", "tuple") and base.parts:
        at = index.const if isinstance(index.const, int) else 0
        return base.parts[at] if -len(base.parts) <= at < len(base.parts) else base.parts[-1]
    return UNKNOWN


def _named(machine: Machine, node: Any) -> Value:
    value = evaluate(machine, node.value)
    assign(machine, node.target, value)
    return value


def _lambda(machine: Machine, node: Any) -> Value:
    # It runs at some other time, if at all: its effects are read, but not put in order.
    frame = Frame(machine.frame, None)
    for parameter in (*node.args.posonlyargs, *node.args.args):
        frame.names[parameter.arg] = guessed(parameter.arg)
    with machine.within(frame=frame), machine.uncertain():
        evaluate(machine, node.body)
    return UNKNOWN


def _yield(machine: Machine, node: Any) -> Value:
    if node.value is not None:
        machine.frame.returned.append(Value("list", parts=(evaluate(machine, node.value),)))
    return UNKNOWN


def _call(machine: Machine, node: Any) -> Value:
    receiver = UNKNOWN
    if isinstance(node.func, ast.Attribute):
        receiver = evaluate(machine, node.func.value)
        target = machine.note(node.func, attribute(machine, receiver, node.func.attr))
    else:
        target = evaluate(machine, node.func)
    arguments = [evaluate(machine, argument) for argument in node.args]
    named = {}
    for keyword in node.keywords:
        value = evaluate(machine, keyword.value)
        if keyword.arg:
            named[keyword.arg] = value
    return call(machine, node, receiver, target, arguments, named)


def assign(machine: Machine, target: ast.AST, value: Value) -> None:
    """Bind ``value`` to the target of an assignment or a loop."""
    names = machine.frame.names
    if isinstance(target, ast.Name):
        old = names[target.id].term if target.id in names else None
        names[target.id] = known(value, target.id)
        machine.frame.bound[target.id] = (machine.path, old)
        machine.note(target, names[target.id])
    elif isinstance(target, (ast.Tuple, ast.List)):
        for index, part in enumerate(target.elts):
            assign(machine, part, _part(machine, value, index, len(target.elts)))
    elif isinstance(target, ast.Starred):
        assign(machine, target.value, value)
    elif isinstance(target, ast.Attribute):
        base = evaluate(machine, target.value)
        owner = base.op if base.kind in ("object", "class") else ""
        if owner and (value.kind != "unknown" or (owner, target.attr) not in machine.attributes):
            machine.attributes[(owner, target.attr)] = known(value, target.attr)
    elif isinstance(target, ast.Subscript):
        evaluate(machine, target.slice)
        base = evaluate(machine, target.value)
        if machine.value(target.slice).const == ADDRESS:
            machine.address = value
        if isinstance(target.value, ast.Name) and base.kind in ("dict", "list"):
            keys = base.const if isinstance(base.const, tuple) else ()
            key = machine.value(target.slice).const
            names[target.value.id] = Value(base.kind, parts=(*base.parts, value)[-16:],
                                           const=(*keys, key)[-16:])  # fmt: skip


def known(value: Value, name: str) -> Value:
    """A value, or the value that its name suggests if it is unknown."""
    return value if value.kind != "unknown" else replace(guessed(name), term=value.term)


def _part(machine: Machine, value: Value, index: int, count: int) -> Value:
    if value.kind in ("tuple", "list") and len(value.parts) == count:
        return value.parts[index]
    if value.kind == "list" and len(value.parts) == 1:
        return value.parts[0]
    return part_of(machine, "part", value, index)


_HANDLERS: dict[type[ast.AST], Callable[[Machine, Any], Value]] = {
    ast.Constant: lambda _, node: Value("text" if isinstance(node.value, str) else "const",
                                        const=node.value),
    ast.Name: lambda machine, node: machine.frame.get(node.id),
    ast.Attribute: lambda machine, node: attribute(machine, evaluate(machine, node.value),
                                                   node.attr),
    ast.Tuple: _sequence, ast.List: _sequence, ast.Set: _sequence, ast.Dict: _dict,
    ast.ListComp: _comprehension, ast.SetComp: _comprehension, ast.GeneratorExp: _comprehension,
    ast.DictComp: _comprehension, ast.IfExp: _either, ast.BoolOp: _bool, ast.BinOp: _binary,
    ast.JoinedStr: _joined, ast.Subscript: _subscript, ast.NamedExpr: _named, ast.Lambda: _lambda,
    ast.FormattedValue: lambda machine, node: evaluate(machine, node.value),
    ast.Starred: lambda machine, node: evaluate(machine, node.value),
    ast.Await: lambda machine, node: await_value(machine, node, evaluate(machine, node.value),
                                                 "await"),
    ast.Yield: _yield, ast.Call: _call,
}  # fmt: skip
