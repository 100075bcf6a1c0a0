"""One file of Python -> its sites. The file is parsed as text; nothing of it is run."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ..python.guards import Guard, exits, guard_texts
from ..python.nodes import FUNCTIONS, FunctionNode, dotted
from ..python.parsing import Unreadable, parameters, parse
from ..python.parts import Parts
from ..python.scopes import Scope
from ..python.templates import Way, templates
from .exceptions import ExceptionClass, Thrown, class_of
from .speech import Said, checked, message_of, said_by

_WORDS = (b"raise", b"assert", b"warn", b"log", b"exit", b"print", b"echo", b"error", b"_check",
          b"Error", b"Exception")  # fmt: skip
MAX_SITES = 20_000
_SILENT: Parts = ("",)


@dataclass(slots=True)
class RawSite:
    """A site before the classes of its package are known; ``thrown`` is set for a raise whose class
    may build the message itself."""

    function: str
    line: int
    last_line: int
    kind: str
    level: str
    exception: str
    parts: Parts
    guards: tuple[str, ...]
    parameters: tuple[str, ...]
    thrown: Thrown | None = None


@dataclass(slots=True)
class FileSites:
    """The sites of a file, and the exception classes that it defines."""

    sites: list[RawSite] = field(default_factory=list)
    classes: list[ExceptionClass] = field(default_factory=list)


def read_sites(raw: bytes) -> FileSites:
    """All sites of a source file in their order. Raises :class:`Unreadable`."""
    if not any(word in raw for word in _WORDS):
        return FileSites()
    tree, text = parse(raw)
    try:
        return _Reader(text).read(tree)
    except (RecursionError, MemoryError):
        raise Unreadable("nested too deep") from None


@dataclass(frozen=True, slots=True)
class _Place:
    """The surroundings of statements: their function, its parameters, names in view, tests that
    hold."""

    function: str
    parameters: tuple[str, ...]
    scope: Scope
    guard: Guard | None = None


class _Reader:
    """Walks over the statements of a module; the depth of their nesting does not matter."""

    def __init__(self, text: str) -> None:
        self._lines = text.encode().split(b"\n")
        self._found = FileSites()
        self._texts: dict[Guard, str] = {}

    def read(self, tree: ast.Module) -> FileSites:
        module = Scope()
        for statement in tree.body:
            module.note(statement)
        waiting: list[tuple[Sequence[ast.stmt], _Place]] = [(tree.body, _Place("", (), module))]
        while waiting and len(self._found.sites) < MAX_SITES:
            body, place = waiting.pop()
            self._block(body, place, waiting)
        self._found.sites.sort(key=lambda site: site.line)
        return self._found

    def _block(
        self, body: Sequence[ast.stmt], place: _Place,
        waiting: list[tuple[Sequence[ast.stmt], _Place]],
    ) -> None:  # fmt: skip
        """Read the sites of one block. Its inner blocks are put on ``waiting``, except those of its
        function, which are read at once so that assignments are seen in order."""
        passed: Guard | None = place.guard
        for statement in body:
            here = _Place(place.function, place.parameters, place.scope, passed)
            if isinstance(statement, ast.ClassDef):
                waiting.append(self._class(statement, place))
            elif isinstance(statement, FUNCTIONS):
                waiting.append(self._function(statement, place))
            else:
                place.scope.note(statement) if place.function else None
                self._simple(statement, here)
                for inner, guard in _inner(statement, passed):
                    self._block(inner, _Place(place.function, place.parameters, place.scope, guard),
                                waiting)  # fmt: skip
                passed = exits(statement, passed)

    def _class(self, node: ast.ClassDef, place: _Place) -> tuple[Sequence[ast.stmt], _Place]:
        scope = Scope(place.scope, is_class=True)
        for statement in node.body:
            scope.note(statement)
        found = class_of(node, scope, {each.name for each in self._found.classes})
        if found is not None:
            self._found.classes.append(found)
        return node.body, _Place(_qualified(place, node.name), (), scope)

    def _function(self, node: FunctionNode, place: _Place) -> tuple[Sequence[ast.stmt], _Place]:
        scope = Scope(place.scope)
        names = parameters(node)
        for name in names:
            scope.values[name] = []
        inside = place.function if place.scope.is_class else (
            f"{place.function}.<locals>" if place.function else "")  # fmt: skip
        name = f"{inside}.{node.name}" if inside else node.name
        return node.body, _Place(name, names, scope)

    def _simple(self, statement: ast.stmt, place: _Place) -> None:
        if isinstance(statement, ast.Raise):
            self._raise(statement, place)
        elif isinstance(statement, ast.Assert):
            texts = templates(statement.msg, Way(place.scope)) if statement.msg else [_SILENT]
            held = Guard(statement.test, "not", place.guard)
            inside = _Place(place.function, place.parameters, place.scope, held)
            self._add(statement, Said("assert", "", "AssertionError", texts), inside)
        elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            said, test = said_by(statement.value, place.scope), checked(statement.value)
            passed = Guard(test, "not", place.guard) if test is not None else place.guard
            if said is not None:
                here = _Place(place.function, place.parameters, place.scope, passed)
                self._add(statement, said, here)

    def _raise(self, statement: ast.Raise, place: _Place) -> None:
        raised = statement.exc
        if raised is None:
            return
        if isinstance(raised, ast.Name) and not raised.id[:1].isupper():
            known = place.scope.find(raised.id)
            raised = known[-1] if known else None
        if isinstance(raised, ast.Call):
            keywords = [each.value for each in raised.keywords if each.arg in _MESSAGES]
            texts = message_of([*raised.args, *keywords], place.scope)
            thrown = Thrown.of(raised, place.scope)
            self._add(statement, Said("raise", "", _class_name(raised.func), texts), place, thrown)
        elif raised is not None and _class_name(raised):
            self._add(statement, Said("raise", "", _class_name(raised), [_SILENT]), place, Thrown())

    def _add(
        self, statement: ast.stmt, said: Said, place: _Place, thrown: Thrown | None = None
    ) -> None:
        guards = guard_texts(place.guard, self._lines, self._texts)
        for parts in said.texts:
            self._found.sites.append(RawSite(
                place.function, statement.lineno, statement.end_lineno or statement.lineno,
                said.kind, said.level, said.exception, parts, guards, place.parameters, thrown,
            ))  # fmt: skip


_MESSAGES = frozenset({"message", "msg", "detail", "reason", "error", "error_msg"})


def _class_name(node: ast.expr) -> str:
    name = dotted(node)
    return name if name.rpartition(".")[2].lstrip("_")[:1].isupper() else ""


def _qualified(place: _Place, name: str) -> str:
    if not place.function:
        return name
    inside = place.function if place.scope.is_class else f"{place.function}.<locals>"
    return f"{inside}.{name}"


def _inner(
    statement: ast.stmt, guard: Guard | None
) -> Iterator[tuple[Sequence[ast.stmt], Guard | None]]:
    """The blocks inside of a statement, each with the guard that holds there."""
    if isinstance(statement, ast.If):
        yield statement.body, Guard(statement.test, "if", guard)
        yield statement.orelse, Guard(statement.test, "not", guard)
    elif isinstance(statement, ast.While):
        yield statement.body, Guard(statement.test, "while", guard)
        yield statement.orelse, guard
    elif isinstance(statement, ast.For | ast.AsyncFor):
        yield statement.body, guard
        yield statement.orelse, guard
    elif isinstance(statement, ast.With | ast.AsyncWith):
        yield statement.body, guard
    elif isinstance(statement, ast.Try | ast.TryStar):
        yield statement.body, guard
        for handler in statement.handlers:
            yield handler.body, Guard(handler, "except", guard)
        yield statement.orelse, guard
        yield statement.finalbody, guard
    elif isinstance(statement, ast.Match):
        for case in statement.cases:
            yield case.body, Guard(case, "case", guard, statement.subject)
