"""The base of the rotary embedding, and the order of fused weights."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..port_code import words
from .components import Component, activation, applied
from .findings import Finding, Pair, Place, close, place_of
from .tree import linear_kind
from .values import Term, Value, concrete, walk


def rotary_bases(pair: Pair) -> Iterator[Finding]:
    """The base of the rotary embedding, against that of the configuration."""
    values = pair.reference.reader.settings.values
    nested = values.get("rope_parameters")
    base = values.get("rope_theta", nested.get("rope_theta") if isinstance(nested, dict) else None)
    reads = next((node for node in pair.reference.reader.code.all(ast.Attribute)
                  if node.attr in ("rope_theta", "rope_parameters")), None)  # fmt: skip
    if not isinstance(base, (int, float)) or isinstance(base, bool) or reads is None:
        return
    reader = pair.port.reader
    for module in reader.built:
        given = module.keywords.get("base", module.keywords.get("rope_theta"))
        if "Rotary" not in module.cls or module.definition is not None or module.node is None:
            continue
        found = _number_or_default(pair, given)
        if found is not None:
            yield Finding("rotary", "rope-theta", "constant", not close(base, found),
                          f"{base:g}", f"{found:g}", Place(pair.reference.reader.code, reads),
                          Place(reader.code, module.node), "rope_theta")  # fmt: skip
            return


def _number_or_default(pair: Pair, value: Value) -> float | None:
    """A number; the default of a setting counts if nothing else names the setting."""
    if isinstance(value, Term) and value.op == "default":
        read = {node.attr for node in pair.reference.reader.code.all(ast.Attribute)}
        groups = (set(group.split("/")) for group in words("parameter-synonyms"))
        if value.name in read or any(value.name in group for group in groups):
            return None
        value = value.args[1]
    known = concrete(value, pair.port.reader.settings)
    usable = isinstance(known, (int, float)) and not isinstance(known, bool)
    return float(known) if usable else None


# ---- the order of fused weights -----------------------------------------------------------


def fused_order(pair: Pair) -> Iterator[Finding]:
    """Compare the parts of a fused weight that go to the activation."""
    if "mlp" not in pair.components or pair.mapping is None:
        return
    theirs, ours = pair.components["mlp"]
    expected = _activated_module(theirs)
    found = _activated_part(ours)
    if expected is None or found is None:
        return
    name, module, place, term = *expected, *found[1:]
    parts = _sources(pair, found[0])
    if parts is None or place >= len(parts):
        return
    differs = f".{name}." not in parts[place]
    if differs and not any(f".{name}." in part for part in parts):
        return
    yield Finding("mlp", "fused-order", "order", differs, f"{name} goes to the activation",
                  f"{parts[place].rpartition('.')[0].rpartition('.')[2]} goes to the activation",
                  place_of(theirs, module), Place(pair.port.reader.code, pair.mapping.node)
                  if term.node is None else place_of(ours, term))  # fmt: skip


def _activated_module(component: Component) -> tuple[str, Term] | None:
    act = activation(component)
    value = act[1].args[1 if act[1].op == "apply" else 0] if act else None
    module = applied(value) if isinstance(value, Term) else None
    for name, each in component.instance.attrs.items():
        if each is module and act is not None and module is not None:
            return name, act[1]
    return None


def _activated_part(component: Component) -> tuple[str, int, Term] | None:
    act = activation(component)
    value = act[1].args[1 if act[1].op == "apply" else 0] if act else None
    if act is None or not isinstance(value, Term) or value.op != "item":
        return None
    split, place = value.args
    source = split.args[0] if isinstance(split, Term) and split.op == "split" else None
    module = applied(source) if isinstance(source, Term) else None
    if module is None or not isinstance(place, int) or linear_kind(module) != "linear":
        return None
    names = [name for name, each in component.instance.attrs.items() if each is module]
    return (names[0], place, act[1]) if names else None


def _sources(pair: Pair, name: str) -> list[str] | None:
    """The keys that a fused weight was put together from, in their order."""
    assert pair.mapping is not None
    for key, value in pair.mapping.tensors.items():
        if key.endswith(f".{name}.weight") and isinstance(value, Term) and value.op == "cat":
            parts = value.args[0]
            if not isinstance(parts, (list, tuple)):
                return None
            names = [[t.name for t in walk(part) if t.op == "weight"] for part in parts]
            return [each[0] for each in names] if all(len(n) == 1 for n in names) else None
    return None
