"""Whether code runs, whether its author reckons with failure, which functions reach a call."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from ...reading.python.nodes import FUNCTIONS, Nodes, constant, dotted, last_name
from .findings import Script

_SEVERAL = frozenset({"gather", "as_completed", "wait", "create_task", "ensure_future",
                      "start_soon"})  # fmt: skip
_ALONE = frozenset({"run", "run_until_complete", "wait_for"})
# Things that the cookbook has many of at a time: environments, and the code that makes or plays
# them.
_MANY = re.compile(r"(?:Env|Builder|Completer|Policy|Rollout\w{0,20})\Z")
_ROUTES = frozenset({"get", "post", "put", "patch", "delete", "route", "websocket"})


def callers(script: Script, calls: set[int]) -> set[int]:
    """The functions of the project that reach one of the calls."""
    around = (script.above(call) for call in script.calls() if id(call) in calls)
    found = {id(each) for above in around for each in above if isinstance(each, FUNCTIONS)}
    uses = script.uses
    for _ in range(len(uses)):
        more = {user for user, used in uses.items() if used & found} - found
        if not more:
            break
        found |= more
    return found


def reaches(script: Script, node: ast.AST, calls: set[int], calling: set[int]) -> bool:
    """Whether a node is one of the calls, or calls a function that reaches one."""
    if id(node) in calls:
        return True
    if not isinstance(node, ast.Call):
        return False
    return id(script.machine.value(node.func).node) in calling


def started_together(script: Script) -> set[int]:
    """The coroutines of a project that run at the same time as others: those that are made without
    being awaited if something runs several, those that a web framework calls, and those that the
    cookbook calls for each of many rollouts."""
    several = any(last_name(call.func) in _SEVERAL for call in script.calls())
    found = {
        id(each) for each in script.all(ast.AsyncFunctionDef) if _is_called_often(script, each)
    }
    for call in script.calls() if several else ():
        target = script.machine.value(call.func).node
        above = script.parents.get(id(call))
        run_alone = isinstance(above, ast.Call) and last_name(above.func) in _ALONE
        if isinstance(target, ast.AsyncFunctionDef) and not isinstance(above, ast.Await):
            found.update(() if run_alone else (id(target),))
    return found


def _is_called_often(script: Script, function: ast.AsyncFunctionDef) -> bool:
    if any(last_name(getattr(d, "func", None)) in _ROUTES for d in function.decorator_list):
        return True
    owner = script.parents.get(id(function))
    bases = owner.bases if isinstance(owner, ast.ClassDef) else []
    roots = {dotted(base).partition(".")[0] for base in bases if _MANY.search(last_name(base))}
    return bool(roots & _of_cookbook(script))


def _of_cookbook(script: Script) -> set[str]:
    """The names that are imported from the cookbook."""
    return {
        alias.asname or alias.name
        for node in script.all(ast.ImportFrom)
        if (node.module or "").startswith("tinker_cookbook")
        for alias in node.names
    }


_REFUSALS = frozenset({"TypeError", "AttributeError", "ValidationError"})
"""Exceptions of the SDK for a call that does not fit; other errors have other causes as well."""
_EXPECTING = frozenset({"raises", "assertRaises", "assertRaisesRegex"})
_MOST_TRIED = 3
"""Largest number of statements in a ``try`` about one call; a ``try`` around a whole loop expects
no error of the call."""
_CHANGES = frozenset({"update", "pop", "setdefault", "clear", "popitem"})
_ENDS = (ast.Return, ast.Raise, ast.Continue, ast.Break)


def may_fail(script: Nodes, node: ast.AST) -> bool:
    """Whether the code around a place deals with a refusal of the SDK: it tries a call that one
    version may not accept, or demonstrates the refusal."""
    return any(_deals(above, below) for above, below in _around(script, node))


def never_runs(script: Nodes, node: ast.AST) -> bool:
    """Whether a place cannot be reached: it is below ``if False`` or after the end of its block."""
    for above, below in _around(script, node):
        if isinstance(above, (ast.If, ast.IfExp)) and _is_off(above, below):
            return True
        if any(isinstance(before, _ENDS) for before in _before(above, below)):
            return True
    return False


def _around(script: Nodes, node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    """Yield each node that contains a place, innermost first, with its part that holds the
    place."""
    below = getattr(node, "of", node)
    for above in script.above(below):
        yield above, below
        below = above


def _deals(above: ast.AST, below: ast.AST) -> bool:
    if isinstance(above, ast.Try):
        tried = below in above.body and len(above.body) <= _MOST_TRIED
        return tried and any(_catches(handler) for handler in above.handlers)
    if not isinstance(above, (ast.With, ast.AsyncWith)) or below not in above.body:
        return False
    return any(_expects(item.context_expr) for item in above.items)


def _catches(handler: ast.ExceptHandler) -> bool:
    passes_on = isinstance(handler.body[-1], ast.Raise) and handler.body[-1].exc is None
    return not passes_on and _names_refusal([handler.type] if handler.type else [])


def _expects(context: ast.expr) -> bool:
    name = last_name(getattr(context, "func", None))
    return name in _EXPECTING or (name == "suppress" and _names_refusal(context.args))  # type: ignore[attr-defined]


def _names_refusal(types: Iterable[ast.expr]) -> bool:
    parts = (p for t in types for p in (t.elts if isinstance(t, ast.Tuple) else [t]))
    return any(last_name(part) in _REFUSALS for part in parts)


def _is_off(above: ast.If | ast.IfExp, below: ast.AST) -> bool:
    body = above.body if isinstance(above.body, list) else [above.body]
    off = isinstance(above.test, ast.Constant) and not above.test.value
    return below in body and (off or last_name(above.test) == "TYPE_CHECKING")


def _before(above: ast.AST, below: ast.AST) -> list[ast.AST]:
    """The statements of the same block before one."""
    if not isinstance(below, ast.stmt) or isinstance(below, FUNCTIONS):
        return []
    block = _block(above, below)
    return block[: block.index(below)] if block else []


def following(script: Nodes, node: ast.AST) -> list[ast.AST]:
    """The statements of the same block after a node."""
    block = _block(script.parents.get(id(node)), node)
    return block[block.index(node) + 1 :] if block else []


def _block(above: ast.AST | None, below: ast.AST) -> list[ast.AST]:
    """The block of statements that contains a node."""
    for name in ("body", "orelse", "finalbody"):
        block = getattr(above, name, None)
        if isinstance(block, list) and below in block:
            return block
    return []


def is_changed(script: Nodes, name: ast.Name) -> bool:
    """Whether a named dict may get or lose keys after it is written: by an item, a method, or a
    function that it is passed to."""
    scope = script.function_of(name) or script.tree
    for node in script.below(scope):
        if isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
            changed: list[ast.AST] = [node.value]
        elif isinstance(node, ast.Call):
            changed = [*node.args]
            if last_name(node.func) in _CHANGES:
                changed.append(getattr(node.func, "value", node.func))
        else:
            continue
        if any(isinstance(each, ast.Name) and each.id == name.id for each in changed):
            return True
    return False


def is_asked_for(script: Nodes, node: ast.Attribute) -> bool:
    """Whether code reads an attribute only if it is there: after hasattr() or getattr(), or
    if its absence is caught."""
    for above in script.above(node):
        if isinstance(above, (ast.If, ast.IfExp)) and _asks_for(above.test, node.attr):
            return True
        if isinstance(above, ast.Try) and any(
            last_name(n) == "AttributeError"
            for handler in above.handlers if handler.type is not None
            for n in ast.walk(handler.type)
        ):  # fmt: skip
            return True
    return False


def _asks_for(test: ast.AST, name: str) -> bool:
    return any(
        isinstance(n, ast.Call) and last_name(n.func) in ("hasattr", "getattr")
        and any(constant(a) == name for a in n.args)
        for n in ast.walk(test)
    )  # fmt: skip
