"""The computation of one component: the terms that its result is made of, and whether all of them
are known."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from ....reading.python.sources import Code
from ..port_code import words
from .evaluator import Evaluator
from .statements import TooLong
from .tree import kind_of, linear_kind
from .values import (
    UNRESOLVED,
    Instance,
    Term,
    Value,
    alternatives,
    concrete,
    walk,
)  # fmt: skip

_UNSEEN = frozenset({"opaque", "parent", "inherited", "unknown"})
_ROLES = ("norm", "attention", "mlp", "layer", "rotary")
_SPREADING = frozenset({"phi", "where", "masked_fill", "add", "sub", "written", "cat", "item"})
MAX_WAYS = 1_000
MAX_SCALING = 12  # products of q or k one within the other


@dataclass(frozen=True, slots=True)
class Component:
    """The live terms of a component. ``closed``: nothing in it is left unseen."""

    instance: Instance
    reader: Evaluator
    result: Value
    terms: tuple[Term, ...]
    closed: bool

    @property
    def code(self) -> Code:
        """The file of the component."""
        return self.reader.code

    @property
    def place(self) -> ast.AST:
        """The node of the component's ``forward``, else of its class."""
        found = self.reader.method(self.instance, "forward")
        return found.node if found else (self.instance.definition or self.code.tree)

    def number(self, value: Value) -> float | None:
        """The number that a value has under the settings."""
        known = concrete(value, self.reader.settings)
        usable = isinstance(known, (int, float)) and not isinstance(known, bool)
        return float(known) if usable else None

    def settings(self) -> dict[str, Term]:
        """The settings that the component's result depends on, by name."""
        return {term.name: term for term in self.terms if term.op == "config"}

    def having(self, *ops: str) -> list[Term]:
        """The terms of the component with one of these operations."""
        return [term for term in self.terms if term.op in ops]


def read_component(reader: Evaluator, instance: Instance | None) -> Component | None:
    """A component by its ``forward``; None if the class defines none."""
    if instance is None:
        return None
    found = reader.method(instance, "forward")
    if found is None:
        return None
    try:
        result = reader.call_function(found, [], {}, symbolic=True)
        terms = tuple(_live(reader, result, {id(instance)}))
    except TooLong:
        return None
    closed = not instance.outside and not any(_is_unseen(term) for term in terms)
    return Component(instance, reader, result, terms, closed)


def _live(reader: Evaluator, result: Value, inside: set[int]) -> Iterator[Term]:
    """The terms of a result, also of the helper modules that it applies."""
    for term in walk(result):
        yield term
        module = applied(term)
        if module is None or id(module) in inside or kind_of(module) in _ROLES:
            continue
        inside.add(id(module))
        found = reader.method(module, "forward")
        if found is not None:
            inner = reader.call_function(found, [], {}, symbolic=True)
            yield from _live(reader, inner, inside)


def applied(term: Term) -> Instance | None:
    """The module that a term applies."""
    first = term.args[0] if term.op == "apply" and term.args else None
    return first if isinstance(first, Instance) else None


def _is_unseen(term: Term) -> bool:
    if term.op in _UNSEEN:
        return True
    module = applied(term)
    if module is None or kind_of(module) in _ROLES:
        return False
    if module.definition is not None:
        return bool(module.outside)
    return module.cls not in words("plain-modules") and linear_kind(module) == "open"


def stripped(value: Value) -> Value:
    """The value from which elements are taken, by any number of indexing terms around it."""
    while isinstance(value, Term) and value.op == "item":
        value = value.args[0]
    return value


def role_of(value: Value, kinds: tuple[str, ...]) -> str:
    """The kind of module, among these, whose output a value is; empty if it is none of them."""
    for each in alternatives(stripped(value)):
        module = applied(each) if isinstance(each, Term) else None
        if module is not None and (kind := _kind_within(module, kinds)):
            return kind
    return ""


def _kind_within(module: Instance, kinds: tuple[str, ...]) -> str:
    kind = kind_of(module)
    return kind if kind in kinds else ""


def score_factor(component: Component) -> tuple[float, Term] | None:
    """The factor of the attention scores and its place; None if unknown."""
    found: dict[float, Term] = {}
    for term in component.having("softmax"):
        for factor, place in _factors(component, term.args[0], term):
            if factor is None:
                return None
            found.setdefault(round(factor, 12), place)
    if len(found) != 1:
        return None
    return next(iter(found.items()))


