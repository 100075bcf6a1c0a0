"""Values of hypotheses: numbers, or expressions such as ``= head_dim ** -0.5`` over settings."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

_OPERATORS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.Div: operator.truediv, ast.FloorDiv: operator.floordiv, ast.Pow: operator.pow,
}  # fmt: skip
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "sqrt": math.sqrt,
    "log": math.log,
    "max": max,
    "min": min,
}
MAX_LENGTH = 200


class NoValueError(ValueError):
    """The expression cannot be computed with these settings."""


def value_of(given: Any, names: Mapping[str, Any]) -> Any:
    """Return a value unchanged, or the result of the expression after ``=``. Raises
    :class:`NoValueError` if a setting is missing or the result is not a number."""
    if not isinstance(given, str) or not given.startswith("="):
        return given
    if len(given) > MAX_LENGTH:
        raise NoValueError("the expression is too long")
    try:
        found = _compute(ast.parse(given[1:].strip(), mode="eval").body, names)
    except (SyntaxError, ArithmeticError, TypeError, ValueError) as error:
        raise NoValueError(f"{given}: {error}") from error
    if isinstance(found, float) and not math.isfinite(found):
        raise NoValueError(f"{given} is not finite")
    return found


def _compute(node: ast.expr, names: Mapping[str, Any]) -> Any:
    match node:
        case ast.Constant(value=int() | float() as number):
            return number
        case ast.Name(id=name) if isinstance(names.get(name), int | float):
            return names[name]
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return -_compute(inner, names)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return _OPERATORS[type(op)](_compute(left, names), _bounded(_compute(right, names), op))
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in _FUNCTIONS:
            return _FUNCTIONS[name](*[_compute(arg, names) for arg in args])
    raise NoValueError("the expression has a part that is not a number of this module")


def _bounded(right: Any, op: ast.operator) -> Any:
    if isinstance(op, ast.Pow) and abs(right) > 64:
        raise NoValueError("an exponent is too large")
    return right
