"""The meanings of names in a module, as far as its text shows: constants, local assignments."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

MAX_VALUES = 6
_LOOKS_LIKE_TEXT = (ast.Constant, ast.JoinedStr, ast.BinOp, ast.Call, ast.IfExp, ast.Name)


@dataclass(slots=True)
class Scope:
    """The names of a module, a class or a function, each with the expressions assigned to it.

    ``added`` holds what was appended to a list or a text. ``outer`` is looked at next; the scope of
    a class is passed over from its methods, as in Python, but for ``self.NAME``.
    """

    outer: Scope | None = None
    is_class: bool = False
    values: dict[str, list[ast.expr]] = field(default_factory=dict)
    added: dict[str, list[ast.expr]] = field(default_factory=dict)

    def find(self, name: str) -> Sequence[ast.expr]:
        """The expressions that a plain name may stand for."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.values and (scope is self or not scope.is_class):
                return scope.values[name]
            scope = scope.outer
        return ()

    def find_added(self, name: str) -> Sequence[ast.expr]:
        """The expressions that were appended to a list or a text."""
        return self.added.get(name, ())

    def find_attribute(self, name: str) -> Sequence[ast.expr]:
        """The expressions of an attribute of the class around."""
        scope: Scope | None = self
        while scope is not None:
            if scope.is_class:
                return scope.values.get(name, ())
            scope = scope.outer
        return ()

    def note(self, statement: ast.stmt) -> None:
        """Record the assignments and appended values of a statement."""
        if isinstance(statement, ast.Assign):
            for target in statement.targets:
                self._assign(target, statement.value)
        elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
            self._assign(statement.target, statement.value)
        elif isinstance(statement, ast.AugAssign) and isinstance(statement.op, ast.Add):
            if isinstance(statement.target, ast.Name):
                _put(self.added, statement.target.id, statement.value)
        elif isinstance(statement, ast.Expr):
            for name, value in _appended(statement.value):
                _put(self.added, name, value)

    def _assign(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Name):
            if isinstance(value, _LOOKS_LIKE_TEXT):
                _put(self.values, target.id, value)
            else:
                # Hides a name further out; what it holds is not a text.
                self.values.setdefault(target.id, [])


def _put(table: dict[str, list[ast.expr]], name: str, value: ast.expr) -> None:
    known = table.setdefault(name, [])
    if len(known) < MAX_VALUES:
        known.append(value)


def _appended(call: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)):
        return
    owner = call.func.value
    if call.func.attr in ("append", "add") and isinstance(owner, ast.Name) and len(call.args) == 1:
        yield owner.id, call.args[0]
