"""Compiles the message templates of an alternative: what they name is resolved to its unit.

``{p.attribute}`` is an attribute of the pattern ``as: p``, ``{p}`` the number of a count or the
statistic of a series whose pattern is ``as: p``, ``{name}`` a parameter of the file. What is
compiled holds ``{p.attribute:unit}``, ``{p:unit}`` and ``{=0.5:unit}``, see
:mod:`modelmedic.engine.diagnosis.wording`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from typing import NamedTuple

from ...facts import Attribute, Vocabulary
from ..inference.program import Literal, Repair
from .alternatives import Alternative, SharedPatterns
from .source import entries as e

PLACEHOLDER = re.compile(r"\{([a-z_][a-z0-9_]*)(?:\.([a-z_][a-z0-9_]*))?\}")
_IN_PLACE = re.compile(rf"{PLACEHOLDER.pattern}( %)?")
_NUMERIC = ("number", "integer")
_OF_VALUES = (
    "first", "last", "min", "max", "mean", "median", "range", "slope", "last_minus_first",
    "last_minus_min",
)  # fmt: skip
"""Statistics in the unit of their values; the others are bare numbers."""


class Said(NamedTuple):
    """A message, and the repair that applies if the message does."""

    text: str
    repair: Repair | None = None

    @property
    def parts(self) -> tuple[str, ...]:
        """All texts of the message and its repair."""
        return (self.text, *(self.repair or ()))


class Placeholder(NamedTuple):
    """The text in braces: an alias with an attribute, or a bare name."""

    name: str
    attribute: str


def placeholders(template: str) -> list[Placeholder]:
    """The placeholders of a template, in their order."""
    return [Placeholder(m[1], m[2] or "") for m in PLACEHOLDER.finditer(template)]


def unit_of(attribute: Attribute | None) -> str:
    """The unit in which people read the values: a number from 0 to 1 without unit is a share."""
    if attribute is None or attribute.type not in _NUMERIC:
        return ""
    share = attribute.type == "number" and (attribute.minimum, attribute.maximum) == (0, 1)
    return attribute.unit or ("%" if share else "")


def statistic_unit(function: str, value: Attribute | None) -> str:
    """The unit of a statistic over values of an attribute."""
    if function == "increases_share":
        return "%"
    return unit_of(value) if function in _OF_VALUES else ""


class Templates(NamedTuple):
    """Compiles templates. ``units`` holds for each parameter that of what it is compared with,
    ``observed`` the kind of fact that each classification classifies."""

    vocabulary: Vocabulary
    patterns: SharedPatterns
    parameters: Mapping[str, e.Parameter]
    units: Mapping[str, str]
    observed: Mapping[str, str]

    def compiled(self, said: Iterable[Said], found: Alternative) -> tuple[Said, ...]:
        """The messages that name only what the alternative binds, in order; the last message if
        there is none."""
        assumed = f" This assumes {{{found.assumed}}}." if found.assumed else ""
        said = [Said(text + assumed, repair) for text, repair in said if text]
        bound = {x.alias: x for x in found.literals if x.alias and x.mode in ("match", "aggregate")}
        fitting = [each for each in said if all(self._fits(t, bound) for t in each.parts)]
        return tuple(
            [
                Said(self._compiled(text, bound), repair and self._repair(repair, bound))
                for text, repair in fitting or said[-1:]
            ]
        )

    def _repair(self, repair: Repair, bound: Mapping[str, Literal]) -> Repair:
        return Repair(*[self._compiled(part, bound) for part in repair])

    def _fits(self, template: str, bound: Mapping[str, Literal]) -> bool:
        return all(
            name in bound or (not attribute and name in self.parameters)
            for name, attribute in placeholders(template)
        )

    def _compiled(self, template: str, bound: Mapping[str, Literal]) -> str:
        def resolved(match: re.Match[str]) -> str:
            name, attribute = match[1], match[2]
            before, after = template[: match.start()], template[match.end() :]
            if attribute:
                value, unit = f"{name}.{attribute}", self._unit(bound.get(name), attribute)
            elif name in bound:
                value, unit = name, self._counted_unit(bound[name])
            elif name in self.parameters:
                parameter = self.parameters[name]
                value, unit = f"={parameter.value!r}", self.units.get(name) or parameter.unit
            else:
                return match[0]
            if match[3]:
                unit = "%"  # so the text says of a share that has no unit
            elif before.endswith((":", "=")):
                unit = "#"  # train.py:12345 is a place, seq_len=16384 code: neither is an amount
            elif unit and re.match(rf"\s*{re.escape(unit)}(?!\w)", after):
                unit = ""  # the text names the unit itself
            return f"{{{value}:{unit}}}"

        return _IN_PLACE.sub(resolved, template)

    def _unit(self, literal: Literal | None, attribute: str) -> str:
        if literal is None:
            return ""
        pattern = self.patterns.of(literal)
        classes = [t.operand for t in pattern.tests if t.attribute == "classification"]
        name = self.observed.get(classes[0], "") if classes else pattern.kind
        kind = self.vocabulary.kinds.get(name)
        return unit_of(kind.attributes.get(attribute)) if kind else ""

    def _counted_unit(self, literal: Literal) -> str:
        if literal.mode != "aggregate":
            return ""
        counted = self.patterns.aggregates[literal.pattern]
        kind = self.vocabulary.kinds.get(self.patterns.of(literal).kind)
        return statistic_unit(
            counted.function, kind.attributes.get(counted.value) if kind else None
        )


def texts(message: str | Sequence[str]) -> Iterator[str]:
    """The templates of an entry's ``message``."""
    yield from [message] if isinstance(message, str) else message


def said_by(part: e.Rule | e.Branch | e.Band) -> Iterator[Said]:
    """Yield each message of a part of an entry with its repair."""
    repairs = part.repair if isinstance(part.repair, list) else repeat(part.repair)
    for text, repair in zip(texts(part.message), repairs, strict=False):
        yield Said(text, Repair(**dict(repair)) if repair else None)
