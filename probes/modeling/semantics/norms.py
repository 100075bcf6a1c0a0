"""Norms: their epsilon, and their factor."""

from __future__ import annotations

from collections.abc import Iterator

from ..port_code import words
from .components import norm_offset, read_component
from .findings import Finding, Pair, Place, close, place_of
from .tree import Model, below, kind_of
from .values import UNRESOLVED, Instance, concrete

_EPSILONS = ("eps", "variance_epsilon", "epsilon")


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


def epsilons(pair: Pair) -> Iterator[Finding]:
    """The epsilon of each norm."""
    theirs, ours = _norms(pair.reference), _norms(pair.port)
    known = {name: _epsilon(pair.reference, module) for name, module in theirs.items()}
    for name, module in ours.items():
        expected = known.get(name) if name in known else _only(set(known.values()))
        found = _epsilon(pair.port, module)
        if expected is None or found is None or module.node is None:
            continue
        other = theirs.get(name) or next(iter(theirs.values()))
        code = pair.reference.reader.code
        yield Finding("rmsnorm", "epsilon", "constant", not close(expected, found),
                      f"{expected:g}", f"{found:g} ({name})",
                      Place(code, other.node or other.definition or code.tree),
                      Place(pair.port.reader.code, module.node))  # fmt: skip


def _only(values: set[float | None]) -> float | None:
    return next(iter(values)) if len(values) == 1 else None


def offsets(pair: Pair) -> Iterator[Finding]:
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
        found.append((form[0], place_of(component, form[1])))
    return found
