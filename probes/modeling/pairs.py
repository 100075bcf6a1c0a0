"""Compares classes of the port with those of the reference: casts that only one of them has."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from typing import NamedTuple

from ...reading.python.sources import Code
from .patterns import find_patterns, upcasts

_PREFIX = re.compile(r"^_*(?:Neuron|NxD|Nxd|Trn)", re.ASCII)
# End of a class name -> name that component tests have for it.
_COMPONENTS = (
    ("RMSNorm", "rmsnorm"), ("LayerNorm", "layernorm"), ("RotaryEmbedding", "rotary"),
    ("Router", "router"), ("Experts", "experts"), ("MLP", "mlp"), ("Attention", "attention"),
    ("DecoderLayer", "decoder_layer"),
)  # fmt: skip


class Difference(NamedTuple):
    """``present`` false: both were read, and they do not differ in this."""

    component: str
    difference: str
    node: ast.AST
    present: bool
    detail: str


def reference_of(port: Code, references: Sequence[Code]) -> Code | None:
    """The reference that shares the most class names with the port; None if none does."""
    names = {plain_name(name) for name in port.classes}
    shared = [(len(names & set(each.classes)), -place) for place, each in enumerate(references)]
    best = max(shared, default=(0, 0))
    return references[-best[1]] if best[0] else None


def plain_name(name: str) -> str:
    """The class of the reference that a class of the port replaces: ``NeuronToyMLP`` is
    ``ToyMLP``."""
    return _PREFIX.sub("", name)


def compare_classes(reference: Code, port: Code) -> list[Difference]:
    """Differences of the classes that both files define and compute themselves."""
    variance = {
        id(owner)
        for finding in find_patterns(port)
        if finding.pattern == "norm-variance-without-upcast" and finding.node is not None
        and (owner := port.class_of(finding.node)) is not None
    }  # fmt: skip
    found = []
    for name, owner in port.classes.items():
        other = reference.classes.get(plain_name(name))
        component = component_of(name)
        if other is None or component is None or not _computes(port, owner):
            continue
        ours, theirs = (
            sum(len(upcasts(code, method)) for method in code.forward_methods(its_class))
            for code, its_class in ((port, owner), (reference, other))
        )
        detail = f"{name}: {ours} casts to FP32; {other.name}: {theirs}"
        found.append(Difference(component, "extra-upcast", owner, ours > theirs, detail))
        if component in ("rmsnorm", "layernorm") and theirs:
            present = id(owner) in variance
            found.append(Difference(component, "variance-bf16", owner, present, detail))
    return found


def component_of(name: str) -> str | None:
    """The component that a class is, by the end of its name."""
    return next((short for end, short in _COMPONENTS if name.endswith(end)), None)


def _computes(code: Code, owner: ast.ClassDef) -> bool:
    """Whether the class has a forward of its own that does not hand over to its base."""
    forward = code.methods(owner).get("forward")
    if forward is None:
        return False
    return all(name.id != "super" for call in code.all(ast.Call, forward)
               for name in code.all(ast.Name, call))  # fmt: skip
