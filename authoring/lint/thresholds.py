"""Numbers in conditions: their origin, their units, and whether they are used."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from ...engine.compiler.source import conditions as c
from ...engine.compiler.source import entries as e
from ...engine.compiler.source.knowledge_source import Item
from ...facts import Attribute, Problem
from ...facts.problems import did_you_mean
from ..references import Path, all_parts
from .lint_context import Subject

_BOUNDS = ("lt", "le", "gt", "ge")
_SELF_EVIDENT = (0, 1)
_MEASURED = frozenset(
    {"s", "ms", "us", "min", "h", "B", "KB", "MB", "GB", "TB", "KiB", "MiB", "GiB"}
)
"""Units that a number cannot have if its attribute has none."""


def threshold_problems(subject: Subject) -> Iterator[Problem]:
    """Problems of the numbers in all entries and of the parameters of all files."""
    used: dict[int, set[str]] = {}
    files: dict[int, Item] = {}
    for item in subject.source.items:
        files.setdefault(id(item.file), item)
        names = used.setdefault(id(item.file), set())
        for path, attribute, op, operand in _comparisons(subject, item):
            if isinstance(operand, str) and operand.startswith("@"):
                names.add(operand[1:])
                yield from _unit_problems(subject, item, path, attribute, operand[1:])
            elif item.entry.status != "deprecated" and item.form != "diagnosis":
                yield from _origin_problems(item, path, attribute, op, operand)
    for key, item in files.items():
        yield from _parameter_problems(item, used[key])


def _comparisons(subject: Subject, item: Item) -> Iterator[tuple[Path, Attribute | None, str, Any]]:
    """(place, attribute, operator, operand) of every comparison; the attribute is None if the
    number is a statistic over a series."""
    for path, node in all_parts(item):
        if isinstance(node, c.Series):
            for op in _BOUNDS:
                yield (*path, op), None, op, getattr(node, op)
            yield from _tests(subject, node.series.fact, node.series.where, (*path, "series"))
        elif isinstance(node, c.Pattern):
            yield from _tests(subject, node.fact, node.where, path)
    if isinstance(item.entry, e.Classification):
        kind = subject.vocabulary.kinds.get(item.entry.observe.fact)
        measured = kind.attributes.get(item.entry.attribute) if kind else None
        for index, band in enumerate(item.entry.bands):
            for name, bound in (("from", band.from_), ("to", band.to)):
                yield ("bands", index, name), measured, "ge", bound
        yield from _tests(subject, item.entry.observe.fact, item.entry.undefined_where, ())


def _tests(
    subject: Subject, fact: str, where: c.Where, path: Path
) -> Iterator[tuple[Path, Attribute | None, str, Any]]:
    kind = subject.vocabulary.kinds.get(fact)
    for name, test in where.items():
        attribute = kind.attributes.get(name) if kind else None
        at = (*path, "where", name)
        if not isinstance(test, c.Test):
            yield at, attribute, "eq", test
            continue
        for op in (*_BOUNDS, "eq", "ne"):
            yield (*at, op), attribute, op, getattr(test, op)


def _origin_problems(
    item: Item, path: Path, attribute: Attribute | None, op: str, operand: Any
) -> Iterator[Problem]:
    if isinstance(operand, bool) or not isinstance(operand, int | float):
        return
    if not math.isfinite(operand):
        return  # a problem of compiling
    named = "write it under 'parameters' of the file with its origin, and '@name' here"
    if op in ("eq", "ne"):
        if attribute and attribute.type == "number" and operand != int(operand):
            message = f"{item.id} compares the measured number {attribute.name!r} for equality"
            yield Problem("MM247", message, item.where(*path), "give a range: ge and le")
    elif operand not in _SELF_EVIDENT and not (attribute and attribute.type == "integer"):
        message = f"{item.id}: nothing says where the threshold {operand:g} comes from"
        yield Problem("MM248", message, item.where(*path), named)


def _unit_problems(
    subject: Subject, item: Item, path: Path, attribute: Attribute | None, name: str
) -> Iterator[Problem]:
    parameter = getattr(item.file, "parameters", {}).get(name)
    if parameter is None or attribute is None or attribute.type not in ("number", "integer"):
        return
    given, wanted = parameter.unit, attribute.unit
    if given == wanted or (not wanted and given not in _MEASURED):
        return
    where = item.where(*path)
    kinds = subject.vocabulary.kinds.values()
    known = _MEASURED.union(a.unit for kind in kinds for a in kind.attributes.values())
    if given and given not in known:
        where = item.document.where(("parameters", name, "unit"))  # a unit that nothing has
    yield Problem(
        "MM249",
        f"the parameter {name!r} is in {given or 'no unit'}, {attribute.name!r} in"
        f" {wanted or 'no unit'}",
        where,
        f"give the number in {wanted}" if wanted else "mend the unit of the one that is wrong",
    )


def _parameter_problems(item: Item, used: set[str]) -> Iterator[Problem]:
    parameters: dict[str, e.Parameter] = getattr(item.file, "parameters", {})
    for name, parameter in parameters.items():
        where = item.document.where(("parameters", name))
        if name not in used:
            hint = did_you_mean(name, used) or "use it as '@" + name + "', or remove it"
            yield Problem("MM271", f"no condition uses the parameter {name!r}", where, hint)
        if not parameter.origin.strip():
            message = f"nothing says where the threshold {name!r} comes from"
            at = item.document.where(("parameters", name, "origin"))
            yield Problem("MM248", message, at, "name the source, or how it was measured")
        if not math.isfinite(parameter.value):
            at = item.document.where(("parameters", name, "value"))
            hint = "a bound that does not exist is left out"
            yield Problem("MM272", f"the parameter {name!r} is not a finite number", at, hint)
