"""Code of a port: the names it uses, and which side of a condition is the CPU or the device."""

from __future__ import annotations

import ast
from functools import partial
from typing import NamedTuple

from ...reading.python.nodes import dotted, last_name
from ...reading.python.sources import Code
from ...reading.text.values import word_list

# The names that the reading of modeling files knows.
words = partial(word_list, __file__, "port_code.json")
MAX_DEPTH = 50
_FALSE = frozenset({"", "0", "false", "no", "off"})


class Finding(NamedTuple):
    """A pattern at a place; ``node`` is None if the pattern was searched for and is not there."""

    pattern: str
    node: ast.AST | None


def is_port(code: Code) -> bool:
    """Whether a file takes anything from the Neuron packages."""
    roots = words("port-packages")
    return any(m.partition(".")[0] in roots or m in roots for m in code.modules) or any(
        module.startswith(f"{root}.") for module in code.modules for root in roots
    )


def cpu_side(code: Code, test: ast.expr, depth: int = 0) -> bool | None:
    """True if the condition holds on the CPU, False if it holds on the device, None if it is about
    neither or both."""
    if depth > MAX_DEPTH:
        return None
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = cpu_side(code, test.operand, depth + 1)
        return None if inner is None else not inner
    if isinstance(test, ast.BoolOp):
        return _agreed(code, test.values, depth)
    if isinstance(test, ast.Compare):
        return _compared(code, test, depth)
    if isinstance(test, ast.NamedExpr):
        return cpu_side(code, test.value, depth + 1)
    if isinstance(test, ast.Constant):
        return _of_word(test.value) if isinstance(test.value, str) else None
    if isinstance(test, ast.Subscript):
        return cpu_side(code, test.slice, depth + 1)
    if isinstance(test, ast.Call):
        side = cpu_side(code, test.func, depth + 1)
        # os.environ.get("NXD_CPU_MODE"), getattr(config, "on_cpu", False)
        return side if side is not None else _agreed(code, test.args[:2], depth)
    side = _of_word(last_name(test))
    value = code.values.get(dotted(test)) if side is None else None
    # A name that is set only once has its value: on_device = not cpu_mode().
    if value is None or isinstance(value, ast.Constant):
        return side
    return cpu_side(code, value, depth + 1)


def _of_word(word: str) -> bool | None:
    on_cpu = word in words("cpu-conditions")
    return on_cpu if on_cpu or word in words("device-conditions") else None


def _agreed(code: Code, parts: list[ast.expr], depth: int) -> bool | None:
    sides = {side for part in parts if (side := cpu_side(code, part, depth + 1)) is not None}
    return sides.pop() if len(sides) == 1 else None


def _compared(code: Code, test: ast.Compare, depth: int) -> bool | None:
    if len(test.ops) != 1:
        return None
    left, right, operator = test.left, test.comparators[0], test.ops[0]
    if not isinstance(operator, (ast.Eq, ast.NotEq, ast.Is, ast.IsNot)):
        return None
    if isinstance(left, ast.Constant):
        left, right = right, left
    if not isinstance(right, ast.Constant):
        return None
    same = isinstance(operator, (ast.Eq, ast.Is))
    if right.value == "cpu":
        return same
    side = cpu_side(code, left, depth + 1)
    if side is None:
        return None
    text = str(right.value).lower()
    is_false = right.value is None or text in _FALSE
    return side == (same != is_false)
