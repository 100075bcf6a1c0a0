"""Reference beside port: operations that one of them lacks, other constants, other orders.

Each check says that the two differ, that they do not, or nothing: nothing where a part of the
computation cannot be seen, such as a base class of the library.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import NamedTuple

from ..code import Code, words
from .components import (
    Component, activation, applied, norm_offset, read_component, role_of, score_factor, stripped,
)  # fmt: skip
from .mapping import Mapping
from .tree import Model, below, kind_of, linear_kind
from .values import UNRESOLVED, Instance, Term, Value, alternatives, concrete, walk

_TOLERANCE = 1e-6
_EPSILONS = ("eps", "variance_epsilon", "epsilon")
_MARKED = {"tanh": "softcap", "clamp": "clip"}
_INNER = ("attention", "mlp", "rotary")


class Place(NamedTuple):
    """A node of a file."""

    code: Code
    node: ast.AST


class Finding(NamedTuple):
    """``differs`` false: both were read and agree in this."""

    component: str
    operation: str
    difference: str
    differs: bool
    reference: str
    port: str
    reference_at: Place
    port_at: Place
    setting: str = ""


class Pair(NamedTuple):
    """The two models, their mapping where it is known, and their components by name."""

    reference: Model
    port: Model
    mapping: Mapping | None
    components: dict[str, tuple[Component, Component]]


def compare_models(reference: Model, port: Model, mapping: Mapping | None) -> list[Finding]:
    """What differs between the computations of two models."""
    components = {}
    for name in ("attention", "mlp", "decoder_layer"):
        ours, theirs = _part(port, name), _part(reference, name)
        if ours is not None and theirs is not None:
            components[name] = (theirs, ours)
    pair = Pair(reference, port, mapping, components)
    return [finding for check in _CHECKS for finding in check(pair)]


def _part(model: Model, name: str) -> Component | None:
    instance = model.layer if name == "decoder_layer" else model.part(name)
    return read_component(model.reader, instance)


def _at(component: Component, term: Term | None = None) -> Place:
    if term is not None and term.node is not None and term.code is not None:
        return Place(term.code, term.node)
    return Place(component.code, component.place)


# ---- norms -----------------------------------------------------------------------------------


def _norms(model: Model) -> dict[str, Instance]:
    """The norms of a model by the last part of their path; the first of each."""
    found: dict[str, Instance] = {}
    for path, module in below(model.root, ""):
        if kind_of(module) == "norm":
            found.setdefault(path.rpartition(".")[2], module)
    return found


def _epsilon(model: Model, module: Instance) -> float | None:
    values = [module.attrs[name] for name in _EPSILONS if name in module.attrs]
    if module.definition is None:
        values = [module.keywords[name] for name in ("eps", "epsilon") if name in module.keywords]
        values = values or list(module.args[1:2])
    known = concrete(values[0], model.reader.settings) if values else UNRESOLVED
    return float(known) if isinstance(known, float) else None


def _epsilons(pair: Pair) -> Iterator[Finding]:
    theirs, ours = _norms(pair.reference), _norms(pair.port)
    known = {name: _epsilon(pair.reference, module) for name, module in theirs.items()}
    for name, module in ours.items():
        expected = known.get(name) if name in known else _only(set(known.values()))
        found = _epsilon(pair.port, module)
        if expected is None or found is None or module.node is None:
            continue
        other = theirs.get(name) or next(iter(theirs.values()))
        yield Finding("rmsnorm", "epsilon", "constant", not _close(expected, found),
                      f"{expected:g}", f"{found:g} ({name})",
                      Place(pair.reference.reader.code, other.node or other.definition),
                      Place(pair.port.reader.code, module.node))  # fmt: skip


def _only(values: set[float | None]) -> float | None:
    return next(iter(values)) if len(values) == 1 else None


def _close(one: float, other: float) -> bool:
    return abs(one - other) <= _TOLERANCE * max(abs(one), abs(other))


def _offsets(pair: Pair) -> Iterator[Finding]:
    """One plus the weight, against the weight alone."""
    forms = [_offset_forms(model) for model in (pair.reference, pair.port)]
    if not all(len({has for has, _ in form}) == 1 for form in forms):
        return
    (theirs, at), (ours, here) = forms[0][0], forms[1][0]
    if theirs != ours and (pair.mapping is None or pair.mapping.folds):
        return
    text = {True: "(1 + weight) * x", False: "weight * x"}
    yield Finding("rmsnorm", "norm-offset", "missing" if theirs else "extra", theirs != ours,
                  text[theirs], text[ours], at, here)  # fmt: skip


def _offset_forms(model: Model) -> list[tuple[bool, Place]]:
    found: list[tuple[bool, Place]] = []
    for module in _norms(model).values():
        if module.definition is None:
            if module.cls not in words("plain-norms") or module.node is None:
                return []
            found.append((False, Place(model.reader.code, module.node)))
            continue
        component = read_component(model.reader, module)
        form = norm_offset(component) if component is not None else None
        if component is None or form is None:
            return []
        found.append((form[0], _at(component, form[1])))
    return found


# ---- attention and feed-forward network ----------------------------------------------------


def _scales(pair: Pair) -> Iterator[Finding]:
    if "attention" not in pair.components:
        return
    theirs, ours = pair.components["attention"]
    one, other = score_factor(theirs), score_factor(ours)
    if one is None or other is None:
        return
    differs = not _close(one[0], other[0])
    if differs and (pair.mapping is None or pair.mapping.folds):
        return
    what = "missing" if _close(other[0], 1.0) else "constant"
    yield Finding("attention", "attention-scale", what, differs, f"{one[0]:g}", f"{other[0]:g}",
                  _at(theirs, one[1]), _at(ours, other[1]))  # fmt: skip


def _activations(pair: Pair) -> Iterator[Finding]:
    if "mlp" not in pair.components:
        return
    theirs, ours = pair.components["mlp"]
    one, other = activation(theirs), activation(ours)
    if one is None or other is None:
        return
    yield Finding("mlp", "activation", "constant", one[0] != other[0], one[0], other[0],
                  _at(theirs, one[1]), _at(ours, other[1]))  # fmt: skip


def _head_norms(pair: Pair) -> Iterator[Finding]:
    """Norms of queries and keys."""
    if "attention" not in pair.components:
        return
    theirs, ours = pair.components["attention"]
    expected, found = _norm_sides(theirs), _norm_sides(ours)
    if not expected or not ours.closed or "" in found:
        return
    for side, name in (("q", "query-norm"), ("k", "key-norm")):
        if side in expected:
            missing = side not in found
            yield Finding("attention", name, "missing", missing, f"{name} is applied",
                          "not applied" if missing else "applied",
                          _at(theirs, expected[side]), _at(ours, found.get(side)))  # fmt: skip


def _norm_sides(component: Component) -> dict[str, Term]:
    """q, k or v -> the norm that is applied to it; empty for one whose side is not known."""
    names = {id(each): name for name, value in component.instance.attrs.items()
             for each in alternatives(value)}  # fmt: skip
    found: dict[str, Term] = {}
    for term in component.having("apply"):
        module = applied(term)
        if module is not None and kind_of(module) == "norm":
            name = names.get(id(module), "")
            side = name[:1] if name[:1] in ("q", "k", "v") else ""
            found.setdefault(side, term)
    return found


def _marked_operations(pair: Pair) -> Iterator[Finding]:
    """A cap of the scores, a clip of q, k and v: operations that leave no other trace."""
    for name in ("attention", "mlp", "decoder_layer"):
        if name not in pair.components:
            continue
        theirs, ours = pair.components[name]
        for op, operation in _MARKED.items():
            expected = [each for each in theirs.having(op) if _has_setting(theirs, each)]
            if not expected or not _is_active(theirs, expected[0]):
                continue
            found = ours.having(op)
            if found or ours.closed:
                yield Finding(name, operation, "missing", not found, f"{op} is applied",
                              "applied" if found else "not applied",
                              _at(theirs, expected[0]), _at(ours, found[0] if found else None))  # fmt: skip


def _has_setting(component: Component, term: Term) -> bool:
    return bool(_settings_of(component, term))


def _is_active(component: Component, term: Term) -> bool:
    """Whether the settings of an operation are known and switch it on."""
    known = [concrete(each, component.reader.settings) for each in _settings_of(component, term)]
    return bool(known) and all(each is not UNRESOLVED and each for each in known)


def _settings_of(component: Component, term: Term) -> list[Term]:
    near = [each for arg in term.args for each in _shallow(arg)]
    return [each for each in near if each.op == "config"]


def _shallow(value: Value) -> list[Term]:
    """A value and its operands, as far as a number could be made of them."""
    if not isinstance(value, Term):
        return []
    if value.op in ("div", "mul", "neg", "phi"):
        return [value, *(inner for arg in value.args if isinstance(arg, Term)
                         for inner in ([arg] if arg.op != "neg" else [*arg.args]))]  # fmt: skip
    return [value]


def _multipliers(pair: Pair) -> Iterator[Finding]:
    """Settings that multiply in the reference and do not reach the result in the port."""
    folds = pair.mapping is None or pair.mapping.folds
    for name in ("decoder_layer", "mlp"):
        if name not in pair.components or folds:
            continue
        theirs, ours = pair.components[name]
        used = ours.settings()
        numbers = {ours.number(arg) for term in ours.having("mul", "div") for arg in term.args}
        for setting, term in _factors_of(theirs).items():
            value = theirs.number(term)
            if value is None or value == 1 or not ours.closed:
                continue
            missing = setting not in used and value not in numbers
            yield Finding(name, "multiplier", "missing", missing, f"{setting} = {value:g}",
                          "not applied" if missing else "applied",
                          _at(theirs, term), _at(ours), setting)  # fmt: skip


def _factors_of(component: Component) -> dict[str, Term]:
    found: dict[str, Term] = {}
    for term in component.having("mul", "div"):
        for arg in term.args:
            if isinstance(arg, Term) and arg.op == "config":
                found.setdefault(arg.name, arg)
    return found


# ---- order -----------------------------------------------------------------------------------


def _residuals(pair: Pair) -> Iterator[Finding]:
    """Whether what is added to a branch has been through the norm."""
    if "decoder_layer" not in pair.components:
        return
    theirs, ours = pair.components["decoder_layer"]
    expected, found = _added(theirs), _added(ours)
    for branch in ("attention", "mlp"):
        if branch not in expected or branch not in found or not ours.closed:
            continue
        (one, at), (other, here) = expected[branch], found[branch]
        text = {True: "the normed values are added", False: "the values before the norm are added"}
        yield Finding("decoder_layer", f"residual-{branch}", "order", one != other, text[one],
                      text[other], _at(theirs, at), _at(ours, here))  # fmt: skip


def _added(component: Component) -> dict[str, tuple[bool, Term]]:
    """Branch -> whether the residual added to it is the output of a norm; only where sure."""
    names = {id(each): name for name, value in component.instance.attrs.items()
             for each in alternatives(value)}  # fmt: skip
    found: dict[str, list[tuple[bool, Term]]] = {}
    for term in component.having("add"):
        for branch, other in (term.args, term.args[::-1]):
            kind = _branch(branch, names)
            if kind and isinstance(other, Term) and not _branch(other, names):
                kinds = {_is_normed(each) for each in alternatives(other)}
                if len(kinds) == 1:
                    found.setdefault(kind, []).append((kinds.pop(), term))
    return {kind: sums[0] for kind, sums in found.items() if len({has for has, _ in sums}) == 1}


def _branch(value: Value, names: dict[int, str]) -> str:
    """attention or mlp where a value is its output, perhaps multiplied or normed."""
    for _ in range(8):
        value = stripped(value)
        if isinstance(value, Term) and value.op in ("mul", "div") and len(value.args) == 2:
            sides = [each for each in value.args if isinstance(each, Term)
                     and each.op not in ("config", "default")]  # fmt: skip
            value = sides[0] if len(sides) == 1 else None
            continue
        module = applied(value) if isinstance(value, Term) else None
        if module is None:
            return ""
        kind = kind_of(module, names.get(id(module), ""))
        if kind in _INNER:
            return kind if kind != "rotary" else ""
        if kind != "norm" or not isinstance(value, Term) or len(value.args) < 2:
            return ""
        value = value.args[1]
    return ""


def _is_normed(value: Value) -> bool:
    return role_of(value, ("norm",)) == "norm"


# ---- the rotary embedding --------------------------------------------------------------------


def _rotary_bases(pair: Pair) -> Iterator[Finding]:
    values = pair.reference.reader.settings.values
    nested = values.get("rope_parameters")
    base = values.get("rope_theta", nested.get("rope_theta") if isinstance(nested, dict) else None)
    reads = next((node for node in pair.reference.reader.code.all(ast.Attribute)
                  if node.attr in ("rope_theta", "rope_parameters")), None)  # fmt: skip
    if not isinstance(base, (int, float)) or isinstance(base, bool) or reads is None:
        return
    reader = pair.port.reader
    for _, module in below(pair.port.root, ""):
        given = module.keywords.get("base", module.keywords.get("rope_theta"))
        if "Rotary" not in module.cls or module.definition is not None or module.node is None:
            continue
        found = _number_or_default(pair, given)
        if found is not None:
            yield Finding("rotary", "rope-theta", "constant", not _close(base, found),
                          f"{base:g}", f"{found:g}", Place(pair.reference.reader.code, reads),
                          Place(reader.code, module.node), "rope_theta")  # fmt: skip
            return


def _number_or_default(pair: Pair, value: Value) -> float | None:
    """A number; the default of a setting counts where nothing else names the setting."""
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


def _fused_order(pair: Pair) -> Iterator[Finding]:
    """Which part of a fused weight goes to the activation."""
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
                  _at(theirs, module), Place(pair.port.reader.code, pair.mapping.node)
                  if term.node is None else _at(ours, term))  # fmt: skip


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


_CHECKS: tuple[Callable[[Pair], Iterator[Finding]], ...] = (
    _epsilons, _offsets, _scales, _activations, _head_norms, _marked_operations, _multipliers,
    _residuals, _rotary_bases, _fused_order,
)  # fmt: skip
