"""Operators and operands of attribute tests, and what can be wrong with them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any

from ...facts import Attribute
from ...facts.problems import excerpt
from ..inference.versions import version_key
from .source import conditions as c

VERBATIM = ("contains", "matches", "not_matches")
"""Operators in whose operands '$' and '@' mean nothing."""

VARIABLE = re.compile(r"\$[A-Za-z][A-Za-z0-9_]*\Z")
_NUMERIC = ("integer", "number")
_TEXTUAL = ("string", "text", "path", "version")


def is_variable(operand: Any) -> bool:
    """Whether an operand is written as a variable, well-formed or not."""
    return isinstance(operand, str) and operand.startswith("$")


def pairs(test: Any) -> list[tuple[str, Any]]:
    """(operator, operand) pairs of a test."""
    if not isinstance(test, c.Test):
        return [("eq", test)]
    return [
        (name.rstrip("_"), [e.model_dump() for e in x] if name == "affected" else x)
        for name, x in test.__dict__.items()
        if x is not None
    ]


def operand_problem(attribute: Attribute, op: str, operand: Any) -> tuple[str, str] | None:
    """The problem with comparing the attribute with the operand: (message, hint)."""
    if op == "known":
        return None
    if op in VERBATIM:
        return _text_problem(attribute, op, operand)
    if op in ("affected", "prerelease"):
        return _events_problem(attribute, operand)
    if op in ("lt", "le", "gt", "ge") and attribute.type not in _NUMERIC:
        if attribute.type == "version":
            return _version_problem([operand])
        return f"the attribute is a {attribute.type} and has no order", ""
    for value in operand if isinstance(operand, list) else [operand]:
        if isinstance(value, float) and not math.isfinite(value):
            return f"{value!r} is not a finite number", "leave out a bound that does not exist"
        if attribute.type == "number" and type(value) in (int, float):
            continue
        if wrong := attribute.problem(value):
            return wrong[0], wrong[1] or _type_hint(attribute, value)
    return None


def _type_hint(attribute: Attribute, value: Any) -> str:
    """A hint for values that YAML reads as another type than was meant."""
    if attribute.type in _TEXTUAL and isinstance(value, float):
        return f"without quotes it is the number {value!r}: put it in quotes"
    if attribute.type == "boolean":
        return "write true or false; yes, no, on and off are text"
    if attribute.type in _NUMERIC and isinstance(value, str):
        return "a number stands without quotes, a parameter as '@name'"
    return f"`diagnose facts` shows what {attribute.name!r} can be"


def _text_problem(attribute: Attribute, op: str, operand: str) -> tuple[str, str] | None:
    if attribute.type not in _TEXTUAL:
        return f"the attribute is a {attribute.type}, not text", ""
    if op != "contains":
        from .source.expressions import analysed

        if problem := analysed(operand).problem:
            return problem, "RE2 has no look-around and no back-references"
    return None


def _events_problem(attribute: Attribute, operand: Any) -> tuple[str, str] | None:
    if attribute.type != "version":
        return "the attribute is not a version", ""
    events = operand if isinstance(operand, list) else []
    return _version_problem(bound for event in events for bound in event.values())


def _version_problem(bounds: Iterable[Any]) -> tuple[str, str] | None:
    for value in bounds:
        if value is not None and not (isinstance(value, str) and version_key(value)):
            return f"{excerpt(value)} is not a version", "write a PEP 440 version in quotes"
    return None
