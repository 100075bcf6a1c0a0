"""What the checks of a script hand over: findings with the place that shows them."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import NamedTuple

from .machine import Machine
from .values import FUNCTIONS, LOOPS, constant

COMPREHENSIONS = (ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp)


class Finding(NamedTuple):
    """A pattern at a place; ``node`` is None where the pattern was looked for and is not there."""

    pattern: str
    node: ast.AST | None


class Script(NamedTuple):
    """A script that was read: its tree, what was followed, and how much can be said of it.

    ``complete`` is true where nothing of the code is hidden from the reading: it was parsed and
    followed to its end and takes no code from other modules of the user; ``whole`` says the first
    two. ``words`` are all names, keywords and words of texts in it, without docstrings.
    """

    tree: ast.Module
    machine: Machine
    complete: bool
    whole: bool
    words: frozenset[str]
    nodes: tuple[ast.AST, ...]
    parents: dict[int, ast.AST]

    def all(self, kind: type[ast.AST] | tuple[type[ast.AST], ...]) -> Iterable[ast.AST]:
        """The nodes of a type, in the order of the text."""
        return (node for node in self.nodes if isinstance(node, kind))

    def calls(self) -> Iterable[ast.Call]:
        """All calls, in the order of the text."""
        return (node for node in self.nodes if isinstance(node, ast.Call))

    def function_of(self, node: ast.AST) -> ast.AST | None:
        """The function around a node, or None at the top of the module."""
        above = self.parents.get(id(node))
        while above is not None and not isinstance(above, FUNCTIONS):
            above = self.parents.get(id(above))
        return above

    def loops_of(self, node: ast.AST, stop: ast.AST | None = None) -> list[ast.AST]:
        """Loops and comprehensions around a node within its function, innermost first."""
        found: list[ast.AST] = []
        above = self.parents.get(id(node))
        while above is not None and above is not stop and not isinstance(above, FUNCTIONS):
            if isinstance(above, (*LOOPS, *COMPREHENSIONS)):
                found.append(above)
            above = self.parents.get(id(above))
        return found


def keyword(call: ast.Call, name: str) -> ast.expr | None:
    """The keyword argument ``name`` of a call."""
    return next((k.value for k in call.keywords if k.arg == name), None)


def argument(call: ast.Call, name: str, position: int) -> ast.expr | None:
    """An argument given by name or by position."""
    given = keyword(call, name)
    if given is None and position < len(call.args):
        given = call.args[position]
        if any(isinstance(a, ast.Starred) for a in call.args[: position + 1]):
            return None
    return given


def literal(script: Script, node: ast.AST | None) -> str:
    """The literal text that an expression gives, or an empty text."""
    value = script.machine.value(node).const
    value = constant(node) if value is None else value
    return value if isinstance(value, str) else ""
