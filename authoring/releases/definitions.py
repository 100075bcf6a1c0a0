"""The definitions in the modules of a release, read from their syntax."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ...reading.packages.release import Release
from ...reading.python.nodes import FUNCTIONS, FunctionNode
from ...reading.python.parsing import STARS, Unreadable, parse, signature_of
from ..surface.ranking import is_test
from .logic import logic_of, shown, words_of
from .tables import Entries, entries_of


class Parameter(NamedTuple):
    """``kind``: ``positional``, ``any``, ``keyword``, ``*`` or ``**``; a ``default`` of None means
    that it must be given."""

    name: str
    kind: str
    default: str | None


class Definition(NamedTuple):
    """A ``function``, ``class``, ``constant``, or ``table`` of constants, by its dotted name.

    ``inside`` is the module, or the class of a method and attribute. ``told`` has the bases of a
    class, or what a function is said to return; ``value`` that of a constant."""

    kind: str
    name: str
    inside: str
    file: str
    line: int
    parameters: tuple[Parameter, ...] = ()
    told: str = ""
    value: str = ""
    entries: Entries = ()
    logic: str = ""
    words: frozenset[str] = frozenset()

    @property
    def short(self) -> str:
        """The name without its module or class."""
        return self.name.rpartition(".")[2]

    @property
    def where(self) -> str:
        """The file and line of the definition."""
        return f"{self.file}:{self.line}"


class Module(NamedTuple):
    """The definitions of a file by name, and the names that it imports from elsewhere."""

    definitions: Mapping[str, Definition]
    imports: Mapping[str, str]


_EMPTY = Module({}, {})


class Reader:
    """Reads modules; the same content under the same name is parsed once for all releases."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, bytes], Module] = {}

    def differing(self, old: Release, new: Release) -> tuple[dict[str, Module], dict[str, Module]]:
        """The modules of two releases, without tests and without those that are the same."""
        sides = [
            {name: release.read(name) for name, file in release.files.items() if not is_test(file)}
            for release in (old, new)
        ]
        before, after = (
            {name: self._module(name, raw, release.files[name])
             for name, raw in side.items() if raw != other.get(name)}
            for release, side, other in zip((old, new), sides, reversed(sides), strict=True)
        )  # fmt: skip
        return before, after

    def _module(self, name: str, raw: bytes, file: str) -> Module:
        key = name, hashlib.blake2b(raw, digest_size=16).digest()
        if key not in self._known:
            self._known[key] = _parsed(raw, name, file)
        return self._known[key]


def _parsed(raw: bytes, name: str, file: str) -> Module:
    try:
        tree = parse(raw)[0]
        found = {each.name: each for each in _defined(tree.body, name, name, file)}
        return Module(found, dict(_imported(tree.body, name)))
    except (Unreadable, RecursionError):
        return _EMPTY


def is_public(name: str) -> bool:
    """Whether no part of a dotted name is private."""
    return not any(
        part.startswith("_") and not (part.startswith("__") and part.endswith("__"))
        for part in name.split(".")
    )


def _defined(body: Sequence[ast.stmt], inside: str, module: str, file: str) -> Iterator[Definition]:
    for statement in body:
        if isinstance(statement, FUNCTIONS):
            yield from _function(statement, inside, file)
        elif isinstance(statement, ast.ClassDef):
            name = f"{inside}.{statement.name}"
            told = ", ".join(shown(base) for base in statement.bases)
            yield Definition("class", name, inside, file, statement.lineno, told=told,
                             logic=logic_of(statement.body))  # fmt: skip
            yield from _defined(statement.body, name, module, file)
        elif isinstance(statement, ast.Assign | ast.AnnAssign):
            yield from _assigned(statement, inside, file)
        elif isinstance(statement, ast.If | ast.Try | ast.With):
            yield from _defined(_blocks(statement), inside, module, file)


def _blocks(statement: ast.If | ast.Try | ast.With) -> list[ast.stmt]:
    """The statements inside; those that count if a name is defined in several come last."""
    if isinstance(statement, ast.If):
        return [*statement.orelse, *statement.body]
    if isinstance(statement, ast.Try):
        handled = [each for handler in statement.handlers for each in handler.body]
        return [*handled, *statement.orelse, *statement.body]
    return statement.body


def _function(node: FunctionNode, inside: str, file: str) -> Iterator[Definition]:
    name = f"{inside}.{node.name}"
    decorators = [shown(each) for each in node.decorator_list]
    tables = list(_tables_in(node.body, name, file))
    listed = {key for table in tables for key, _ in table.entries}
    yield Definition(
        "function", name, inside, file, node.lineno, tuple(_parameters(node)),
        shown(node.returns), logic=logic_of(node.body) + "".join(decorators),
        words=words_of(node.body) - listed,
    )  # fmt: skip
    yield from tables


def _tables_in(body: Sequence[ast.stmt], function: str, file: str) -> Iterator[Definition]:
    for statement in body:
        for part in ast.walk(statement):
            if isinstance(part, ast.Return) and (found := entries_of(part.value)):
                yield Definition(
                    "table", f"{function}()", function, file, part.lineno, entries=found
                )
            elif isinstance(part, ast.Assign | ast.AnnAssign):
                yield from (x for x in _assigned(part, function, file) if x.kind == "table")


def _assigned(node: ast.Assign | ast.AnnAssign, inside: str, file: str) -> Iterator[Definition]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    for target in targets:
        if isinstance(target, ast.Name):
            name = f"{inside}.{target.id}"
            if found := entries_of(node.value):
                yield Definition("table", name, inside, file, node.lineno, entries=found)
            else:
                yield Definition(
                    "constant", name, inside, file, node.lineno, value=shown(node.value)
                )


def _parameters(node: FunctionNode) -> Iterator[Parameter]:
    for at, each in enumerate(signature_of(node)):
        if at or each.name not in ("self", "cls"):
            given = "" if each.kind in STARS else None
            yield Parameter(each.name, each.kind, shown(each.default) if each.default else given)


def _imported(body: Sequence[ast.stmt], module: str) -> Iterator[tuple[str, str]]:
    for statement in body:
        if isinstance(statement, ast.ImportFrom):
            source = f"{'.' * statement.level}{statement.module or ''}"
            for each in statement.names:
                yield each.asname or each.name, f"{source}.{each.name}"
        elif isinstance(statement, ast.If | ast.Try | ast.With):
            yield from _imported(_blocks(statement), module)
