"""Finds the code that binds a name or an attribute of a program."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ....reading.python.nodes import COMPREHENSIONS, FUNCTIONS, Nodes
from ..findings import Script

Scope = ast.AST
SCOPES = (*FUNCTIONS, ast.Lambda, ast.Module)


class Binding(NamedTuple):
    """How a name gets a value: ``how`` is value, item (of an iterable), enter (of a ``with``),
    parameter, import, def, class or other; ``node`` is the expression, statement or parameter."""

    how: str
    node: ast.AST
    name: str = ""


class Bindings:
    """The bindings of a program: names by scope, attributes by name."""

    def __init__(self, script: Script) -> None:
        self._script: Nodes = script
        self.names: dict[tuple[int, str], list[Binding]] = defaultdict(list)
        self.attributes: dict[str, list[tuple[ast.Attribute, Binding]]] = defaultdict(list)
        self.uses: dict[str, list[ast.AST]] = defaultdict(list)
        self._scopes: dict[int, Scope | None] = {}
        self._outer: set[tuple[int, str]] = set()
        for node in script.nodes:
            self._read(node)

    def find(self, node: ast.Name) -> list[Binding]:
        """The bindings of a name that is read here, from the innermost scope that binds it."""
        for scope in self._around(node):
            key = (id(scope), node.id)
            found = self.names.get(key)
            if found and key not in self._outer:
                return found
        return []

    def _around(self, node: ast.AST) -> Iterator[Scope]:
        below = node
        for above in self._script.above(node):
            if isinstance(above, SCOPES):
                # Decorators, defaults and annotations belong to the scope around.
                body = getattr(above, "body", ())
                if (
                    not isinstance(body, list)
                    or below in body
                    or below is getattr(above, "args", 0)
                ):
                    yield above
            below = above

    def _scope(self, node: ast.AST) -> Scope | None:
        if id(node) not in self._scopes:
            self._scopes[id(node)] = next(
                (
                    each
                    for each in self._script.above(node)
                    if isinstance(each, (*SCOPES, ast.ClassDef))
                ),
                None,
            )
        return self._scopes[id(node)]

    def _bind(self, at: ast.AST, name: str, how: str, node: ast.AST, member: str = "") -> None:
        self.names[(id(self._scope(at)), name)].append(Binding(how, node, member))

    def defined(self, name: str) -> list[Binding]:
        """All that binds a name anywhere in the program."""
        return [each for (_, bound), found in self.names.items() if bound == name for each in found]

    def _read(self, node: ast.AST) -> None:
        if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Load):
            self.uses[getattr(node, "id", "") or getattr(node, "attr", "")].append(node)
        handler = _READERS.get(type(node))
        if handler is not None:
            handler(self, node)

    def _assigned(self, node: Any) -> None:
        if node.value is None:
            self._target(node.target, "parameter", node)
        for target in getattr(node, "targets", None) or [node.target]:
            if node.value is not None:
                self._target(target, "value", node.value)

    def _entered(self, node: Any) -> None:
        if node.optional_vars is not None:
            self._target(node.optional_vars, "enter", node.context_expr)

    def _imported(self, node: Any) -> None:
        for alias in node.names:
            name = alias.asname or alias.name.partition(".")[0]
            self._bind(node, name, "import", node, alias.name)

    def _defined(self, node: Any) -> None:
        self._bind(node, node.name, "def", node)
        self._parameters(node)

    def _shared(self, node: Any) -> None:
        for name in node.names:
            self._outer.add((id(self._scope(node)), name))
            self._everywhere(node, name)

    def _otherwise(self, node: Any) -> None:
        if node.name:
            self._bind(node, node.name, "other", node)

    def _deleted(self, node: Any) -> None:
        for target in node.targets:
            self._target(target, "other", node)

    def _everywhere(self, node: ast.AST, name: str) -> None:
        """Bind a name in the outer scope that a function declares it to belong to."""
        scope = id(self._scope(node))
        for above in self._script.above(node):
            if isinstance(above, SCOPES) and id(above) != scope:
                shared = self.names[(scope, name)]
                own = self.names[(id(above), name)]
                own.append(Binding("shared", node, name)) if shared is not own else None

    def _parameters(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> None:
        given = node.args
        for each in (*given.posonlyargs, *given.args, *given.kwonlyargs):
            self.names[(id(node), each.arg)].append(Binding("parameter", each))
        for star in (given.vararg, given.kwarg):
            if star is not None:
                self.names[(id(node), star.arg)].append(Binding("other", star))

    def _target(self, target: ast.AST, how: str, value: ast.AST) -> None:
        if isinstance(target, ast.Name):
            self._bind(target, target.id, how, value)
        elif isinstance(target, ast.Attribute):
            self.attributes[target.attr].append((target, Binding(how, value)))
        elif isinstance(target, (ast.Tuple, ast.List)):
            pairs = isinstance(value, (ast.Tuple, ast.List)) and how == "value" and (
                len(value.elts) == len(target.elts))  # fmt: skip
            for index, each in enumerate(target.elts):
                if pairs and isinstance(value, (ast.Tuple, ast.List)):
                    self._target(each, how, value.elts[index])
                else:
                    self._target(each, "other", value)
        elif isinstance(target, ast.Starred):
            self._target(target.value, "other", value)


def class_of(script: Nodes, node: ast.AST) -> ast.ClassDef | None:
    """The class whose method contains a node."""
    return next((each for each in script.above(node) if isinstance(each, ast.ClassDef)), None)


def is_self(script: Nodes, node: ast.AST) -> ast.ClassDef | None:
    """The class whose instance a name is, because it is the first parameter of a method."""
    if not isinstance(node, ast.Name):
        return None
    for above in script.above(node):
        owner = script.parents.get(id(above))
        if isinstance(above, FUNCTIONS) and isinstance(owner, ast.ClassDef):
            first = next(iter((*above.args.posonlyargs, *above.args.args)), None)
            marked = any(
                getattr(d, "id", "") in ("staticmethod", "classmethod")
                for d in above.decorator_list
            )
            return owner if first is not None and first.arg == node.id and not marked else None
    return None


def in_comprehension(script: Nodes, node: ast.AST) -> bool:
    """Whether a node is in a comprehension."""
    return any(isinstance(each, COMPREHENSIONS) for each in script.above(node))


_READERS: dict[type[ast.AST], Callable[[Bindings, Any], None]] = {
    ast.Assign: Bindings._assigned, ast.AnnAssign: Bindings._assigned,
    ast.NamedExpr: Bindings._assigned,
    ast.AugAssign: lambda self, node: self._target(node.target, "other", node),
    ast.For: lambda self, node: self._target(node.target, "item", node.iter),
    ast.AsyncFor: lambda self, node: self._target(node.target, "other", node.iter),
    ast.comprehension: lambda self, node: self._target(node.target, "item", node.iter),
    ast.withitem: Bindings._entered, ast.Import: Bindings._imported,
    ast.ImportFrom: Bindings._imported, ast.FunctionDef: Bindings._defined,
    ast.AsyncFunctionDef: Bindings._defined, ast.Lambda: Bindings._parameters,
    ast.ClassDef: lambda self, node: self._bind(node, node.name, "class", node),
    ast.Global: Bindings._shared, ast.Nonlocal: Bindings._shared,
    ast.ExceptHandler: Bindings._otherwise, ast.MatchAs: Bindings._otherwise,
    ast.MatchStar: Bindings._otherwise, ast.Delete: Bindings._deleted,
}  # fmt: skip
