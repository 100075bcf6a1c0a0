"""A script that was read, and the findings of its checks."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast

from ...reading.python.nodes import (
    COMPREHENSIONS,
    FUNCTIONS,
    LOOPS,
    Nodes,
    Tree,
    constant,
    last_name,
)
from ...reading.python.project import Module, Project, is_test_name
from .reading.statements import follow
from .reading.terms import Called
from .reading.values import ELSEWHERE, words

_Found = TypeVar("_Found")
_AS_TINKER = re.compile(r"(?:install|patch|replace|mock|fake)\w{0,20}_tinker(?:_\w{1,20})?")


class Finding(NamedTuple):
    """A pattern at a place; ``node`` is None if the pattern was searched for and is not there.
    ``decided_by`` is an expression whose value makes the pattern, ``assumed`` a further assumption,
    ``other`` the second place that is involved, ``given`` the code at the place and ``against`` the
    value that it contradicts. Among findings with the same ``number``, only the first place counts.
    """

    pattern: str
    node: ast.AST | None
    decided_by: ast.AST | None = None
    assumed: str = ""
    number: int = 0
    other: ast.AST | None = None
    given: str = ""
    against: str = ""


def at_first(pattern: str, nodes: Iterable[ast.AST]) -> Iterator[Finding]:
    """The pattern at the first of the nodes; nothing if there is none."""
    return (Finding(pattern, node) for node in islice(nodes, 1))


# Kinds of values that are part of the SDK, if the code proves it.
_OF_SDK = frozenset({
    "training", "sampling", "service", "rest", "client-future", "future", "coroutine", "result",
    "result-field", "capabilities", "sequence",
})  # fmt: skip


OF_TINKER = "that the address of the service is that of Tinker"
_EXPECTING = frozenset({"raises", "assertRaises", "assertRaisesRegex", "warns"})


class Script(Nodes):
    """A program that was read and followed: a script with its imports from the project.

    ``whole`` is true if it was parsed and followed to its end; ``complete`` if it also uses no
    code from modules that were not read. ``words`` are all names, keywords and words of texts
    in it, without docstrings.
    """

    def __init__(self, entry: Module, project: Project | None = None) -> None:
        find = project.find if project is not None else lambda *_: None
        alone = None if project is not None else Tree(entry.tree)
        self._project = project
        self._kept: dict[Callable[[Script], Iterable[Any]], tuple[Any, ...]] = {}

        def nodes_of(key: str, tree: ast.Module) -> Tree:
            return alone or (project.nodes_of(key) if project is not None else Tree(tree))

        self.machine, followed = follow(entry.tree, entry.key, find, nodes_of)
        keys = [key for key, _ in self.machine.trees]
        self.modules = [project.module(key) if project else entry for key in keys]
        super().__init__(*(nodes_of(module.key, module.tree) for module in self.modules))
        self.whole = self.whole and followed and all(module.whole for module in self.modules)
        self._keys = {id(module.tree): module for module in self.modules}
        told = self.all((ast.Name, ast.Import, ast.ImportFrom))
        self.complete = self.whole and not any(map(self._hides_code, told))

    @property
    def in_project(self) -> bool:
        """Whether the files of the project are around it."""
        return self._project is not None

    def carries(self, package: str) -> bool:
        """Whether the project holds a copy of a package that others install."""
        key = self.modules[0].key
        return self._project is not None and self._project.carries(key, package)

    @property
    def addresses(self) -> list[object]:
        """The addresses of services that may differ from Tinker's; None if an address is
        unknown."""
        values = self.machine.kinds.values()
        found = [v.const for v in values if v.kind == "service" and v.op == ELSEWHERE]
        return [*found, None] if self.replaces_sdk else found

    @cached_property
    def replaces_sdk(self) -> bool:
        """Whether the program puts a module of its own in the place of the SDK."""
        named = any(map(_AS_TINKER.fullmatch, self.called()))
        return named or any(map(_puts_in_place, self.all(ast.Assign)))

    @property
    def rehearses(self) -> bool:
        """Whether the program is a test or a benchmark, which trains nothing that is kept."""
        return _rehearses(self.modules[0])

    def module_of(self, node: ast.AST) -> Module:
        """The module whose text contains a node."""
        node = getattr(node, "of", node)
        *_, top = node, *self.above(node)
        return self._keys.get(id(top), self.modules[0])

    def _hides_code(self, node: ast.AST) -> bool:
        """Whether code comes from elsewhere: modules that were not read, star imports, exec."""
        if isinstance(node, ast.Name):
            return node.id in ("exec", "eval", "__import__")
        if isinstance(node, ast.Import):
            names = [(alias.name, 0) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [(node.module or alias.name, node.level) for alias in node.names]
        else:
            return False
        star = isinstance(node, ast.ImportFrom) and any(a.name == "*" for a in node.names)
        return any(self.is_unread(node, name, level, star) for name, level in names)

    def is_unread(self, node: ast.AST, name: str, level: int = 0, star: bool = False) -> bool:
        """Whether a module that is imported at a node is not a file of the project, and not one
        that is known to hide no calls of the SDK (unless all of it is taken)."""
        if self.machine.find(self.module_of(node).key, name, level) is not None:
            return False
        return star or bool(level) or not _is_known(name.partition(".")[0])

    def calls(self) -> Iterator[ast.Call]:
        """All calls, in the order of the text."""
        return self.all(ast.Call)

    def kept(self, find: Callable[[Script], Iterable[_Found]]) -> tuple[_Found, ...]:
        """The results of a search in the program, computed once."""
        if find not in self._kept:
            self._kept[find] = tuple(find(self))
        return cast("tuple[_Found, ...]", self._kept[find])

    @cached_property
    def readings(self) -> dict[int, list[Called]]:
        """All readings of each call, by the identity of its node."""
        found: dict[int, list[Called]] = {}
        for call in self.machine.trace.calls:
            found.setdefault(id(call.node), []).append(call)
        return found

    @cached_property
    def givers(self) -> dict[int, Called]:
        """The first call that returned a term, by the identity of the term."""
        return {id(call.term): call for call in reversed(self.machine.trace.calls)}

    @cached_property
    def uses(self) -> dict[int, set[int]]:
        """The functions and classes of the project that each function calls, by identity."""
        found: dict[int, set[int]] = {}
        for call in self.calls():
            target = self.machine.value(call.func).node
            for function in self.above(call) if target is not None else ():
                if isinstance(function, FUNCTIONS):
                    found.setdefault(id(function), set()).add(id(target))
        return found

    def loops_of(self, node: ast.AST) -> list[ast.AST]:
        """Loops and comprehensions around a node within its function, innermost first."""
        found: list[ast.AST] = []
        for above in self.above(node):
            if isinstance(above, FUNCTIONS):
                break
            if isinstance(above, (*LOOPS, *COMPREHENSIONS)):
                found.append(above)
        return found


def _is_known(package: str) -> bool:
    return package in words("packages") or package in sys.stdlib_module_names


def literal(script: Script, node: ast.AST | None) -> str:
    """The text that an expression is known to have, also through variables; else an empty text."""
    value = script.machine.value(node).const
    value = constant(node) if value is None else value
    return value if isinstance(value, str) else ""


def always(script: Script, call: ast.Call, given: ast.expr | None) -> str:
    """The literal text that an argument of a call has each time that the call is read, or an empty
    text: a function may be called with one model here and with another one there."""
    text = literal(script, given)
    key = next((k.arg for k in call.keywords if k.value is given), None)
    place = call.args.index(given) if given in call.args else -1
    for each in script.readings.get(id(call), ()) if text else ():
        value = each.named.get(key) if key else each.given("", place)
        if value is not None and value.const != text:
            return ""
    return text


def _puts_in_place(node: ast.Assign) -> bool:
    """``sys.modules["tinker"] = ...``."""
    return any(
        isinstance(target, ast.Subscript)
        and ast.unparse(target.value) == "sys.modules"
        and isinstance(target.slice, ast.Constant)
        and target.slice.value == "tinker"
        for target in node.targets
    )


def _rehearses(module: Module) -> bool:
    path = Path(module.key)
    folder = path.parent.name.lower()
    stem = path.stem.lower()
    return is_test_name(stem) or "bench" in stem or folder in ("benchmark", "benchmarks")


def is_rehearsed(script: Script, finding: Finding) -> bool:
    """Whether a test expects the pattern: it expects a failure, or its values are stand-ins. A
    benchmark that another program imports stays a benchmark."""
    if finding.node is None:
        return False
    if not script.rehearses:
        return _rehearses(script.module_of(finding.node))
    expects = any(
        isinstance(item, ast.withitem)
        and last_name(getattr(item.context_expr, "func", None)) in _EXPECTING
        for above in script.above(finding.node)
        for item in getattr(above, "items", ())
    )
    return expects or bool(assumption(script, finding))


def assumption(script: Script, finding: Finding) -> str:
    """The assumption behind a finding that the code does not prove; empty if the code proves
    everything."""
    machine, node = script.machine, finding.node
    stated = finding.assumed or machine.value(finding.decided_by).assumed
    if stated or node is None:
        return stated
    if isinstance(node, (*LOOPS, *COMPREHENSIONS)):
        return next((e.assumed for e in machine.events if node in e.loops and e.assumed), "")
    used = (machine.value(each) for each in script.below(node))
    return next((v.assumed for v in used if v.kind in _OF_SDK and v.assumed), "")
