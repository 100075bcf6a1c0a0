"""Finds the functions of a project that reach certain calls, directly or through others."""

from __future__ import annotations

import ast
import re

from ...reading.python.nodes import FUNCTIONS, dotted, last_name
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
    being awaited where something runs several, what a web framework calls, and what the cookbook
    calls for each of many rollouts."""
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
