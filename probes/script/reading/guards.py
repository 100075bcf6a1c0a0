"""Narrows values by tests: in the branch in which a value is not of the tested kind, everything
known of it is dropped."""

from __future__ import annotations

import ast
import re

from ....reading.python.nodes import last_name
from .values import UNKNOWN, Value

_ASK = frozenset({"hasattr", "isinstance", "isawaitable", "iscoroutine", "isfuture", "callable"})

_CLASS = frozenset({"isinstance"})
_WAITING = frozenset({"future", "coroutine"})


def denied(test: ast.expr, arm: int, ask: frozenset[str] = _ASK) -> set[str]:
    """The names for which the test is false in a branch (0: the first, 1: the other)."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return denied(test.operand, 1 - arm, ask)
    if arm == 0:
        return set()
    asked = test.values if isinstance(test, ast.BoolOp) else [test]
    return {
        call.args[0].id
        for call in asked
        if isinstance(call, ast.Call)
        and last_name(call.func) in ask
        and call.args
        and isinstance(call.args[0], ast.Name)
    }


def without(names: dict[str, Value], test: ast.expr, arm: int) -> dict[str, Value]:
    """The values of names in a branch. A value that a test finds to be of a class is no longer a
    future."""
    gone = denied(test, arm) & names.keys()
    gone |= {
        name
        for name in denied(test, 1 - arm, _CLASS) & names.keys()
        if names[name].kind in _WAITING
    }
    return {**names, **dict.fromkeys(gone, UNKNOWN)} if gone else dict(names)


_INSTALLED = re.compile(
    r"_?(?:has|have|use|with)_?tinker(?:_sdk|_cookbook)?|_?(?:is_)?tinker_?(?:sdk_|cookbook_)?"
    r"(?:available|installed|importable|present|ok|ready)|_?(?:has|have)_tinker_\w{1,20}"
    r"|check_tinker(?:_available)?", re.IGNORECASE,
)  # fmt: skip
_MODULES = frozenset({"tinker", "tinker_cookbook", "_tinker"})


def absent_arm(test: ast.expr) -> int | None:
    """The arm of a test (0: the first, 1: the other) in which Tinker is not installed; None if the
    test is about something else."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        arm = absent_arm(test.operand)
        return None if arm is None else 1 - arm
    if isinstance(test, ast.BoolOp):
        arm = 1 if isinstance(test.op, ast.And) else 0
        return arm if arm in map(absent_arm, test.values) else None
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        none = isinstance(test.comparators[0], ast.Constant) and test.comparators[0].value is None
        if not none or not isinstance(test.ops[0], (ast.Is, ast.IsNot)):
            return None
        asked = _is_module(test.left) or _is_flag(test.left)
        return (0 if isinstance(test.ops[0], ast.Is) else 1) if asked else None
    return 1 if _is_module(test) or _is_flag(test) else None


def _is_module(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in _MODULES


def _is_flag(node: ast.expr) -> bool:
    named = node.func if isinstance(node, ast.Call) else node
    asks = isinstance(node, ast.Call) and last_name(node.func) == "find_spec" and node.args
    if asks and isinstance(node, ast.Call):
        return isinstance(node.args[0], ast.Constant) and node.args[0].value in _MODULES
    return bool(_INSTALLED.fullmatch(last_name(named)))
