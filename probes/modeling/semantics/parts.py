"""Attention, feed-forward network and layer: operations, constants and their order."""

from __future__ import annotations

from collections.abc import Iterator

from .components import Component, activation, applied, role_of, score_factor, stripped
from .findings import Finding, Pair, close, place_of
from .tree import kind_of
from .values import UNRESOLVED, Term, Value, alternatives, concrete

_MARKED = {"tanh": "softcap", "clamp": "clip"}
_INNER = ("attention", "mlp", "rotary")


def scales(pair: Pair) -> Iterator[Finding]:
    """The factor of the attention scores."""
    if "attention" not in pair.components:
        return
    theirs, ours = pair.components["attention"]
    one, other = score_factor(theirs), score_factor(ours)
    if one is None or other is None:
        return
    differs = not close(one[0], other[0])
    if differs and (pair.mapping is None or pair.mapping.folds):
        return
    what = "missing" if close(other[0], 1.0) else "constant"
    yield Finding("attention", "attention-scale", what, differs, f"{one[0]:g}", f"{other[0]:g}",
                  place_of(theirs, one[1]), place_of(ours, other[1]))  # fmt: skip


def activations(pair: Pair) -> Iterator[Finding]:
    """The activation of the feed-forward network."""
    if "mlp" not in pair.components:
        return
    theirs, ours = pair.components["mlp"]
    one, other = activation(theirs), activation(ours)
    if one is None or other is None:
        return
    yield Finding("mlp", "activation", "constant", one[0] != other[0], one[0], other[0],
                  place_of(theirs, one[1]), place_of(ours, other[1]))  # fmt: skip


def head_norms(pair: Pair) -> Iterator[Finding]:
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
                          place_of(theirs, expected[side]),
                          place_of(ours, found.get(side)))  # fmt: skip


def _norm_sides(component: Component) -> dict[str, Term]:
    """q, k or v -> the norm that is applied to it; empty for one whose side is unknown."""
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


def marked_operations(pair: Pair) -> Iterator[Finding]:
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
                here = place_of(ours, found[0] if found else None)
                yield Finding(name, operation, "missing", not found, f"{op} is applied",
                              "applied" if found else "not applied",
                              place_of(theirs, expected[0]), here)  # fmt: skip


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


def multipliers(pair: Pair) -> Iterator[Finding]:
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
                          place_of(theirs, term), place_of(ours), setting)  # fmt: skip


def _factors_of(component: Component) -> dict[str, Term]:
    found: dict[str, Term] = {}
    for term in component.having("mul", "div"):
        for arg in term.args:
            if isinstance(arg, Term) and arg.op == "config":
                found.setdefault(arg.name, arg)
    return found


# ---- order -----------------------------------------------------------------------------------


def residuals(pair: Pair) -> Iterator[Finding]:
    """Check whether the value that is added to a branch is the output of the norm."""
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
                      text[other], place_of(theirs, at), place_of(ours, here))  # fmt: skip


def _added(component: Component) -> dict[str, tuple[bool, Term]]:
    """Branch -> whether the residual added to it is the output of a norm; only if sure."""
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
    """attention or mlp if a value is its output, perhaps multiplied or normed."""
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