def _factors(
    component: Component, start: Value, place: Term
) -> Iterator[tuple[float | None, Term]]:
    """The products of numbers on the ways from a softmax down to the product of q and k."""
    todo: list[tuple[Value, float, Term]] = [(start, 1.0, place)]
    seen: set[tuple[int, float]] = set()
    while todo:
        value, factor, place = todo.pop()
        if not isinstance(value, Term) or (id(value), factor) in seen or len(seen) > MAX_WAYS:
            continue
        seen.add((id(value), factor))
        if value.op in ("matmul", "einsum"):
            known = [_scaled(component, part, 0) for part in value.args[-2:]]
            sides = [each for each in known if each is not None]
            yield (factor * sides[0] * sides[1] if len(sides) == 2 else None), place
        elif value.op in _SPREADING:
            todo.extend((each, factor, place) for each in value.args)
        elif (step := _step(component, value)) is not None:
            todo.append((step[0], factor * step[1], value if step[1] != 1 else place))
        elif value.op in ("mul", "div"):
            yield None, value


def _step(component: Component, value: Term) -> tuple[Value, float] | None:
    """(operand, factor) of a product with a number; a tanh passes, as its cap cancels out."""
    if value.op in ("tanh", "clamp", "transpose", "maximum", "minimum") and value.args:
        return value.args[0], 1.0
    if value.op == "div" and (by := component.number(value.args[1])):
        return value.args[0], 1 / by
    if value.op == "mul":
        for inner, other in (value.args, value.args[::-1]):
            number = component.number(other)
            if number is not None:
                return inner, number
    return None


def _scaled(component: Component, value: Value, depth: int) -> float | None:
    """The number that q or k was multiplied by before; None if unknown."""
    if not isinstance(value, Term) or depth > MAX_SCALING:
        return None
    if value.op == "phi":
        parts = alternatives(value)[:MAX_SCALING]
        found = {_scaled(component, each, depth + 4) for each in parts}
        return found.pop() if len(found) == 1 else None
    step = _step(component, value)
    if step is not None:
        inner = _scaled(component, step[0], depth + 1)
        return None if inner is None else inner * step[1]
    if value.op in ("mul", "div") and all(isinstance(each, Term) for each in value.args):
        return _through_rotation(value)
    return 1.0 if value.op in ("add", "apply", "item", "input", "split", "cat") else None


def _through_rotation(value: Term) -> float | None:
    ops = {term.op for term in walk(value)}
    return 1.0 if ops & {"cos", "sin", "rotate_half"} else None


def activation(component: Component) -> tuple[str, Term] | None:
    """The name of the only activation of a feed-forward network, and where it is applied."""
    found: dict[str, Term] = {}
    for term in component.terms:
        name = activation_of(component, term)
        if name is None:
            return None
        if name:
            found.setdefault(_plain_name(name), term)
    if "relu" in found and component.having("pow", "square"):
        return None  # it may be squared
    return next(iter(found.items())) if len(found) == 1 else None


_BY_MODULE = {"SiLU": "silu", "GELU": "gelu", "ReLU": "relu", "Tanh": "tanh", "Sigmoid": "sigmoid"}
_SAME = {"swish": "silu", "gelu_new": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh",
         "gelu_fast": "gelu_tanh", "gelu_python": "gelu", "relu2": "relu_squared"}  # fmt: skip


def _plain_name(name: str) -> str:
    return _SAME.get(name.lower(), name.lower())


def activation_of(component: Component, term: Term) -> str | None:
    """The name of the activation function that a term applies; "" if it applies none, None if the
    name cannot be resolved."""
    if term.op == "activated":
        key = term.args[1].args[0]
        known = concrete(key, component.reader.settings)
        return None if known is UNRESOLVED or not isinstance(known, str) else known
    if term.op in ("silu", "gelu", "relu"):
        return f"gelu_{term.name}" if term.op == "gelu" and term.name == "tanh" else term.op
    module = applied(term)
    if module is not None and module.cls in _BY_MODULE:
        tanh = module.keywords.get("approximate") == "tanh"
        return "gelu_tanh" if module.cls == "GELU" and tanh else _BY_MODULE[module.cls]
    return ""


def norm_offset(component: Component) -> tuple[bool, Term] | None:
    """Whether a norm multiplies by one plus its weight; None if neither is seen."""
    for term in component.having("mul"):
        for value in term.args:
            if not isinstance(value, Term):
                continue
            if value.op == "parameter":
                return False, term
            is_sum = value.op == "add" and any(isinstance(each, Term) and each.op == "parameter"
                                               for each in value.args)  # fmt: skip
            if is_sum and any(component.number(each) == 1 for each in value.args):
                return True, term
    return None
