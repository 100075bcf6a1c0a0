"""A Python file with what its names mean: imports, classes, assignments, who calls whom."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from functools import cached_property, partial

from ..script.reading.nodes import Nodes
from ..script.reading.sources import Source
from ..script.reading.values import FUNCTIONS, FunctionNode, dotted, last_name
from ..shared.data_tables import word_list

# The names that the reading of modeling files knows.
words = partial(word_list, __file__, "port_code.json")
MAX_DEPTH = 50
_CLASS_NAME = re.compile(r"_*[A-Z][A-Za-z0-9_]*\Z", re.ASCII)
_CONSTANT_NAME = re.compile(r"_*[A-Z][A-Z0-9_]+\Z", re.ASCII)


class Code(Nodes):
    """A file that was parsed. ``whole`` says that no part of it was left out."""

    def __init__(self, source: Source, tree: ast.Module, parsed: bool) -> None:
        super().__init__(tree)
        self.source = source
        self.whole = self.whole and parsed

    @property
    def name(self) -> str:
        """The file, as it was given."""
        return self.source.name

    def class_of(self, node: ast.AST) -> ast.ClassDef | None:
        """The innermost class around a node."""
        return next((each for each in self.above(node) if isinstance(each, ast.ClassDef)), None)

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

    def methods(self, owner: ast.ClassDef) -> dict[str, FunctionNode]:
        """The methods of a class by name."""
        return {node.name: node for node in owner.body if isinstance(node, FUNCTIONS)}

    def forward_methods(self, owner: ast.ClassDef) -> list[FunctionNode]:
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
    def forwards(self) -> list[FunctionNode]:
        """The forward methods of all classes, in the order of the text."""
        # The forward of an autograd function belongs to training.
        owners = (owner for owner in self.all(ast.ClassDef)
                  if "Function" not in map(last_name, owner.bases))  # fmt: skip
        found = [method for owner in owners for method in self.forward_methods(owner)]
        return list({id(each): each for each in found}.values())


def assignments(node: ast.AST) -> Iterable[tuple[ast.expr, ast.expr]]:
    """(target, value) of an assignment; none for other statements."""
    if isinstance(node, ast.Assign):
        return [(target, node.value) for target in node.targets]
    if isinstance(node, (ast.AnnAssign, ast.NamedExpr)) and node.value is not None:
        return [(node.target, node.value)]
    return []


def keywords(call: ast.Call) -> dict[str, ast.expr]:
    """The keyword arguments of a call by name."""
    return {each.arg: each.value for each in call.keywords if each.arg is not None}


def is_open(call: ast.Call) -> bool:
    """Whether a call takes arguments that cannot be seen (``*args`` or ``**kwargs``)."""
    stars = any(isinstance(each, ast.Starred) for each in call.args)
    return stars or any(each.arg is None for each in call.keywords)


def _is_class_name(name: str, called: bool) -> bool:
    return bool(_CLASS_NAME.match(name)) and (called or not _CONSTANT_NAME.match(name))
