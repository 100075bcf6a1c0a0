"""A Python file with what its names mean: imports, classes, assignments, who calls whom."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import TypeVar

from ..script.sources import Source
from .words import words

MAX_NODES = 400_000
MAX_DEPTH = 50
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
Function = ast.FunctionDef | ast.AsyncFunctionDef
_CLASS_NAME = re.compile(r"_*[A-Z][A-Za-z0-9_]*\Z", re.ASCII)
_CONSTANT_NAME = re.compile(r"_*[A-Z][A-Z0-9_]+\Z", re.ASCII)
_Node = TypeVar("_Node", bound=ast.AST)


class Code:
    """A file that was parsed. ``whole`` says that no part of it was left out."""

    def __init__(self, source: Source, tree: ast.Module, whole: bool) -> None:
        self.source, self.tree = source, tree
        self.nodes: list[ast.AST] = []
        self.parents: dict[int, ast.AST] = {}
        waiting: list[ast.AST] = [tree]
        while waiting and len(self.nodes) < MAX_NODES:
            node = waiting.pop()
            self.nodes.append(node)
            children = list(ast.iter_child_nodes(node))
            self.parents.update((id(child), node) for child in children)
            waiting.extend(reversed(children))
        self.whole = whole and not waiting

    @property
    def name(self) -> str:
        """The file, as it was given."""
        return self.source.name

    def all(self, kind: type[_Node], below: ast.AST | None = None) -> Iterator[_Node]:
        """The nodes of a type, in the order of the text; those below a node or all."""
        nodes = self.nodes if below is None else self.below(below)
        return (node for node in nodes if isinstance(node, kind))

    def below(self, node: ast.AST) -> Iterator[ast.AST]:
        """A node and all below it, in the order of the text."""
        waiting = [node]
        while waiting:
            each = waiting.pop()
            yield each
            waiting.extend(reversed(list(ast.iter_child_nodes(each))))

    def above(self, node: ast.AST) -> Iterator[ast.AST]:
        """What contains a node, innermost first."""
        while (parent := self.parents.get(id(node))) is not None:
            yield parent
            node = parent

    def class_of(self, node: ast.AST) -> ast.ClassDef | None:
        """The innermost class around a node."""
        return next((each for each in self.above(node) if isinstance(each, ast.ClassDef)), None)

    def function_of(self, node: ast.AST) -> Function | None:
        """The innermost function around a node."""
        return next((each for each in self.above(node) if isinstance(each, FUNCTIONS)), None)

    def line(self, node: ast.AST) -> int:
        """The line of a node in the file."""
        return self.source.place(node).line

    def at(self, node: ast.AST) -> str:
        """``file:line`` of a node."""
        return self.source.place(node).location(self.name)

    @cached_property
    def imports(self) -> dict[str, str]:
        """Name -> what it was imported as: ``torch.nn`` or ``.custom_calls.CustomRMSNorm``."""
        found: dict[str, str] = {}
        for node in self.nodes:
            if isinstance(node, ast.Import):
                for alias in node.names:
                    short = alias.asname or alias.name.partition(".")[0]
                    found[short] = alias.name if alias.asname else short
            elif isinstance(node, ast.ImportFrom):
                module = "." * node.level + (node.module or "")
                for alias in node.names:
                    found[alias.asname or alias.name] = f"{module}.{alias.name}"
        return found

    @cached_property
    def modules(self) -> frozenset[str]:
        """The modules that are imported, with their full names."""
        found: set[str] = set()
        for node in self.nodes:
            if isinstance(node, ast.Import):
                found.update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                found.add(node.module or "")
        return frozenset(found)

    @cached_property
    def classes(self) -> dict[str, ast.ClassDef]:
        """The classes of the file by name, nested ones too; the last of a name counts."""
        return {node.name: node for node in self.all(ast.ClassDef)}

    @cached_property
    def is_port(self) -> bool:
        """Whether it takes anything from the Neuron packages."""
        roots = words("port-packages")
        return any(m.partition(".")[0] in roots or m in roots for m in self.modules) or any(
            module.startswith(f"{root}.") for module in self.modules for root in roots
        )

    def class_name(self, node: ast.AST | None, called: bool = False) -> str | None:
        """The class that an expression names, ``RMSNorm`` or ``nn.RMSNorm``: one that the file
        defines, or a name with a capital that it imports. A name all in capitals is a constant
        unless it is ``called``. None for anything else."""
        if isinstance(node, ast.Name):
            if node.id in self.classes:
                return node.id
            is_class = node.id in self.imports and _is_class_name(node.id, called)
            return node.id if is_class else None
        name = dotted(node)
        if not name or not _is_class_name(name.rpartition(".")[2], called):
            return None
        return name if name.partition(".")[0] in self.imports else None

    @cached_property
    def values(self) -> dict[str, ast.expr]:
        """Name or ``self.name`` -> value, of those that are assigned exactly once in the file."""
        found: dict[str, ast.expr] = {}
        spoilt: set[str] = set()
        for node in self.nodes:
            for target, value in assignments(node):
                name = dotted(target)
                if name in found:
                    spoilt.add(name)
                elif name:
                    found[name] = value
        return {name: value for name, value in found.items() if name not in spoilt}

    def methods(self, owner: ast.ClassDef) -> dict[str, Function]:
        """The methods of a class by name."""
        return {node.name: node for node in owner.body if isinstance(node, FUNCTIONS)}

    def forward_methods(self, owner: ast.ClassDef) -> list[Function]:
        """``forward`` of a class and the methods of the class that it calls, also indirectly."""
        methods = self.methods(owner)
        names = [name for name in methods if name in ("forward", "__call__")]
        for name in names:  # grows while it is read
            for call in self.all(ast.Call, methods[name]):
                called = dotted(call.func)
                short = called[5:] if called.startswith("self.") else ""
                if short in methods and short not in names:
                    names.append(short)
        return [methods[name] for name in names]

    @cached_property
    def forwards(self) -> list[Function]:
        """The forward methods of all classes, in the order of the text."""
        # The forward of an autograd function belongs to training.
        owners = (
            owner
            for owner in self.all(ast.ClassDef)
            if not any(last_name(base) == "Function" for base in owner.bases)
        )
        found = [method for owner in owners for method in self.forward_methods(owner)]
        return list({id(each): each for each in found}.values())


def assignments(node: ast.AST) -> Iterable[tuple[ast.expr, ast.expr]]:
    """(target, value) of an assignment; none for other statements."""
    if isinstance(node, ast.Assign):
        return [(target, node.value) for target in node.targets]
    if isinstance(node, ast.AnnAssign) and node.value is not None:
        return [(node.target, node.value)]
    if isinstance(node, ast.NamedExpr):
        return [(node.target, node.value)]
    return []


def dotted(node: ast.AST | None) -> str:
    """``a.b.c`` of names and attributes; empty for anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute) and len(parts) < MAX_DEPTH:
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    return ".".join([node.id, *reversed(parts)])


def last_name(node: ast.AST | None) -> str:
    """The last part of a name or attribute, also of ``f().g``; empty for anything else."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def keywords(call: ast.Call) -> dict[str, ast.expr]:
    """The keyword arguments of a call by name."""
    return {each.arg: each.value for each in call.keywords if each.arg is not None}


def is_open(call: ast.Call) -> bool:
    """Whether a call takes arguments that cannot be seen (``*args`` or ``**kwargs``)."""
    return any(isinstance(a, ast.Starred) for a in call.args) or any(
        each.arg is None for each in call.keywords
    )


def _is_class_name(name: str, called: bool) -> bool:
    return bool(_CLASS_NAME.match(name)) and (called or not _CONSTANT_NAME.match(name))
