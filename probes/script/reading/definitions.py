"""Classes of the project, values of their fields and of annotated names, and star imports."""

from __future__ import annotations

import ast
from dataclasses import replace

from ....reading.python.nodes import FUNCTIONS, dotted, last_name
from .expressions import evaluate, lineage
from .machine import Machine
from .values import MAKERS, UNKNOWN, Value, annotated_name, made_by

_WRAPPERS = (ast.Subscript, ast.BinOp)


def annotated(machine: Machine, annotation: ast.AST | None) -> Value:
    """A value of the annotated type: a client of the SDK, or an object of the project."""
    named = annotated_name(annotation)
    if named is None:
        return _own(machine, annotation)
    path = named.value if isinstance(named, ast.Constant) else dotted(named)
    if not isinstance(path, str):
        return UNKNOWN
    first, _, rest = path.strip().partition(".")
    found = machine.frame.get(first)
    if found.kind == "import":
        kind = made_by(f"{found.op}.{rest}" if rest else found.op)
        return Value(kind) if kind else UNKNOWN
    if found.kind == "class":
        return Value("object", found.op)
    last = path.rpartition(".")[2].strip()
    return Value(MAKERS[last], assumed=f"that {path[:60]} is the class of Tinker")


def _own(machine: Machine, annotation: ast.AST | None) -> Value:
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        found = machine.frame.get(annotation.value.strip())
    elif isinstance(annotation, ast.Name):
        found = machine.frame.get(annotation.id)
    elif isinstance(annotation, _WRAPPERS):  # Optional[X], X | None
        inner = (n for n in ast.walk(annotation) if isinstance(n, ast.Name))
        found = next((f for n in inner if (f := machine.frame.get(n.id)).kind == "class"), UNKNOWN)
    else:
        return UNKNOWN
    return Value("object", found.op) if found.kind == "class" else UNKNOWN


_FIELDS = frozenset({"field", "Field", "attrib", "ib"})


def define_class(machine: Machine, node: ast.ClassDef) -> None:
    """Bind the name of a class, and record the defaults of its fields."""
    known = machine.classes.get(node.name)
    key = node.name if known is None or known.node is node else f"{node.name}@{id(node)}"
    made = Value("class", key, node=node)
    machine.classes[key] = machine.frame.names[node.name] = made
    machine.module.names.setdefault(node.name, made)
    machine.homes[id(node)] = machine.module
    for statement in node.body:
        if isinstance(statement, FUNCTIONS):
            machine.homes[id(statement)] = machine.module
            if statement.name == "__init__":
                machine.attributes[(key, "__init__")] = Value("function", node=statement)
        elif isinstance(statement, (ast.AnnAssign, ast.Assign)):
            _define_field(machine, key, statement)


def _define_field(machine: Machine, key: str, node: ast.AnnAssign | ast.Assign) -> None:
    target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
    if not isinstance(target, ast.Name):
        return
    value = _default(machine, node.value)
    if value.const is not None:
        value = replace(value, assumed=f"that {target.id} keeps its default")
    elif isinstance(node, ast.AnnAssign):
        value = annotated(machine, node.annotation)
    if value.kind != "unknown":
        machine.attributes[(key, target.id)] = value


def _default(machine: Machine, node: ast.expr | None) -> Value:
    """The default of a field, also as ``field(default=...)``."""
    if isinstance(node, ast.Call) and last_name(node.func) in _FIELDS:
        named = (k.value for k in node.keywords if k.arg == "default")
        node = next(named, node.args[0] if node.args else None)
    return evaluate(machine, node) if node is not None else UNKNOWN


def make_object(machine: Machine, made: Value, args: list[Value], named: dict[str, Value]) -> Value:
    """The object that a call of a class of the project makes."""
    instance = Value("object", made.op)
    for owner in lineage(machine, made.op):
        init = machine.attributes.get((owner, "__init__"))
        if init is not None and init.node is not None:
            bound = Value("method", "__init__", parts=(instance,), node=init.node)
            machine.run_function(machine, bound, args, named)
            return instance
    _set_fields(machine, instance, args, named)
    return instance


def _set_fields(machine: Machine, made: Value, args: list[Value], named: dict[str, Value]) -> None:
    """Set the fields of an object without ``__init__`` of its own. Objects are not told apart: a
    field that two of them fill differently is unknown."""
    names = [*fields(machine, made.op)]
    given = dict(zip(names, args, strict=False)) | named
    first = made.op not in machine.made
    machine.made.add(made.op)
    for name in names:
        place = (made.op, name)
        before = machine.attributes.get(place, UNKNOWN)
        value = given.get(name, UNKNOWN) if name in given else replace(before, assumed="")
        if not first and (before.const != value.const or before.kind != value.kind):
            value = UNKNOWN
        if value.kind != "unknown" or name in given:
            machine.attributes[place] = value


def fields(machine: Machine, key: str) -> list[str]:
    """The annotated fields of a class, those of its bases first."""
    found: dict[str, None] = {}
    for owner in reversed([*lineage(machine, key)]):
        for statement in getattr(machine.classes[owner].node, "body", ()):
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                found.setdefault(statement.target.id)
    return [*found]


def import_star(machine: Machine, node: ast.ImportFrom) -> None:
    """``from module import *`` of a module of the project."""
    frame = machine.linked(node.module or "", node.level)
    for name, value in frame.names.items() if frame is not None else ():
        if not name.startswith("_"):
            machine.frame.names[name] = value
