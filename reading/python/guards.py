"""The tests that hold when a statement runs."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

MAX_GUARDS = 4
MAX_TEXT = 300
# Orders have no opposite: not a number is neither less nor more.
_OPPOSITES: dict[type[ast.cmpop], str] = {
    ast.Eq: "!=", ast.NotEq: "==", ast.Is: "is not", ast.IsNot: "is", ast.In: "not in",
    ast.NotIn: "in",
}  # fmt: skip


@dataclass(frozen=True, eq=False, slots=True)
class Guard:
    """A test, how it was passed (if, not, while, except, case), and the one around it."""

    node: ast.expr | ast.ExceptHandler | ast.match_case
    how: str
    outer: Guard | None = None
    subject: ast.expr | None = None
    early: bool = False


def exits(statement: ast.stmt, guard: Guard | None) -> Guard | None:
    """Return the condition that holds after a statement: if the statement leaves the block on a
    test, that test did not hold.

    Only the last such test is kept, with those of the same subject before it; a function often
    begins with many that have nothing to do with what follows.
    """
    if not isinstance(statement, ast.If) or statement.orelse:
        return guard
    if isinstance(statement.body[-1], ast.Return | ast.Continue | ast.Break):
        outer = guard
        while outer is not None and outer.early and not _alike(outer.node, statement.test):
            outer = outer.outer
        return Guard(statement.test, "not", outer, early=True)
    return guard


def _alike(one: ast.AST, other: ast.AST) -> bool:
    """Whether two tests compare the same subject."""
    if not isinstance(one, ast.Compare) or not isinstance(other, ast.Compare):
        return False
    return ast.dump(one.left) == ast.dump(other.left)


def guard_texts(
    guard: Guard | None, lines: Sequence[bytes], known: dict[Guard, str]
) -> tuple[str, ...]:
    """The tests as their source writes them, innermost first, at most MAX_GUARDS."""
    texts: list[str] = []
    while guard is not None and len(texts) < MAX_GUARDS:
        if guard not in known:
            known[guard] = _text(guard, lines)
        texts.append(known[guard])
        guard = guard.outer
    return tuple(texts)


def _text(guard: Guard, lines: Sequence[bytes]) -> str:
    node = guard.node
    if isinstance(node, ast.ExceptHandler):
        caught = segment(node.type, lines) if node.type else ""
        return f"except {caught}".rstrip() + (f" as {node.name}" if node.name else "")
    if isinstance(node, ast.match_case):
        subject = segment(guard.subject, lines) if guard.subject else ""
        held = f" if {segment(node.guard, lines)}" if node.guard else ""
        return f"match {subject}: case {segment(node.pattern, lines)}{held}"
    text = segment(node, lines)
    if guard.how == "not":
        return _denied(node, text, lines)
    return f"while {text}" if guard.how == "while" else text


def _denied(node: ast.expr, text: str, lines: Sequence[bytes]) -> str:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return segment(node.operand, lines)
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        opposite = _OPPOSITES.get(type(node.ops[0]))
        if opposite:
            left, right = segment(node.left, lines), segment(node.comparators[0], lines)
            return f"{left} {opposite} {right}"
    simple = isinstance(node, ast.Name | ast.Attribute | ast.Call | ast.Subscript)
    return f"not {text}" if simple else f"not ({text})"


def segment(node: ast.expr | ast.pattern, lines: Sequence[bytes]) -> str:
    """The source of a node on one line, cut at MAX_TEXT characters."""
    first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1
    start, end = node.col_offset, node.end_col_offset
    if first == last:
        raw = lines[first][start:end]
    else:
        raw = b" ".join([lines[first][start:], *lines[first + 1 : last][:40], lines[last][:end]])
    text = " ".join(raw.decode("utf-8", "replace").split())
    return text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 4] + " ..."
