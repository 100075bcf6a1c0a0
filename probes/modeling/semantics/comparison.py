"""Compares reference and port: operations that one of them lacks, other constants, other orders.

Each check reports that the two differ, that they do not, or nothing: nothing if a part of the
computation cannot be seen, such as a base class of the library.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from . import constants, heads, norms, parts
from .components import Component, read_component
from .findings import Finding, Pair
from .mapping import Mapping
from .statements import TooLong
from .tree import Model

_CHECKS: tuple[Callable[[Pair], Iterator[Finding]], ...] = (
    norms.epsilons, norms.offsets, parts.scales, parts.activations, parts.head_norms,
    parts.marked_operations, parts.multipliers, parts.residuals, heads.around_layers,
    constants.rotary_bases, constants.fused_order,
)  # fmt: skip


def compare_models(reference: Model, port: Model, mapping: Mapping | None) -> list[Finding]:
    """The differences between the computations of two models."""
    components = {}
    for name in ("attention", "mlp", "decoder_layer"):
        ours, theirs = _part(port, name), _part(reference, name)
        if ours is not None and theirs is not None:
            components[name] = (theirs, ours)
    pair = Pair(reference, port, mapping, components)
    found: list[Finding] = []
    for check in _CHECKS:
        try:
            found.extend(check(pair))
        except TooLong:
            continue
    return found


def _part(model: Model, name: str) -> Component | None:
    instance = model.layer if name == "decoder_layer" else model.part(name)
    return read_component(model.reader, instance)
