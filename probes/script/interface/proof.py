"""The type of each expression of a program, if the program proves it."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from ....reading.python.nodes import FUNCTIONS, argument, last_name
from ..findings import Script
from .scopes import Binding, Bindings, class_of, is_self
from .types import (
    NONE,
    PACKAGES,
    Known,
    Types,
    awaited,
    called,
    element,
    imported,
    is_ours,
    join,
    member,
)

MAX_DEPTH = 12
"""Steps from an expression back to its origin."""
_RUNNERS = frozenset({"run", "run_until_complete", "run_coroutine_threadsafe"})
_WRAPPERS = frozenset({"Optional", "Annotated"})


class Proof:
    """Types of expressions. ``local`` holds the packages that the program brings along itself."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self.bindings = Bindings(script)
        self._known: dict[int, Types] = {}
        self._depth = 0
        self.local = {top for top in PACKAGES if self._is_local(top)}

    def _is_local(self, top: str) -> bool:
        script = self._script
        if script.carries(top):
            return True
        return any(script.machine.find(module.key, top, 0) is not None for module in script.modules)

    def type_of(self, node: ast.AST | None) -> Types:
        """The types of an expression; none if they are not proven."""
        if node is None or self._depth > MAX_DEPTH:
            return NONE
        if id(node) not in self._known:
            self._known[id(node)] = NONE  # for expressions that depend on themselves
            self._depth += 1
            self._known[id(node)] = self._read(node)
            self._depth -= 1
        return self._known[id(node)]

    def _read(self, node: ast.AST) -> Types:
        if isinstance(node, ast.Name):
            return self._bound(self.bindings.find(node))
        if isinstance(node, ast.Attribute):
            return self._attribute(node)
        if isinstance(node, ast.Call):
            return self._call(node)
        if isinstance(node, ast.Await):
            return awaited(self.type_of(node.value))
        if isinstance(node, ast.NamedExpr):
            return self.type_of(node.value)
        if isinstance(node, ast.IfExp):
            return self._some([node.body, node.orelse])
        if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or):
            return self._some(node.values)
        if isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Slice):
            return element(self.type_of(node.value))
        return NONE

    def _some(self, nodes: Iterable[ast.AST]) -> Types:
        """The types of one of several expressions; a None is skipped, because it is set later."""
        return join(self.type_of(each) for each in nodes if not _is_none(each))

    def _bound(self, bindings: Iterable[Binding]) -> Types:
        given = [each for each in bindings if not (each.how == "value" and _is_none(each.node))]
        return join(map(self._binding, given))

    def _binding(self, binding: Binding) -> Types:
        how, node = binding.how, binding.node
        if how == "value":
            return self.type_of(node)
        if how == "item":
            return element(self.type_of(node))
        if how == "enter":
            return frozenset(each for each in self.type_of(node) if each.form == "instance")
        if how == "parameter":
            annotation = getattr(node, "annotation", None)
            says = annotation is not None and last_name(annotation) not in ("Any", "object")
            return self._annotated(annotation) if says else self._passed(node)
        if how == "import":
            return self._imported(node, binding.name)
        if how == "shared":
            return self._bound(
                self.bindings.names[(id(self._script.function_of(node)), binding.name)]
            )
        return NONE

    def _imported(self, node: ast.AST, name: str) -> Types:
        if isinstance(node, ast.ImportFrom):
            path = f"{node.module}.{name}" if node.module and not node.level else ""
        else:
            alias = next(a for a in getattr(node, "names", ()) if a.name == name)
            path = name if alias.asname else name.partition(".")[0]
        if not is_ours(path) or path.partition(".")[0] in self.local:
            return NONE
        return imported(path)

    def _annotated(self, node: ast.AST | None) -> Types:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return NONE
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            parts = [p for p in (node.left, node.right) if not _is_none(p)]
            return self._annotated(parts[0]) if len(parts) == 1 else NONE
        if isinstance(node, ast.Subscript):
            last = getattr(node.value, "attr", "") or getattr(node.value, "id", "")
            inner = node.slice.elts[0] if isinstance(node.slice, ast.Tuple) else node.slice
            if last in _WRAPPERS:
                return self._annotated(inner)
            found = self._annotated(inner) if last in ("list", "List", "Sequence") else NONE
            return frozenset({Known("list", inner=tuple(sorted(found)))}) if found else NONE
        types = self.type_of(node)
        if not types or any(each.form != "class" for each in types):
            return NONE
        return frozenset(Known("instance", each.path) for each in types)

    def _passed(self, parameter: ast.AST) -> Types:
        """The types of a parameter without annotation: all calls of its function must agree, and
        nothing else may use the function."""
        function = self._script.parents.get(id(self._script.parents.get(id(parameter))))
        if not isinstance(function, FUNCTIONS) or function.decorator_list:
            return NONE
        name, given = getattr(parameter, "arg", ""), function.args
        own = self._script.parents.get(id(function))
        uses = self.bindings.uses.get(function.name, [])
        if (
            not uses
            or isinstance(own, ast.ClassDef)
            or len(self.bindings.defined(function.name)) != 1
        ):
            return NONE
        places = [p.arg for p in (*given.posonlyargs, *given.args)]
        passed = []
        for use in uses:
            call = self._script.parents.get(id(use))
            if not isinstance(call, ast.Call) or call.func is not use:
                return NONE
            passed.append(argument(call, name, places.index(name) if name in places else 99))
        if any(each is None for each in passed):
            return NONE
        return join(self.type_of(each) for each in passed)

    def _attribute(self, node: ast.Attribute) -> Types:
        owner = is_self(self._script, node.value)
        if owner is not None:
            return self._of_self(owner, node.attr)
        return join(member(each, node.attr) for each in self.type_of(node.value))

    def _of_self(self, owner: ast.ClassDef, name: str) -> Types:
        """An attribute of an instance: all that sets it, in this class, its relatives in the
        program, and from outside, must agree."""
        found: list[Binding] = []
        for target, binding in self.bindings.attributes.get(name, ()):
            other = is_self(self._script, target.value)
            if other is None or other is owner or _related(other, owner):
                found.append(binding)
        for binding in self.bindings.names.get((id(owner), name), ()):
            found.append(binding)
        return self._bound(found)

    def _call(self, node: ast.Call) -> Types:
        last = getattr(node.func, "attr", "")
        if last in _RUNNERS and node.args:
            inner = self.type_of(node.args[0])
            if inner and all(each.form == "coroutine" for each in inner):
                return awaited(inner) if last != "run_coroutine_threadsafe" else NONE
        if isinstance(node.func, ast.Name):
            bound = self.bindings.find(node.func)
            if len(bound) == 1 and bound[0].how == "def":
                return self._own(bound[0].node)
        elif isinstance(node.func, ast.Attribute):
            owner = is_self(self._script, node.func.value)
            own = self.bindings.names.get((id(owner), last), []) if owner is not None else []
            if len(own) == 1 and own[0].how == "def":
                return self._own(own[0].node)
        return join(called(each) for each in self.type_of(node.func))

    def _own(self, function: ast.AST) -> Types:
        """The return types of a function of the program."""
        if not isinstance(function, FUNCTIONS) or function.decorator_list:
            return NONE
        inside = [
            n for n in self._script.below(function) if self._script.function_of(n) is function
        ]
        if any(isinstance(n, (ast.Yield, ast.YieldFrom)) for n in inside):
            return NONE
        given = [n.value for n in inside if isinstance(n, ast.Return) and n.value is not None]
        found = self._some(given)
        if isinstance(function, ast.AsyncFunctionDef) and found:
            return frozenset({Known("coroutine", inner=tuple(sorted(found)))})
        return found


def _related(one: ast.ClassDef, other: ast.ClassDef) -> bool:
    def bases(of: ast.ClassDef) -> set[str]:
        return {getattr(b, "attr", "") or getattr(b, "id", "") for b in of.bases}

    return one.name in bases(other) or other.name in bases(one) or bool(bases(one) & bases(other))


def _is_none(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


__all__ = ["Proof", "class_of"]
