"""Values of names by their type annotations."""

from __future__ import annotations

import ast

from ....reading.python.nodes import dotted
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
