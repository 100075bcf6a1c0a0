"""Syntax trees with their nodes in the order of the text, read once and kept for all users."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from heapq import merge
from itertools import chain
from typing import Any, TypeVar, cast

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
LOOPS = (ast.For, ast.AsyncFor, ast.While)
COMPREHENSIONS = (ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp)
MAX_NODES = 400_000
_WORD = re.compile(r"\w+")
_Found = TypeVar("_Found")
_Node = TypeVar("_Node", bound=ast.AST)
# Fields that hold no nodes.
_PLAIN = frozenset({"id", "attr", "arg", "asname", "module", "level", "kind", "type_comment", "tag",
                    "conversion", "simple", "is_async", "rest", "kwd_attrs", "ctx"})  # fmt: skip
_OF_TYPE = {"Constant": "value", "Global": "names", "Nonlocal": "names"}
_NAMING = ("id", "attr", "arg", "name", "asname")
_fields: dict[type[ast.AST], tuple[tuple[str, ...], int]] = {}


def _fields_of(kind: type[ast.AST]) -> tuple[tuple[str, ...], int]:
    """The fields of a type that may hold nodes, and the number of its nodes that are mere
    contexts."""
    plain = _PLAIN | {_OF_TYPE.get(kind.__name__, "")}
    if kind.__name__ != "TypeAlias":
        plain |= {"name"}
    found = tuple(f for f in kind._fields if f not in plain), int("ctx" in kind._fields)
    return _fields.setdefault(kind, found)


class Tree:
    """The nodes of some trees. ``size`` counts contexts (Load, Store) too, which are not nodes
    here. ``whole`` is false if there are too many nodes to read them all."""

    def __init__(self, *roots: ast.Module) -> None:
        self.root = roots[0]
        self.nodes: list[ast.AST] = []
        self.parents: dict[int, ast.AST] = {}
        self.children: dict[int, list[ast.AST]] = {}
        self.of_type: dict[type[ast.AST], list[int]] = {}
        self.size = 0
        self._kept: dict[Callable[[Tree], Any], Any] = {}
        waiting: list[ast.AST] = [*reversed(roots)]
        nodes, parents, places = self.nodes, self.parents, self.of_type
        while waiting and self.size < MAX_NODES:
            node = waiting.pop()
            kind = type(node)
            if kind in places:
                places[kind].append(len(nodes))
            else:
                places[kind] = [len(nodes)]
            nodes.append(node)
            fields, contexts = _fields.get(kind) or _fields_of(kind)
            self.size += 1 + contexts
            below: list[ast.AST] = []
            for field in fields:
                value = getattr(node, field, None)
                if isinstance(value, list):
                    below += [each for each in value if isinstance(each, ast.AST)]
                elif isinstance(value, ast.AST):
                    below.append(value)
            if below:
                self.children[id(node)] = below
                for child in below:
                    parents[id(child)] = node
                waiting += below[::-1]
        self.whole = not waiting

    def of(self, kinds: type[ast.AST] | tuple[type[ast.AST], ...]) -> list[tuple[int, ast.AST]]:
        """The nodes of a type with their places, in the order of the text."""
        found = [places for kind, places in self.of_type.items() if issubclass(kind, kinds)]
        ordered = found[0] if len(found) == 1 else sorted(chain.from_iterable(found))
        return [(place, self.nodes[place]) for place in ordered]

    def by_level(self, kinds: type[ast.AST] | tuple[type[ast.AST], ...]) -> list[ast.AST]:
        """The nodes of a type, outer levels first, as ``ast.walk`` gives them."""
        found = [node for _, node in self.of(kinds)]
        return sorted(found, key=self._level)

    def _level(self, node: ast.AST) -> int:
        level = 0
        while (above := self.parents.get(id(node))) is not None:
            node, level = above, level + 1
        return level

    @cached_property
    def called(self) -> dict[str, list[tuple[int, ast.AST]]]:
        """The calls, by the last name of the called function."""
        found: dict[str, list[tuple[int, ast.AST]]] = {}
        for place, node in self.of(ast.Call):
            assert isinstance(node, ast.Call)
            found.setdefault(last_name(node.func), []).append((place, node))
        return found

    @cached_property
    def attributes(self) -> dict[str, list[tuple[int, ast.AST]]]:
        """The attributes that are read or set, by name."""
        found: dict[str, list[tuple[int, ast.AST]]] = {}
        for place, node in self.of(ast.Attribute):
            assert isinstance(node, ast.Attribute)
            found.setdefault(node.attr, []).append((place, node))
        return found

    @cached_property
    def imports(self) -> list[ast.AST]:
        """The import statements, outer levels first."""
        return self.by_level((ast.Import, ast.ImportFrom))

    @cached_property
    def definitions(self) -> list[ast.AST]:
        """Modules, classes and functions, outer levels first."""
        return self.by_level((ast.Module, ast.ClassDef, *FUNCTIONS))

    @cached_property
    def names(self) -> frozenset[str]:
        """The names of variables, attributes, parameters and keyword arguments."""
        found = {*self.attributes}
        for kind, places in self.of_type.items():
            for field in {"id", "arg"} & set(kind._fields):
                found.update(getattr(self.nodes[place], field) or "" for place in places)
        return frozenset(found)

    def kept(self, find: Callable[[Tree], _Found]) -> _Found:
        """Search the node once and keep the result."""
        if find not in self._kept:
            self._kept[find] = find(self)
        return cast("_Found", self._kept[find])

    @cached_property
    def words(self) -> frozenset[str]:
        """All names, keywords and words of texts; docstrings are left out."""
        found: set[str] = set()
        for kind, places in self.of_type.items():
            for field in set(_NAMING) & set(kind._fields):
                values = {getattr(self.nodes[place], field, None) for place in places}
                found.update(v.rpartition(".")[2] for v in values if isinstance(v, str))
        for _, node in self.of((ast.Constant, ast.ImportFrom, ast.alias)):
            if isinstance(node, ast.ImportFrom):
                found.update((node.module or "").split("."))
            elif isinstance(node, ast.alias):
                found.update(node.name.split("."))
            elif isinstance(text := getattr(node, "value", None), str) and not isinstance(
                self.parents.get(id(node)), ast.Expr
            ):
                found.update(_WORD.findall(text[:20_000]))
                found.update((text,) if len(text) < 40 else ())
        return frozenset(found)


class Nodes:
    """The nodes of the modules of a program. ``whole`` is false if there are too many."""

    def __init__(self, *given: ast.Module | Tree) -> None:
        parts = [each if isinstance(each, Tree) else Tree(each) for each in given]
        self.tree = parts[0].root
        if sum(part.size for part in parts) > MAX_NODES or not all(p.whole for p in parts):
            parts = [Tree(*(part.root for part in parts))]
        self._parts = parts
        self.whole = all(part.whole for part in parts)
        self.size = sum(part.size for part in parts)
        self.nodes: list[ast.AST] = []
        self.parents: dict[int, ast.AST] = {}
        self._children: dict[int, list[ast.AST]] = {}
        for part in parts:
            self.nodes += part.nodes
            self.parents.update(part.parents)
            self._children.update(part.children)
        self._all: dict[Any, list[ast.AST]] = {}

    @cached_property
    def words(self) -> frozenset[str]:
        """All names, keywords and words of texts in it, without docstrings."""
        return frozenset[str]().union(*(part.words for part in self._parts))

    def all(
        self, kind: type[_Node] | tuple[type[_Node], ...], below: ast.AST | None = None
    ) -> Iterator[_Node]:
        """The nodes of a type, in the order of the text; those below a node or all."""
        if below is not None:
            return (node for node in self.below(below) if isinstance(node, kind))
        found = self._all.get(kind)
        if found is None:
            found = self._all[kind] = [node for p in self._parts for _, node in p.of(kind)]
        return cast("Iterator[_Node]", iter(found))

    def calls_of(self, names: Iterable[str]) -> Iterator[ast.Call]:
        """The calls of functions with one of these last names, in the order of the text."""
        wanted = {*names}
        for part in self._parts:
            called = [part.called[name] for name in wanted & part.called.keys()]
            yield from cast("Iterator[ast.Call]", (node for _, node in merge(*called, key=_place)))

    def called(self) -> Iterator[str]:
        """The last names of all called functions."""
        return chain.from_iterable(part.called for part in self._parts)

    def attributes_of(self, names: Iterable[str]) -> Iterator[ast.Attribute]:
        """The attributes with one of these names, in the order of the text."""
        wanted = {*names}
        for part in self._parts:
            named = [part.attributes[name] for name in wanted & part.attributes.keys()]
            ordered = (node for _, node in merge(*named, key=_place))
            yield from cast("Iterator[ast.Attribute]", ordered)

    def below(self, node: ast.AST) -> Iterator[ast.AST]:
        """A node and all below it, in the order of the text."""
        waiting = [node]
        while waiting:
            each = waiting.pop()
            yield each
            waiting += self._children.get(id(each), ())[::-1]

    def above(self, node: ast.AST) -> Iterator[ast.AST]:
        """Yield the nodes that contain a node, innermost first."""
        while (parent := self.parents.get(id(node))) is not None:
            yield parent
            node = parent

    def function_of(self, node: ast.AST) -> FunctionNode | None:
        """The innermost function around a node."""
        return next((each for each in self.above(node) if isinstance(each, FUNCTIONS)), None)


def _place(found: tuple[int, ast.AST]) -> int:
    return found[0]


def last_name(node: ast.AST | None) -> str:
    """The last name of a dotted expression: ``b`` for ``x.a.b`` and ``b``."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def dotted(node: ast.AST | None) -> str:
    """``a.b.c`` for a chain of names, else an empty text."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    return ".".join([node.id, *reversed(names)])


def constant(node: ast.AST | None) -> Any:
    """The value of a literal (also signed or a product of numbers), else None."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = constant(node.operand)
        return -inner if _is_number(inner) else None
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mult, ast.Add, ast.Sub, ast.Div)):
        return folded(node.op, constant(node.left), constant(node.right))
    return None


def folded(op: ast.operator, left: Any, right: Any) -> Any:
    """The result of simple arithmetic on two numbers, else None."""
    if not (_is_number(left) and _is_number(right)):
        return None
    if isinstance(op, ast.Mult):
        return left * right
    if isinstance(op, ast.Add):
        return left + right
    if isinstance(op, ast.Sub):
        return left - right
    return left / right if isinstance(op, ast.Div) and right else None


def _is_number(value: Any) -> bool:
    plain = isinstance(value, (int, float)) and not isinstance(value, bool)
    return plain and -1e100 < value < 1e100


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
