"""The modules of a release, and the meaning of each of their names."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ..python.nodes import FUNCTIONS
from .release import Release

MAX_LINKS = 12
"""Imports that are followed from a name to what it stands for."""


class Bound(NamedTuple):
    """The binding of a name in a module: a ``def``, a ``class``, an ``import`` of ``path`` or a
    ``value``. A function that is declared ``@overload`` has several nodes."""

    form: str
    node: ast.AST | None = None
    path: str = ""


class Meant(NamedTuple):
    """The meaning of a name: ``form`` is ``module``, ``class``, ``def``, ``value`` or ``outside``;
    the node of a class or function is in ``module``."""

    form: str
    path: str
    module: str = ""
    node: ast.AST | None = None


class Names:
    """The names of one module. ``open`` if it may have others, too."""

    def __init__(self, name: str, package: bool, tree: ast.Module) -> None:
        self.name, self.package, self.tree = name, package, tree
        self.bound: dict[str, list[Bound]] = {}
        self.stars: list[str] = []
        self.open = False
        for name_, bound in self._bindings(tree.body):
            self.bound.setdefault(name_, []).append(bound)
        self.open = self.open or "__getattr__" in self.bound

    def _bindings(self, body: Sequence[ast.stmt]) -> Iterator[tuple[str, Bound]]:
        for node in body:
            if isinstance(node, FUNCTIONS):
                yield node.name, Bound("def", node)
            elif isinstance(node, ast.ClassDef):
                yield node.name, Bound("class", node)
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    whole = alias.name if alias.asname else alias.name.partition(".")[0]
                    yield alias.asname or whole, Bound("import", path=whole)
            elif isinstance(node, ast.ImportFrom):
                yield from self._imported(node)
            else:
                for part in ast.iter_child_nodes(node):
                    yield from _stored(part)
                for block in ("body", "orelse", "finalbody"):
                    yield from self._bindings(getattr(node, block, None) or ())
                for handler in getattr(node, "handlers", ()):
                    yield from self._bindings(handler.body)

    def _imported(self, node: ast.ImportFrom) -> Iterator[tuple[str, Bound]]:
        origin = self.absolute(node.module or "", node.level)
        for alias in node.names:
            if alias.name == "*":
                self.stars.append(origin)
            else:
                yield alias.asname or alias.name, Bound("import", path=f"{origin}.{alias.name}")

    def absolute(self, name: str, level: int) -> str:
        """The dotted name of a module that an import names."""
        if not level:
            return name
        parts = self.name.split(".")
        kept = parts[: len(parts) - level + self.package]
        return ".".join([*kept, *([name] if name else [])])


def _stored(node: ast.AST) -> Iterator[tuple[str, Bound]]:
    """Names that an expression or target binds."""
    if isinstance(node, (ast.stmt, ast.ExceptHandler)):
        return
    for each in ast.walk(node):
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store):
            yield each.id, Bound("value", each)


class Modules:
    """The modules of a release by dotted name."""

    def __init__(self, modules: dict[str, Names]) -> None:
        self.modules = modules
        self.packages = frozenset(name.partition(".")[0] for name in modules)

    def names(self, module: str, seen: frozenset[str] = frozenset()) -> tuple[set[str], bool]:
        """The names of a module, star imports included, and whether it may have others."""
        here = self.modules[module]
        found, open_ = set(here.bound), here.open
        for origin in here.stars:
            if origin in self.modules and origin not in seen:
                more, also = self.names(origin, seen | {module})
                found |= {name for name in more if not name.startswith("_")}
                open_ |= also
            elif origin not in self.modules:
                open_ = True
        start = f"{module}."
        found |= {name.removeprefix(start).partition(".")[0]
                  for name in self.modules if name.startswith(start)}  # fmt: skip
        return found, open_

    def meaning(self, module: str, name: str, links: int = 0) -> Meant:
        """Resolve a name of a module."""
        path = f"{module}.{name}"
        here = self.modules.get(module)
        if here is None or links > MAX_LINKS:
            return Meant("outside", path)
        bound = here.bound.get(name, [])
        kinds = {each.form for each in bound}
        if kinds in ({"class"}, {"def"}):
            return Meant(bound[-1].form, path, module, bound[-1].node)
        if kinds == {"import"} and bound[-1].path == path:
            return Meant("module" if path in self.modules else "outside", path)
        if kinds == {"import"}:
            return self.at(bound[-1].path, links + 1)
        if path in self.modules:
            return Meant("module", path)
        if not bound:
            for origin in here.stars:
                if origin in self.modules and name in self.names(origin)[0]:
                    return self.meaning(origin, name, links + 1)
        return Meant("value", path, module)

    def at(self, path: str, links: int = 0) -> Meant:
        """Resolve a dotted path."""
        owner, _, name = path.rpartition(".")
        if owner in self.modules:
            return self.meaning(owner, name, links)
        return Meant("module" if path in self.modules else "outside", path)

    def named(self, module: str, node: ast.AST | None) -> Meant:
        """Resolve a name or a chain of names in a module."""
        if isinstance(node, ast.Name):
            if node.id in self.names(module)[0]:
                return self.meaning(module, node.id)
            return Meant("outside", node.id)
        if isinstance(node, ast.Attribute):
            owner = self.named(module, node.value)
            if owner.form in ("module", "outside"):
                path = f"{owner.path}.{node.attr}"
                return self.at(path) if owner.form == "module" else Meant("outside", path)
        return Meant("outside", "")


def modules_of(release: Release, top: str) -> Modules:
    """The modules of a release below ``top``; those that do not parse are left out."""
    found: dict[str, Names] = {}
    for module, file in release.files.items():
        if module.partition(".")[0] == top and not _is_aside(module):
            tree = release.tree(module)
            if tree is not None:
                found[module] = Names(module, file.endswith("/__init__.py"), tree)
    for name in [*found]:  # packages without an __init__.py
        for above in _above(name):
            found.setdefault(above, Names(above, True, ast.Module([], [])))
    return Modules(found)


def _above(name: str) -> Iterator[str]:
    while name := name.rpartition(".")[0]:
        yield name


def _is_aside(name: str) -> bool:
    """Whether a module is a test or generated code, which other modules do not import."""
    parts = name.split(".")
    last = parts[-1]
    return bool({"tests", "_tests", "test"} & set(parts)) or last.startswith("test_") or (
        last.endswith(("_test", "_pb2")) or last == "conftest")  # fmt: skip
