"""Reads the source of a Stage 4 patch."""

from __future__ import annotations

import ast

from ...reading.python.nodes import FUNCTIONS, assignments, dotted
from ...reading.python.sources import Code
from .port_code import words

_FLAG = "_patched"


def patch_facts(code: Code) -> dict[str, bool]:
    """Attributes of ``patch_state``; none for a file that replaces no method of a class."""
    replaced = {name.rpartition(".")[2]: node for node in code.nodes
                for target, _ in assignments(node)
                if (name := dotted(target)).rpartition(".")[2] in ("forward", "__init__")
                and not name.startswith("self.")}  # fmt: skip
    if not replaced:
        return {}
    # A return, or the whole work, under a condition on the flag.
    found = {"guarded": any(_names_flag(code, node.test) for node in code.all(ast.If))}
    if "__init__" in replaced:
        found["keeps_init"] = any(dotted(value).endswith(".__init__") for node in code.nodes
                                  for _, value in assignments(node))  # fmt: skip
    last = _flag_is_last(code)
    if last is not None:
        found["sets_flag_last"] = last
    if _assigns_buffer(code):
        found["assigns_buffer"] = True
    return found


def _names_flag(code: Code, node: ast.AST) -> bool:
    for each in code.below(node):
        if isinstance(each, ast.Attribute) and _FLAG in each.attr:
            return True
        if isinstance(each, ast.Constant) and isinstance(each.value, str) and _FLAG in each.value:
            return True
        if isinstance(each, ast.Name) and _FLAG in each.id.lower():
            return True
    return False


def _flag_is_last(code: Code) -> bool | None:
    """Whether the flag is set after every replacement in its function."""
    for function in code.all(FUNCTIONS):
        places: dict[str, int] = {}
        for node in code.below(function):
            for target, _ in assignments(node):
                last = dotted(target).rpartition(".")[2]
                if _FLAG in last:
                    places["flag"] = code.line(node)
                elif last in ("forward", "__init__"):
                    places["method"] = code.line(node)
        if "flag" in places and "method" in places:
            return places["flag"] > places["method"]
    return None


def _assigns_buffer(code: Code) -> bool:
    """An assignment to a name that a ``register_buffer(name, None)`` has, here or in the
    framework."""
    names = set(words("empty-buffers"))
    for call in code.all(ast.Call):
        if dotted(call.func).endswith("register_buffer") and len(call.args) > 1:
            name, value = call.args[0], call.args[1]
            is_empty = isinstance(value, ast.Constant) and value.value is None
            if is_empty and isinstance(name, ast.Constant) and isinstance(name.value, str):
                names.add(name.value)
    return any(isinstance(target, ast.Attribute) and target.attr in names for node in code.nodes
               for target, _ in assignments(node))  # fmt: skip
