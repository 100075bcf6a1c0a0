"""Findings of a comparison of reference and port, and their places."""

from __future__ import annotations

import ast
from typing import NamedTuple

from ....reading.python.sources import Code
from .components import Component
from .mapping import Mapping
from .tree import Model
from .values import Term

_TOLERANCE = 1e-6


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
    """The two models, their mapping if it is known, and their components by name."""

    reference: Model
    port: Model
    mapping: Mapping | None
    components: dict[str, tuple[Component, Component]]


def place_of(component: Component, term: Term | None = None) -> Place:
    """The place of a term of a component; without one its forward."""
    if term is not None and term.node is not None and term.code is not None:
        return Place(term.code, term.node)
    return Place(component.code, component.place)


def close(one: float, other: float) -> bool:
    """Whether two numbers are the same but for rounding."""
    return abs(one - other) <= _TOLERANCE * max(abs(one), abs(other))
