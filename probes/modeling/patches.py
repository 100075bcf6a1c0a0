"""What the source of a Stage 4 patch shows."""

from __future__ import annotations

import ast

from .code import FUNCTIONS, Code, assignments, dotted
from .words import words

_FLAG = "_patched"


def patch_facts(code: Code) -> dict[str, bool]:
    """Attributes of ``patch_state``; none for a file that replaces no method of a class."""
    replaced = {
        name.rpartition(".")[2]: node
        for node in code.nodes
        for target, _ in assignments(node)
        if (name := dotted(target)).rpartition(".")[2] in ("forward", "__init__")
        and not name.startswith("self.")
    }
    if not replaced:
        return {}
    found = {"guarded": _is_guarded(code)}
    if "__init__" in replaced:
        found["keeps_init"] = _keeps_init(code)
    last = _flag_is_last(code)
    if last is not None:
        found["sets_flag_last"] = last
    if _assigns_buffer(code):
        found["assigns_buffer"] = True
    return found


def _is_guarded(code: Code) -> bool:
    """A return, or the whole work, under a condition on the flag."""
    return any(_names_flag(code, node.test) for node in code.nodes if isinstance(node, ast.If))


def _names_flag(code: Code, node: ast.AST) -> bool:
    for each in code.below(node):
        if isinstance(each, ast.Attribute) and _FLAG in each.attr:
            return True
        if isinstance(each, ast.Constant) and isinstance(each.value, str) and _FLAG in each.value:
            return True
        if isinstance(each, ast.Name) and _FLAG in each.id.lower():
            return True
    return False


def _keeps_init(code: Code) -> bool:
    return any(
        dotted(value).endswith(".__init__") for node in code.nodes for _, value in assignments(node)
    )


def _flag_is_last(code: Code) -> bool | None:
    """Whether the flag is set behind every replacement in its function."""
    for function in (node for node in code.nodes if isinstance(node, FUNCTIONS)):
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
    return any(
        isinstance(target, ast.Attribute) and target.attr in names
        for node in code.nodes
        for target, _ in assignments(node)
    )
