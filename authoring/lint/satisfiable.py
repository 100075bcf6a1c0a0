"""Whether the tests of one pattern can hold together, decided from the vocabulary's domains."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...engine.inference.operators import compile_check
from ...engine.inference.versions import version_key
from ...facts import Attribute, Kind
from ..testing.values import domain

_ORDER = ("lt", "le", "gt", "ge")


def contradiction(kind: Kind, tests: Iterable[tuple[str, str, Any]]) -> str:
    """The reason why no fact of the kind can pass all tests; empty if one may."""
    by_attribute: dict[str, list[tuple[str, Any]]] = {}
    for name, op, operand in tests:
        if name in kind.attributes:
            by_attribute.setdefault(name, []).append((op, operand))
    for name, wanted in by_attribute.items():
        attribute = kind.attributes[name]
        if len(wanted) == 1 and wanted[0][0] not in (*_ORDER, "affected", "not_in"):
            continue  # single values were checked against the vocabulary when compiling
        reason = _clash(attribute, wanted)
        if reason:
            return f"{name}: {reason}"
    return ""


def _clash(attribute: Attribute, wanted: list[tuple[str, Any]]) -> str:
    said = " and ".join(_spell(op, operand) for op, operand in wanted)
    if attribute.type == "version" and not any(op == "version_eq" for op, _ in wanted):
        return "" if _version_range(wanted) else f"no version is {said}"
    values = _values(attribute, wanted)
    checks = [compile_check(op, operand) for op, operand in wanted]
    possible = any(all(check(value) is not False for check in checks) for value in values or ())
    return "" if values is None or possible else f"no value is {said}"


def _values(attribute: Attribute, wanted: list[tuple[str, Any]]) -> list[Any] | None:
    """The values that matter for the tests; None if there are too many to write down."""
    for op, operand in wanted:
        if op in ("eq", "version_eq"):
            return [operand]
        if op == "in":
            return list(operand)
    if attribute.type in ("boolean", "integer", "number") or attribute.values:
        constants = [x for _, o in wanted for x in (o if isinstance(o, list) else [o])]
        return domain(attribute, constants) or None
    return None


def _version_range(wanted: list[tuple[str, Any]]) -> bool:
    """Whether a version is left between the bounds; events are ranges one by one."""
    bounds = [(op.removeprefix("version_"), version_key(x)) for op, x in wanted if _ordered(op)]
    lows = [key for op, key in bounds if op in ("gt", "ge") and key]
    highs = [(key, op) for op, key in bounds if op in ("lt", "le") and key]
    for low in lows:
        for high, op in highs:
            if high < low or (high == low and op == "lt"):
                return False
    for op, events in wanted:
        if op == "affected" and not any(_event_holds(event) for event in events):
            return False
    return True


def _ordered(op: str) -> bool:
    return op.startswith("version_") and op.removeprefix("version_") in _ORDER


def _event_holds(event: dict[str, str | None]) -> bool:
    low = version_key(event.get("introduced") or "0")
    fixed, last = event.get("fixed"), event.get("last_affected")
    end, until = version_key(fixed) if fixed else None, version_key(last) if last else None
    if low is None:
        return True
    return not ((end and end <= low) or (until and until < low))


def _spell(op: str, operand: Any) -> str:
    name = op.removeprefix("version_")
    if name == "affected":
        spans = (" ".join(f"{k} {v}" for k, v in event.items() if v) for event in operand)
        return f"in the range ({'; '.join(spans)})"
    signs = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "=", "ne": "not"}
    return f"{signs.get(name, name)} {operand}"
