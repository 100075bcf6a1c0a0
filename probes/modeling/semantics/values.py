"""Values of the symbolic reading: the possible values of a name in a modeling file.

A value is a Python constant, list, tuple or dict, or one of the classes here. Whatever is not
understood is a ``Term`` with the operation ``unknown``; nothing is concluded from it.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ....reading.python.sources import Code
from ..port_code import words

Value = Any  # a Python constant or container of values, or one of the classes below
UNRESOLVED = object()
_SCALARS = (bool, int, float, str, type(None))
_FOLDS: dict[str, Callable[..., Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv,
    "floordiv": operator.floordiv, "mod": operator.mod, "neg": operator.neg, "sqrt": math.sqrt,
    "rsqrt": lambda x: 1 / math.sqrt(x), "max": max, "min": min, "tensor": lambda x: x,
    "int": int, "float": float,
}  # fmt: skip
_FOLDABLE = frozenset({*_FOLDS, "pow", "item"})
MAX_POWER = 64
MAX_ALTERNATIVES = 64


@dataclass(frozen=True, eq=False, slots=True)
class Term:
    """An operation on values. ``name`` is that of an input, a parameter or a setting."""

    op: str
    args: tuple[Value, ...] = ()
    name: str = ""
    node: ast.AST | None = None
    code: Code | None = None


UNKNOWN = Term("unknown")


@dataclass(frozen=True, slots=True)
class Foreign:
    """Something that the file imports, or a part of it: ``torch.nn.functional.silu``."""

    name: str

    @property
    def short(self) -> str:
        """The last part of the name."""
        return self.name.rpartition(".")[2]


@dataclass(frozen=True, slots=True)
class Config:
    """The configuration of the model."""


@dataclass(eq=False, slots=True)
class Instance:
    """A module that was built: of a class of the file, or of one outside of it."""

    cls: str
    definition: ast.ClassDef | None = None
    args: tuple[Value, ...] = ()
    keywords: dict[str, Value] = field(default_factory=dict)
    node: ast.AST | None = None
    code: Code | None = None
    attrs: dict[str, Value] = field(default_factory=dict)
    outside: tuple[str, ...] = ()  # its base classes outside of the file


@dataclass(eq=False, slots=True)
class Function:
    """A function of the file; ``owner`` is the instance of a method, ``within`` its class."""

    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    owner: Instance | None = None
    within: ast.ClassDef | None = None
    names: dict[str, Value] | None = None


@dataclass(frozen=True, slots=True)
class Bound:
    """A method of a value that is not an instance: ``x.view``, ``"a".replace``."""

    receiver: Value
    name: str


@dataclass(frozen=True, slots=True)
class Parent:
    """The result of ``super()``."""

    owner: Instance
    within: ast.ClassDef


class Settings:
    """The values of the configuration; all are unknown without a file."""

    def __init__(self, values: Mapping[str, Any] | None) -> None:
        self.values = dict(values or {})
        self.given = values is not None
        self.known: dict[int, tuple[Term, Any]] = {}  # the folded values of terms, by identity
        self._aliases = [set(group.split("/")) for group in words("config-aliases")]

    def lookup(self, name: str) -> Any:
        """The value of a setting under this or another name of it; UNRESOLVED if unknown."""
        if name in self.values:
            return self.values[name]
        for group in self._aliases:
            if name in group:
                for other in sorted(group & self.values.keys()):
                    return self.values[other]
        return UNRESOLVED


def concrete(value: Value, settings: Settings) -> Any:
    """The Python value that a value has under these settings; UNRESOLVED if unknown."""
    if isinstance(value, _SCALARS):
        return value
    if not isinstance(value, Term):
        return UNRESOLVED
    if id(value) not in settings.known:
        # The term is kept too, or another could get its identity.
        settings.known[id(value)] = (value, _folded_term(value, settings))
    return settings.known[id(value)][1]


def _folded_term(value: Term, settings: Settings) -> Any:
    if value.op == "config":
        return settings.lookup(value.name)
    if value.op == "phi":
        found = [concrete(each, settings) for each in value.args]
        return found[0] if found and all(each == found[0] for each in found) else UNRESOLVED
    args = []
    for each in value.args if value.op in _FOLDABLE else ():
        args.append(concrete(each, settings))
        if args[-1] is UNRESOLVED:
            return UNRESOLVED
    return folded(value.op, args) if args else UNRESOLVED


def folded(op: str, args: list[Any]) -> Any:
    """Apply an operation to Python values; UNRESOLVED if it is unknown or fails."""
    try:
        if op == "pow":
            base, exponent = args
            return base**exponent if abs(exponent) <= MAX_POWER else UNRESOLVED
        if op == "item":
            return args[0][args[1]]
        return _FOLDS[op](*args) if op in _FOLDS and _is_small(op, args) else UNRESOLVED
    except (TypeError, ValueError, ArithmeticError, LookupError):
        return UNRESOLVED


def _is_small(op: str, args: list[Any]) -> bool:
    if op == "mul":  # a repeated text or list
        return not any(isinstance(each, (str, list, tuple)) for each in args)
    return True


def walk(values: Value, enter: Callable[[Term], bool] = lambda _: True) -> Iterator[Term]:
    """Every term that a value is made of, each once; not below those that ``enter`` refuses."""
    seen: set[int] = set()
    stack: list[Value] = [values]
    while stack:
        value = stack.pop()
        if isinstance(value, (list, tuple)):
            stack.extend(reversed(value))
        elif isinstance(value, dict):
            stack.extend(value.values())
        elif isinstance(value, Term) and id(value) not in seen:
            seen.add(id(value))
            yield value
            if enter(value):
                stack.extend(reversed(value.args))


def alternatives(value: Value) -> list[Value]:
    """The possible values of a value."""
    if not isinstance(value, Term) or value.op != "phi":
        return [value]
    found = [each for each in walk(value, lambda term: term.op == "phi") if each.op != "phi"]
    others = [arg for phi in walk(value, lambda term: term.op == "phi") if phi.op == "phi"
              for arg in phi.args if not isinstance(arg, Term)]  # fmt: skip
    return [*found, *others]


def either(values: list[Value]) -> Value:
    """One of several values; the value itself if they are the same one."""
    kept: list[Value] = []
    for value in values[:MAX_ALTERNATIVES]:
        if not any(value is each or _same(value, each) for each in kept):
            kept.append(value)
    if len(values) > MAX_ALTERNATIVES:
        kept.append(UNKNOWN)
    return kept[0] if len(kept) == 1 else Term("phi", tuple(kept))


def _same(one: Value, other: Value) -> bool:
    return isinstance(one, _SCALARS) and type(one) is type(other) and bool(one == other)


def instances(value: Value) -> list[Instance]:
    """The modules that a value may be, or holds in a list."""
    found: list[Instance] = []
    for each in alternatives(value):
        if isinstance(each, Instance):
            found.append(each)
        elif isinstance(each, (list, tuple)):
            found.extend(module for item in each for module in instances(item))
    return found
