"""Statements of the symbolic reading: assignments, branches, loops."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ....reading.python.sources import Code
from .operators import OPERATORS
from .values import (
    UNKNOWN,
    UNRESOLVED,
    Bound,
    Config,
    Foreign,
    Function,
    Instance,
    Settings,
    Term,
    Value,
    concrete,
    either,
)  # fmt: skip

MAX_STEPS = 400_000
MAX_LOOP = 5_000


class TooLong(Exception):
    """The reading has taken more steps than it may."""


@dataclass(slots=True)
class Frame:
    """The names of a call, and its return values so far."""

    names: dict[str, Value]
    owner: Instance | None = None
    within: ast.ClassDef | None = None
    returns: list[Value] = field(default_factory=list)
    yields: list[Value] = field(default_factory=list)
    left: str = ""  # "continue" or "break", until the loop has seen it


class Statements:
    """Carries out statements; ``Evaluator`` evaluates their expressions."""

    code: Code

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.plain = False  # flags of the neuron_config are taken as off
        self.steps = 0
        self.unsure = 0
        self._doubted: dict[int, Value] = {}  # by identity; the value is held so that it stays

    def count_step(self) -> None:
        """Count a step; raise if the evaluation takes too long."""
        self.steps += 1
        if self.steps > MAX_STEPS:
            raise TooLong

    def doubt(self, value: Value) -> None:
        """Mark the contents of a container as unknown from now on."""
        self._doubted[id(value)] = value

    def is_doubted(self, value: Value) -> bool:
        """Whether a container was written under a test or a key that is unknown."""
        return id(value) in self._doubted

    def evaluate(self, node: ast.expr | None, frame: Frame) -> Value:
        """The value of an expression."""
        raise NotImplementedError

    def index(self, node: ast.expr, frame: Frame) -> Value:
        """The index expression inside brackets."""
        raise NotImplementedError

    def operate(self, op: str, left: Value, right: Value, node: ast.AST) -> Value:
        """An operation on two values."""
        raise NotImplementedError

    def truth(self, value: Value) -> bool | None:
        """Whether a value counts as true; None if unknown."""
        if isinstance(value, (list, tuple, dict)):
            return None if self.is_doubted(value) else bool(value)
        if isinstance(value, (Instance, Function, Foreign, Config, Bound)):
            return True
        if isinstance(value, Term) and value.op == "neuron" and self.plain:
            return False
        known = concrete(value, self.settings)
        return None if known is UNRESOLVED else bool(known)

    # ---- blocks ------------------------------------------------------------------------------

    def execute(self, body: Sequence[ast.stmt], frame: Frame) -> bool:
        """Carry out statements; whether the way ends here (return, raise, break, continue)."""
        for statement in body:
            self.count_step()
            rule = getattr(self, f"_do_{type(statement).__name__.lower()}", None)
            if rule is not None and rule(statement, frame):
                return True
        return False

    def _do_return(self, node: ast.Return, frame: Frame) -> bool:
        frame.returns.append(self.evaluate(node.value, frame))
        return True

    def _do_raise(self, node: ast.Raise, frame: Frame) -> bool:
        return True

    def _do_continue(self, node: ast.Continue, frame: Frame) -> bool:
        frame.left = "continue"
        return True

    def _do_break(self, node: ast.Break, frame: Frame) -> bool:
        frame.left = "break"
        return True

    def _do_functiondef(self, node: ast.FunctionDef, frame: Frame) -> bool:
        frame.names[node.name] = Function(node, names=frame.names)
        return False

    def _do_importfrom(self, node: ast.ImportFrom, frame: Frame) -> bool:
        for alias in node.names:
            frame.names[alias.asname or alias.name] = Foreign(f"{node.module}.{alias.name}")
        return False

    def _do_with(self, node: ast.With, frame: Frame) -> bool:
        return self.execute(node.body, frame)

    def _do_try(self, node: ast.Try, frame: Frame) -> bool:
        ended = self.execute(node.body, frame)
        return self.execute(node.finalbody, frame) or ended

    def _do_if(self, node: ast.If, frame: Frame) -> bool:
        truth = self.truth(self.evaluate(node.test, frame))
        if truth is not None:
            return self.execute(node.body if truth else node.orelse, frame)
        before = frame.names
        self.unsure += 1
        frame.names = dict(before)
        ends = self.execute(node.body, frame)
        names, left = frame.names, frame.left
        frame.names, frame.left = dict(before), ""
        otherwise = self.execute(node.orelse, frame)
        self.unsure -= 1
        if ends and not otherwise:
            frame.left = ""
        elif otherwise and not ends:
            frame.names, frame.left = names, ""
        else:
            frame.names = _merged(names, frame.names)
            frame.left = left if left == frame.left else ""
        return ends and otherwise

    # ---- loops -------------------------------------------------------------------------------

    def _do_for(self, node: ast.For, frame: Frame) -> bool:
        items = self.elements(self.evaluate(node.iter, frame))
        known = items is not None
        self.unsure += not known
        for item in [Term("item", (UNKNOWN, UNKNOWN))] if items is None else items:
            self.assign(node.target, item, frame)
            ended = self.execute(node.body, frame)
            left, frame.left = frame.left, ""
            if ended and not left and known and not self.unsure:
                return True
            if left == "break" and known:
                break
        self.unsure -= not known
        return False

    def _do_while(self, node: ast.While, frame: Frame) -> bool:
        self.unsure += 1
        self.execute(node.body, frame)
        self.unsure -= 1
        frame.left = ""
        return False

    def elements(self, value: Value) -> list[Value] | None:
        """The values that a loop over a value iterates; None if unknown."""
        if isinstance(value, str):
            return list(value)
        if isinstance(value, (list, tuple, dict)) and not self.is_doubted(value):
            return list(value)[:MAX_LOOP]
        if isinstance(value, Instance) and value.cls == "ModuleList":
            return self.elements(value.args[0]) if value.args else None
        return None

    def comprehend(
        self, generators: Sequence[ast.comprehension], key: ast.expr | None, value: ast.expr,
        frame: Frame,
    ) -> list[tuple[Value, Value]]:  # fmt: skip
        """(key, value) for each element of a comprehension."""
        inner = Frame(dict(frame.names), frame.owner, frame.within)
        return [(self.evaluate(key, inner), self.evaluate(value, inner))
                for _ in self._loops(list(generators), inner)]  # fmt: skip

    def _loops(self, generators: list[ast.comprehension], frame: Frame) -> Iterator[None]:
        if not generators:
            yield
            return
        first = generators[0]
        source = self.evaluate(first.iter, frame)
        items = self.elements(source)
        if items is None:
            items = [source if isinstance(source, Term) else UNKNOWN]
        for item in items:
            self.count_step()
            self.assign(first.target, item, frame)
            if all(self.truth(self.evaluate(test, frame)) is not False for test in first.ifs):
                yield from self._loops(generators[1:], frame)

    # ---- assignments -------------------------------------------------------------------------

    def _do_assign(self, node: ast.Assign, frame: Frame) -> bool:
        value = self.evaluate(node.value, frame)
        for target in node.targets:
            self.assign(target, value, frame)
        return False

    def _do_annassign(self, node: ast.AnnAssign, frame: Frame) -> bool:
        if node.value is not None:
            self.assign(node.target, self.evaluate(node.value, frame), frame)
        return False

    def _do_augassign(self, node: ast.AugAssign, frame: Frame) -> bool:
        left, right = self.evaluate(node.target, frame), self.evaluate(node.value, frame)
        value = self.operate(OPERATORS.get(type(node.op), "unknown"), left, right, node)
        self.assign(node.target, value, frame)
        return False

    def _do_expr(self, node: ast.Expr, frame: Frame) -> bool:
        if isinstance(node.value, (ast.Yield, ast.Constant)):
            if isinstance(node.value, ast.Yield):
                frame.yields.append(self.evaluate(node.value.value, frame))
            return False
        value = self.evaluate(node.value, frame)
        call = node.value
        # x.clamp_(...) changes x itself.
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
            name = call.func.attr
            if name.endswith("_") and not name.endswith("__") and isinstance(value, Term):
                self.assign(call.func.value, value, frame)
        return False

    def _do_delete(self, node: ast.Delete, frame: Frame) -> bool:
        for target in node.targets:
            if isinstance(target, ast.Subscript):
                self.take(self.evaluate(target.value, frame), self.index(target.slice, frame))
        return False

    def take(self, value: Value, key: Value) -> None:
        """Remove a key of a dict."""
        known = concrete(key, self.settings)
        if isinstance(value, dict):
            if known is UNRESOLVED or self.unsure or isinstance(key, slice):
                self.doubt(value)
            else:
                value.pop(known, None)

    def assign(self, target: ast.expr, value: Value, frame: Frame) -> None:
        """Give a value to a name, an attribute, an element, or to several of them."""
        if isinstance(target, ast.Name):
            frame.names[target.id] = value
        elif isinstance(target, ast.Attribute):
            self._set_attribute(self.evaluate(target.value, frame), target.attr, value)
        elif isinstance(target, ast.Subscript):
            self.put(self.evaluate(target.value, frame), self.index(target.slice, frame), value)
            owner = target.value
            if isinstance(owner, ast.Name) and isinstance(frame.names.get(owner.id), Term):
                # A part of a tensor is written.
                frame.names[owner.id] = Term("written", (frame.names[owner.id], value))
        elif isinstance(target, (ast.Tuple, ast.List)):
            self._unpack(target.elts, value, frame)

    def _set_attribute(self, owner: Value, name: str, value: Value) -> None:
        if not isinstance(owner, Instance):
            return
        if self.unsure and name in owner.attrs:
            value = either([owner.attrs[name], value])
        owner.attrs[name] = value

    def put(self, owner: Value, key: Value, value: Value) -> None:
        """Write an element of a dict."""
        if not isinstance(owner, dict):
            return
        known = concrete(key, self.settings)
        if known is UNRESOLVED or isinstance(key, slice):
            self.doubt(owner)
        else:
            if self.unsure:
                self.doubt(owner)
            owner[known] = value

    def _unpack(self, targets: list[ast.expr], value: Value, frame: Frame) -> None:
        stars = [n for n, each in enumerate(targets) if isinstance(each, ast.Starred)]
        parts = list(value) if isinstance(value, (list, tuple)) else None
        if parts is not None and (
            len(parts) == len(targets) or (stars and len(parts) >= len(targets) - 1)
        ):
            if stars:
                at, after = stars[0], len(targets) - stars[0] - 1
                parts[at : len(parts) - after] = [parts[at : len(parts) - after]]
        else:
            parts = [_part(value, place) for place in range(len(targets))]
        for target, part in zip(targets, parts, strict=True):
            self.assign(target.value if isinstance(target, ast.Starred) else target, part, frame)


def _part(value: Value, place: int) -> Value:
    if isinstance(value, Term):
        if value.op == "phi":
            return either([each[place] if isinstance(each, (tuple, list)) and place < len(each)
                           else _part(each, place) for each in value.args])  # fmt: skip
        return Term("item", (value, place), "", value.node, value.code)
    return UNKNOWN


def _merged(one: dict[str, Value], other: dict[str, Value]) -> dict[str, Value]:
    missing = object()
    found: dict[str, Value] = {}
    for name in one.keys() | other.keys():
        values = [each for each in (one.get(name, missing), other.get(name, missing))
                  if each is not missing]  # fmt: skip
        found[name] = either(values)
    return {name: found[name] for name in sorted(found)}
