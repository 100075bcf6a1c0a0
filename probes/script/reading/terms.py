"""The origin of values: each expression that was read becomes a term over the terms that it was
computed from.

Equal pure expressions over the same terms are the same object, so identity is equality. The result
of a call is a new term each time, unless the function is known to be pure.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from ....reading.python.nodes import constant, folded, last_name
from .values import UNKNOWN, Value

if TYPE_CHECKING:
    from .machine import Machine

MAX_CALLS_KEPT = 20_000
MAX_WALK = 400
_MAX_TEXT = 200
# Calls that give the same for the same, and change nothing.
PURE = frozenset({
    "len", "to_ints", "tolist", "float", "int", "str", "array", "asarray", "tensor", "as_tensor",
    "from_numpy", "from_torch", "TensorData", "from_ints", "ones", "zeros", "full", "range",
    "concatenate", "cat", "numpy", "cpu", "sum",
})  # fmt: skip
# The machine hands the first argument of these on, although they change it.
_REORDER = frozenset({"chain", "from_iterable", "set", "sorted", "reversed", "cast"})
# Kinds of values without a state that an argument of a method could change.
_STATELESS = frozenset({
    "tokenizer", "renderer", "training", "sampling", "service", "import", "module", "const", "text",
    "client-future", "future",
})  # fmt: skip


@dataclass(frozen=True, eq=False, slots=True)
class Term:
    """``op`` of ``args``; ``const`` is a plain value or a name, ``node`` where it stands.

    Ops: const, name, attr, member, index, slice, binary, unary, list, dict, text, map, choice,
    item, part, grown, call, other. The ``const`` of a call is its name and the names of its
    keyword arguments; its ``args`` are the receiver, the arguments and the keyword arguments.
    """

    op: str
    args: tuple[Term, ...] = ()
    const: Any = None
    node: ast.AST | None = None


NOTHING = Term("nothing")


class Called(NamedTuple):
    """A call that was read: ``name`` without ``_async``, its values, and how many events came
    before its end. ``loops`` repeat it, comprehensions among them."""

    node: ast.Call
    name: str
    receiver: Value
    args: tuple[Value, ...]
    named: dict[str, Value]
    term: Term
    position: int
    loops: tuple[ast.AST, ...]
    path: tuple[tuple[int, int], ...]

    def given(self, name: str, position: int) -> Value | None:
        """An argument by name or position."""
        if name in self.named:
            return self.named[name]
        return self.args[position] if position < len(self.args) else None


@dataclass(slots=True)
class Trace:
    """The terms of a reading. ``latest`` holds the last value of each expression, ``fed`` the
    values passed to methods of an object."""

    latest: dict[int, Value] = field(default_factory=dict)
    calls: list[Called] = field(default_factory=list)
    fed: dict[Term, list[Term]] = field(default_factory=dict)
    _known: dict[tuple[Any, ...], Term] = field(default_factory=dict)

    def term(
        self, op: str, args: Iterable[Term] = (), const: Any = None, node: ast.AST | None = None
    ) -> Term:
        """The one term of this kind."""
        args = tuple(args)
        key = (op, type(const), const, *(id(arg) for arg in args))
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = Term(op, args, const, node)
        return found

    def of(self, node: ast.AST | None) -> Term:
        """The last term of an expression."""
        value = self.latest.get(id(node))
        return value.term if value is not None and value.term is not None else NOTHING

    def walk(self, term: Term, fed: bool = False) -> Iterator[Term]:
        """A term and its parts; with ``fed`` also the values that reached it through methods."""
        waiting = [term]
        seen: set[int] = set()
        while waiting and len(seen) < MAX_WALK:
            each = waiting.pop()
            if id(each) in seen:
                continue
            seen.add(id(each))
            yield each
            waiting.extend(reversed(each.args))
            if fed:
                waiting.extend(self.fed.get(each, ()))


def traced(machine: Machine, node: ast.AST, value: Value) -> Value:
    """A value with its term."""
    handler = _TERMS.get(type(node), _other)
    term = handler(machine, node, value)
    if term is not value.term:
        value = Value(value.kind, value.op, value.uid, value.parts, value.const, value.node,
                      value.assumed, term)  # fmt: skip  # replace() takes five times as long
    machine.trace.latest[id(node)] = value
    return value


def part_of(machine: Machine, op: str, value: Value, const: Any = None) -> Value:
    """An element of something unknown."""
    if value.term is None:
        return Value()
    return Value(term=machine.trace.term(op, (value.term,), const))


def one_of(machine: Machine, value: Value, part: Value) -> Value:
    """An element of a list, with its origin."""
    if part.term is not None or value.term is None:
        return part
    return replace(part, term=machine.trace.term("item", (value.term,)))


def grown(machine: Machine, value: Value, added: Iterable[Value]) -> Term:
    """A list with a further element."""
    terms = (each.term or NOTHING for each in (value, *added))
    return machine.trace.term("grown", terms)


def augmented(machine: Machine, node: ast.AugAssign, value: Value) -> Value:
    """Bind the result of ``target op= value`` to its target."""
    old = machine.trace.of(node.target)
    if isinstance(node.target, ast.Name):
        known = machine.frame.get(node.target.id).term
        old = known or machine.trace.term("name", (), (node.target.id, 0, ""))
    given = machine.trace.of(node.value)
    term = machine.trace.term("binary", (old, given), type(node.op).__name__, node)
    return replace(_counted(machine, node, value) if value.kind == "const" else value, term=term)


def _counted(machine: Machine, node: ast.AugAssign, value: Value) -> Value:
    """The number after ``target op= value``; unknown in a loop, whose passes are not counted."""
    old = machine.frame.get(node.target.id) if isinstance(node.target, ast.Name) else UNKNOWN
    number = None if machine.frame.looping else folded(node.op, old.const, value.const)
    if number is None:
        return UNKNOWN
    return replace(value, const=number, assumed=old.assumed or value.assumed)


def rejoined(machine: Machine, one: Mapping[str, Value], other: Mapping[str, Value]) -> None:
    """Join the terms of a name that both branches bound: it is a choice of the two."""
    frame = machine.frame
    for name in one.keys() & other.keys():
        first, second = one[name].term, other[name].term
        if first is second or first is None or second is None:
            continue
        term = machine.trace.term("choice", (first, second))
        frame.names[name] = replace(frame.names[name], term=term)
        frame.bound[name] = (machine.path, None)


def returned(machine: Machine, values: list[Value], value: Value) -> Value:
    """The result of a function: one of the values that it returns."""
    terms = [v.term for v in values if v.term is not None and not _is_none(v)]
    if not terms:
        return value
    same = all(term is terms[0] for term in terms)
    return replace(value, term=terms[0] if same else machine.trace.term("choice", terms))


def _is_none(value: Value) -> bool:
    return value.kind == "const" and value.const is None and _op(value) == "const"


def _op(value: Value) -> str:
    return value.term.op if value.term is not None else ""


def _const(machine: Machine, node: Any, value: Value) -> Term:
    const = node.value
    if isinstance(const, (str, bytes)) and len(const) > _MAX_TEXT:
        const = const[:_MAX_TEXT]
    return machine.trace.term("const", (), const, node)


def _name(machine: Machine, node: Any, value: Value) -> Term:
    if value.term is None:
        function = machine.frame.function
        return machine.trace.term("name", (), (node.id, id(function), machine.module.key), node)
    frame = machine.frame
    while node.id not in frame.names and frame.parent is not None:
        frame = frame.parent
    bound, before = frame.bound.get(node.id, ((), None))
    if bound == machine.path[: len(bound)]:
        return value.term
    # Bound in an arm of a branch that was left: it may be something else.
    return machine.trace.term("choice", (value.term, before or NOTHING))


def _attribute(machine: Machine, node: Any, value: Value) -> Term:
    if value.term is not None:
        return value.term
    base = machine.trace.latest.get(id(node.value), Value())
    if base.kind == "object":
        return machine.trace.term("member", (), (base.op, node.attr), node)
    return machine.trace.term("attr", (base.term or NOTHING,), node.attr, node)


def _subscript(machine: Machine, node: Any, value: Value) -> Term:
    of = machine.trace.of
    if isinstance(node.slice, ast.Slice):
        bounds = (node.slice.lower, node.slice.upper, node.slice.step)
        return machine.trace.term("slice", (of(node.value), *map(of, bounds)), None, node)
    base = machine.trace.latest.get(id(node.value), Value())
    if value.term is not None and base.kind in ("dict", "list", "tuple"):
        return value.term
    return machine.trace.term("index", (of(node.value), of(node.slice)), None, node)


def _binary(machine: Machine, node: Any, value: Value) -> Term:
    of = machine.trace.of
    return machine.trace.term("binary", (of(node.left), of(node.right)), type(node.op).__name__,
                              node)  # fmt: skip


def _unary(machine: Machine, node: Any, value: Value) -> Term:
    inner = machine.trace.of(node.operand)
    number = constant(node)
    if isinstance(number, (int, float)):
        return machine.trace.term("const", (), number, node)
    return machine.trace.term("unary", (inner,), type(node.op).__name__, node)


def _choice(machine: Machine, node: Any, value: Value) -> Term:
    parts = node.values if isinstance(node, ast.BoolOp) else (node.body, node.orelse, node.test)
    return machine.trace.term("choice", map(machine.trace.of, parts), None, node)


def _sequence(machine: Machine, node: Any, value: Value) -> Term:
    starred = any(isinstance(each, ast.Starred) for each in node.elts)
    return machine.trace.term("other" if starred else "list", map(machine.trace.of, node.elts),
                              type(node).__name__, node)  # fmt: skip


def _comprehension(machine: Machine, node: Any, value: Value) -> Term:
    of = machine.trace.of
    (first, *more), plain = node.generators, isinstance(node, ast.ListComp)
    op = "map" if plain and not more and not first.ifs else "other"
    return machine.trace.term(op, (of(node.elt), of(first.iter)), None, node)


def _dict_comprehension(machine: Machine, node: Any, value: Value) -> Term:
    return Term("other", tuple(map(machine.trace.of, (node.key, node.value))), None, node)


def _text(machine: Machine, node: Any, value: Value) -> Term:
    return machine.trace.term("text", map(machine.trace.of, node.values), None, node)


def _inner(machine: Machine, node: Any, value: Value) -> Term:
    return machine.trace.of(node.value)


def _other(machine: Machine, node: ast.AST, value: Value) -> Term:
    children = (c for c in ast.iter_child_nodes(node) if isinstance(c, ast.expr))
    return Term("other", tuple(map(machine.trace.of, children)), type(node).__name__, node)


def _call(machine: Machine, node: Any, value: Value) -> Term:
    trace = machine.trace
    latest = trace.latest
    func = latest.get(id(node.func), Value())
    owner = getattr(node.func, "value", None)
    receiver = latest.get(id(owner), Value()) if owner is not None else Value()
    name = last_name(node.func).removesuffix("_async")
    if name in ("result", "exception") and receiver.term is not None and not node.keywords:
        return receiver.term
    own = func.kind in ("function", "method")
    if value.term is not None and name not in _REORDER:
        return value.term
    args = tuple(latest.get(id(arg), Value()) for arg in node.args)
    named = {k.arg or "**": latest.get(id(k.value), Value()) for k in node.keywords}
    if any(isinstance(arg, ast.Starred) for arg in node.args):
        named["**"] = Value()
    terms = tuple(v.term or NOTHING for v in (receiver, *args, *named.values()))
    const = (name, *named)
    make: Callable[..., Term] = trace.term if name in PURE else Term
    term = make("call", terms, const, node)
    if not own:
        _feed(machine, receiver, args)
    if len(trace.calls) < MAX_CALLS_KEPT:
        trace.calls.append(Called(node, name, receiver, args, named, term, len(machine.events),
                                  machine.each, machine.path))  # fmt: skip
    return term


def _feed(machine: Machine, receiver: Value, args: tuple[Value, ...]) -> None:
    """Record that arguments of a method may change its owner, and arguments of a function each
    other."""
    things = [v for v in (receiver, *args) if v.term is not None]
    for thing in things:
        if thing.kind not in _STATELESS and thing.term is not None:
            others = [v.term for v in things if v is not thing and v.term is not None]
            if others:
                machine.trace.fed.setdefault(thing.term, []).extend(others[:8])


_TERMS: dict[type[ast.AST], Callable[[Machine, Any, Value], Term]] = {
    ast.Constant: _const, ast.Name: _name, ast.Attribute: _attribute, ast.Subscript: _subscript,
    ast.BinOp: _binary, ast.UnaryOp: _unary, ast.IfExp: _choice, ast.BoolOp: _choice,
    ast.List: _sequence, ast.Tuple: _sequence, ast.ListComp: _comprehension,
    ast.GeneratorExp: _comprehension, ast.SetComp: _comprehension,
    ast.DictComp: _dict_comprehension, ast.JoinedStr: _text, ast.FormattedValue: _inner,
    ast.Await: _inner, ast.NamedExpr: _inner, ast.Starred: _inner, ast.Call: _call,
}  # fmt: skip
