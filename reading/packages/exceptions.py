"""Exception classes that build their message themselves."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ..python.nodes import dotted
from ..python.parts import Parts, has_words, join, literal, placeholder
from ..python.scopes import Scope
from ..python.templates import Way, template, templates

MAX_BASES = 8
_ENDINGS = ("Error", "Exception", "Warning", "Exit", "Interrupt", "Abort", "Failure", "Fault")


@dataclass(frozen=True, slots=True)
class ExceptionClass:
    """A class: its bases as they are written, and the message that it builds, with the parameters
    of its ``__init__`` as placeholders; ``parts`` is None if it builds no message."""

    name: str
    bases: tuple[str, ...]
    parameters: tuple[str, ...] = ()
    parts: Parts | None = None


@dataclass(frozen=True, slots=True)
class Thrown:
    """The arguments that a raise gives to its class, as templates."""

    positional: tuple[Parts, ...] = ()
    named: Mapping[str, Parts] = field(default_factory=dict)

    @classmethod
    def of(cls, call: ast.Call, scope: Scope) -> Thrown:
        """The arguments of a call."""
        way = Way(scope)
        positional = tuple(template(each, way) for each in call.args[:12])
        named = {each.arg: template(each.value, way) for each in call.keywords[:12] if each.arg}
        return cls(positional, named)


class Classes:
    """The exception classes of a package by name. Two of one name count as unknown unless they are
    in the same module as the raise."""

    def __init__(self, by_module: Mapping[str, Sequence[ExceptionClass]]) -> None:
        self._local = {(module, each.name): each
                       for module, classes in by_module.items() for each in classes}  # fmt: skip
        self._all: dict[str, list[ExceptionClass]] = {}
        for classes in by_module.values():
            for each in classes:
                self._all.setdefault(each.name, []).append(each)

    def find(self, module: str, name: str) -> ExceptionClass | None:
        """The class that ``name`` means in a module."""
        short = name.rpartition(".")[2]
        known = self._all.get(short, [])
        return self._local.get((module, short)) or (known[0] if len(known) == 1 else None)

    def ancestors(self, module: str, name: str) -> tuple[str, ...]:
        """The names of the bases, nearest first; () for a class from elsewhere."""
        found: list[str] = []
        here = self.find(module, name)
        while here is not None and len(found) < MAX_BASES:
            news = [base for base in here.bases if base not in found]
            found += news
            here = self.find(module, news[0]) if news else None
        return tuple(found[:MAX_BASES])

    def message(self, module: str, name: str, thrown: Thrown) -> Parts | None:
        """Return the message of the class for the arguments of a raise; None if it is the arguments
        as given."""
        seen: set[str] = set()
        here = self.find(module, name)
        while here is not None and here.name not in seen:
            if here.parts is not None:
                return _filled(here, thrown)
            seen.add(here.name)
            here = self.find(module, here.bases[0]) if here.bases else None
        return None


def class_of(node: ast.ClassDef, scope: Scope, known: Collection[str]) -> ExceptionClass | None:
    """The exception class that a definition makes, None if it does not look like one: by its name
    or a base, which may be one of those ``known``."""
    bases = tuple(filter(None, (dotted(base) for base in node.bases)))
    named = any(name.rstrip("_").endswith(_ENDINGS) for name in (node.name, *bases))
    if not bases or not (named or any(name in known for name in bases)):
        return None
    methods = {each.name: each for each in node.body if isinstance(each, ast.FunctionDef)}
    names: tuple[str, ...] = ()
    parts: Parts | None = None
    if "__init__" in methods:
        names, parts = _of_init(methods["__init__"], scope)
    if parts is None and "__str__" in methods:
        parts = _of_str(methods["__str__"], scope)
    return ExceptionClass(node.name, bases, names, parts)


def _of_init(node: ast.FunctionDef, outer: Scope) -> tuple[tuple[str, ...], Parts | None]:
    arguments = node.args
    names = tuple(a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs))[
        1:
    ]
    scope = Scope(outer)
    for name in names:
        scope.values[name] = []
    found: list[Parts] = []
    for statement in ast.walk(node):
        if isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign):
            scope.note(statement)
    for call in ast.walk(node):
        if isinstance(call, ast.Call) and _is_super_init(call.func) and call.args:
            first = (
                call.args[1] if _is_named_base(call.func) and len(call.args) > 1 else call.args[0]
            )
            found += templates(first, Way(scope))
    spoken = [parts for parts in found if has_words(parts) or _passes_on(parts, names)]
    return names, spoken[0] if len(spoken) == 1 else None


def _passes_on(parts: Parts, names: Sequence[str]) -> bool:
    """Whether a message is made of parameters alone: of the arguments of the raise."""
    return len(parts) > 1 and set(parts[1::2]) <= set(names)


def _of_str(node: ast.FunctionDef, outer: Scope) -> Parts | None:
    scope = Scope(outer)
    for statement in ast.walk(node):
        if isinstance(statement, ast.Assign):
            scope.note(statement)
    returned = [each.value for each in ast.walk(node)
                if isinstance(each, ast.Return) and each.value is not None]  # fmt: skip
    found = [parts for value in returned for parts in templates(value, Way(scope))]
    return found[0] if len(found) == 1 and has_words(found[0]) else None


def _is_super_init(function: ast.expr) -> bool:
    return isinstance(function, ast.Attribute) and function.attr == "__init__"


def _is_named_base(function: ast.expr) -> bool:
    """``Exception.__init__(self, ...)``, not ``super().__init__(...)``."""
    return isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name)


def _filled(known: ExceptionClass, thrown: Thrown) -> Parts:
    """The message of a class with the arguments of the raise in place of its parameters."""
    given = dict(zip(known.parameters, thrown.positional, strict=False)) | dict(thrown.named)
    assert known.parts is not None
    return join(*_pieces(known.parts, given))


def _pieces(parts: Parts, given: Mapping[str, Parts]) -> Iterable[Parts]:
    for at, part in enumerate(parts):
        yield literal(part) if at % 2 == 0 else given.get(part, placeholder(part))
