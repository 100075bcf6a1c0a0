"""The computations around the layers: embeddings and logits that a setting scales or caps."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ....reading.python.nodes import last_name
from ....reading.python.sources import Code
from ..port_code import words
from .components import Component, read_component
from .findings import Finding, Pair, Place, place_of
from .tree import Model, linear_kind
from .values import Instance, Term, concrete, instances

_AROUND = ("embed_tokens", "lm_head", "norm", "wte", "embeddings")


def around_layers(pair: Pair) -> Iterator[Finding]:
    """Settings that scale the embeddings or the logits of the reference, and that nothing in the
    port reads."""
    theirs = read_component(pair.reference.reader, pair.reference.root)
    if theirs is None or pair.mapping is None or pair.mapping.folds or _has_unseen(pair.port):
        return
    read = _read_names(pair.port)
    numbers = _numbers(pair.port.reader.code)
    for setting, (operation, term) in _scaling(theirs).items():
        value = concrete(term, pair.reference.reader.settings)
        if not isinstance(value, (int, float)) or isinstance(value, bool) or value in (0, 1):
            continue
        missing = setting not in read and value not in numbers
        component = "embedding" if "embed" in setting else "lm_head"
        at = pair.port.root.definition or pair.port.reader.code.tree
        yield Finding(component, operation, "missing", missing, f"{setting} = {value:g}",
                      "not read" if missing else "read", place_of(theirs, term),
                      Place(pair.port.reader.code, at), setting)  # fmt: skip


def _scaling(component: Component) -> dict[str, tuple[str, Term]]:
    """Setting -> (operation, place) of those that a product or a quotient takes."""
    caps = {each.name for term in component.having("tanh") for each in _operands(term.args[0])
            if each.op == "config"}  # fmt: skip
    found: dict[str, tuple[str, Term]] = {}
    for term in component.having("mul", "div"):
        for each in _operands(term):
            if each.op == "config" and each.name not in words("framework-parameters"):
                operation = "softcap" if each.name in caps else "multiplier"
                found.setdefault(each.name, (operation, each))
    return found


def _operands(value: object) -> list[Term]:
    if not isinstance(value, Term) or value.op not in ("mul", "div"):
        return []
    return [each for each in value.args if isinstance(each, Term)]


def _has_unseen(port: Model) -> bool:
    """Whether a module around the layers, or the model itself, is of a class that is not seen."""
    head = port.reader.lineage(port.head)[1] if port.head is not None else ["unknown"]
    if head or port.root.outside:
        return True
    return any(_is_unseen(each) for name in _AROUND
               for each in instances(port.root.attrs.get(name)))  # fmt: skip


def _is_unseen(module: Instance) -> bool:
    return bool(module.outside) or linear_kind(module) == "open"


def _read_names(port: Model) -> set[str]:
    """Every setting that the port reads outside of the class of its configuration."""
    code, own = port.reader.code, port.reader.config_class
    found: set[str] = set()
    for node in code.nodes:
        name = ""
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            name = node.attr
        elif isinstance(node, ast.Call) and last_name(node.func) == "getattr":
            key = node.args[1] if len(node.args) > 1 else None
            name = key.value if isinstance(key, ast.Constant) and isinstance(key.value, str) else ""
        if name and (own is None or code.class_of(node) is not own.definition):
            found.add(name)
    return found


def _numbers(code: Code) -> set[float]:
    values = (node.value for node in code.all(ast.Constant))
    return {float(each) for each in values
            if isinstance(each, (int, float)) and not isinstance(each, bool)}  # fmt: skip
