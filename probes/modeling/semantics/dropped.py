"""Statements that compute a result and drop it: ``torch.clamp(x, -1, 1)`` alone on a line."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ....reading.python.nodes import FunctionNode, dotted, keywords, last_name
from ....reading.python.sources import Code
from ..port_code import Finding, words

_MAKERS = ("torch.", "F.", "nn.functional.", "torch.nn.functional.")
_CASTS = frozenset({"to", "float", "half", "bfloat16", "type", "type_as"})
_MODULES = frozenset({"model", "module", "layer", "self", "cls"})


def find_dropped(code: Code) -> Iterator[Finding]:
    """The findings, in the order of the text."""
    local = {id(method): _tensors(code, method) for method in code.forwards}
    for statement in code.all(ast.Expr):
        call = statement.value
        if not isinstance(call, ast.Call) or "out" in keywords(call):
            continue
        name = last_name(call.func)
        if dotted(call.func).startswith(_MAKERS) and name in words("pure-functions"):
            yield Finding("result-dropped", call)
        elif _changes_copy(call):
            yield Finding("result-dropped", call)
        elif isinstance(call.func, ast.Attribute) and name in words("pure-methods") | _CASTS:
            method = code.function_of(call)
            if method is not None and dotted(call.func.value) in local.get(id(method), ()):
                yield Finding("cast-dropped" if name in _CASTS else "result-dropped", call)


def _tensors(code: Code, method: FunctionNode) -> set[str]:
    """The names of a forward method that are tensors: results of torch or a layer, or the hidden
    states that came in."""
    found = {each.arg for each in method.args.args if each.arg in words("tensor-arguments")}
    for node in code.all(ast.Assign, method):
        value = node.value
        for target in node.targets:
            if isinstance(target, ast.Name) and _makes_tensor(value, found):
                found.add(target.id)
    return found - _MODULES


def _makes_tensor(value: ast.expr, known: set[str]) -> bool:
    if isinstance(value, ast.BinOp):
        return _makes_tensor(value.left, known) or _makes_tensor(value.right, known)
    if isinstance(value, ast.Name):
        return value.id in known
    if not isinstance(value, ast.Call):
        return False
    name = dotted(value.func)
    if isinstance(value.func, ast.Attribute) and _makes_tensor(value.func.value, known):
        return True
    return name.startswith(("torch.", "F.")) or name.endswith("_proj")


def _changes_copy(call: ast.Call) -> bool:
    """``dict(state_dict).pop(key)``: the copy is gone at the end of the statement."""
    if not isinstance(call.func, ast.Attribute) or not isinstance(call.func.value, ast.Call):
        return False
    made = call.func.value
    copies = dotted(made.func) in ("dict", "copy.copy", "copy.deepcopy") or (
        isinstance(made.func, ast.Attribute) and made.func.attr == "copy" and not made.args
    )
    return copies and call.func.attr in ("pop", "update", "setdefault", "clear")
