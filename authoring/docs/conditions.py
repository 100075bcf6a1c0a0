"""Conditions in words, with the values of parameters and links to the entries and kinds that they
test."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ...engine.compiler.source import conditions as c
from .content import Point, Run, Runs, code, text

Link = Callable[[str], Run]

_WORDS = {
    "eq": "is",
    "ne": "is not",
    "lt": "<",
    "le": "≤",
    "gt": ">",
    "ge": "≥",
    "in": "is one of",
    "not_in": "is none of",
    "contains": "contains",
    "matches": "matches",
    "not_matches": "does not match",
}


class Wording:
    """Puts the conditions of one file into words. ``link`` makes the link to an entry or a fact
    kind."""

    def __init__(self, parameters: Mapping[str, Any], link: Link) -> None:
        self._parameters = parameters
        self._link = link

    def point(self, node: Any) -> Point:
        """A condition as a point of a list."""
        if isinstance(node, c.All):
            return Point(text("all of"), tuple(map(self.point, node.all)))
        if isinstance(node, c.Any_):
            return Point(text("one of"), tuple(map(self.point, node.any)))
        if isinstance(node, c.Not):
            return Point(text("known to be false:"), (self.point(node.not_),))
        return Point(tuple(self._leaf(node)))

    def pattern(self, node: c.Pattern) -> Runs:
        """A fact and its tests."""
        return (self._link(node.fact), *self._where(node.where))

    def number(self, value: Any) -> str:
        """A bound: a number, or the value of a parameter with its name."""
        return self._operand(value)

    def _leaf(self, node: Any) -> Iterator[Run]:
        if isinstance(node, c.Pattern):
            yield from self.pattern(node)
        elif isinstance(node, c.Absent):
            yield Run("no ")
            yield from self.pattern(node.absent)
            yield Run(" is known")
        elif isinstance(node, c.Count):
            what = f" different {node.distinct}" if node.distinct else ""
            yield Run(f"at least {node.at_least}{what} of ")
            yield from self.pattern(node.count)
        elif isinstance(node, c.Series):
            yield from self._series(node)
        elif isinstance(node, c.DiagnosisHolds):
            yield from (self._link(node.diagnosis), Run(" is concluded"))
        elif isinstance(node, c.BandHolds):
            labels = [node.label] if isinstance(node.label, str) else node.label
            subject = f" for {node.subject}" if node.subject else ""
            yield from (self._link(node.band), Run(f" says {' or '.join(labels)}{subject}"))

    def _series(self, node: c.Series) -> Iterator[Run]:
        source = node.series
        bounds = [
            f"{_WORDS[op]} {self._operand(getattr(node, op))}"
            for op in ("lt", "le", "gt", "ge")
            if getattr(node, op) is not None
        ]
        yield from text(code(node.stat), f" of {source.value} over ", self._link(source.fact))
        yield from self._where(source.where)
        yield Run(f" in the order of {source.order} {' and '.join(bounds)}")
        yield Run(f" (from {node.min_points} points on)")

    def _where(self, where: c.Where) -> Iterator[Run]:
        for number, (name, test) in enumerate(where.items()):
            yield Run(" with " if number == 0 else " and ")
            yield code(f"{name} {self._test(test)}")

    def _test(self, test: Any) -> str:
        if not isinstance(test, c.Test):
            return f"is {self._operand(test)}"
        return " and ".join(self._parts(test))

    def _parts(self, test: c.Test) -> Iterator[str]:
        for field in type(test).model_fields:
            value = getattr(test, field)
            if value is None:
                continue
            if field == "affected":
                yield " or ".join(map(_events, value))
            elif field == "prerelease":
                yield "is a pre-release" if value else "is not a pre-release"
            elif field == "known":
                yield "is known"
            elif field == "bind":
                yield f"is called {value}"
            else:
                name = field.rstrip("_")
                literal = name in ("contains", "matches", "not_matches")
                yield f"{_WORDS[name]} {repr(value) if literal else self._operand(value)}"

    def _operand(self, value: Any) -> str:
        if isinstance(value, list):
            return ", ".join(map(self._operand, value))
        if isinstance(value, str) and value.startswith("@"):
            known = self._parameters.get(value[1:])
            unit = f" {known.unit}" if known and known.unit else ""
            return f"{known.value}{unit} ({value[1:]})" if known else value
        if isinstance(value, bool):
            return str(value).lower()
        return str(value)


def _events(event: c.VersionEvent) -> str:
    """A range of versions."""
    start = f"from {event.introduced} " if event.introduced != "0" else ""
    if event.fixed is not None:
        return f"{start}before {event.fixed}"
    if event.last_affected is not None:
        return f"{start}up to {event.last_affected}"
    return f"{start}on" if start else "is any version"
