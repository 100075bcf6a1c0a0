"""Operators of Python, and the results of comparing values."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

from .values import UNKNOWN, UNRESOLVED, Config, Instance, Settings, Term, Value, concrete

OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.FloorDiv: "floordiv",
    ast.Mod: "mod", ast.Pow: "pow", ast.MatMult: "matmul",
}  # fmt: skip
_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le,
    ast.Gt: operator.gt, ast.GtE: operator.ge,
}  # fmt: skip


def compare(op: ast.cmpop, left: Value, right: Value, settings: Settings) -> Value:
    """The result of a comparison; an unknown term if it cannot be decided."""
    if isinstance(op, (ast.In, ast.NotIn)):
        known = concrete(left, settings)
        if known is UNRESOLVED or not isinstance(right, (str, list, tuple, dict)):
            return UNKNOWN
        inside = known in right
        return inside if isinstance(op, ast.In) else not inside
    one, other = concrete(left, settings), concrete(right, settings)
    if isinstance(op, (ast.Is, ast.IsNot)):
        if one is UNRESOLVED and other is None and _is_something(left):
            return isinstance(op, ast.IsNot)
        if one is UNRESOLVED or other is UNRESOLVED:
            return UNKNOWN
        return (one is other) == isinstance(op, ast.Is)
    if one is UNRESOLVED or other is UNRESOLVED or type(op) not in _COMPARE:
        return UNKNOWN
    try:
        return bool(_COMPARE[type(op)](one, other))
    except TypeError:
        return UNKNOWN


def _is_something(value: Value) -> bool:
    return isinstance(value, (Instance, Config, list, tuple, dict)) or (
        isinstance(value, Term) and value.op in ("apply", "mul", "add", "matmul", "parameter")
    )
