"""The condition language of the knowledge, under ``when``, ``test`` and ``where``.

These models define the YAML form; :mod:`..normal_form` gives them their meaning.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Discriminator, Field, Tag, model_validator

from ....facts.strict_models import Strict
from ...inference.aggregates import STATISTICS

_ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*(\.[a-z0-9]+(-[a-z0-9]+)*)+\Z")


def _check_id(value: str) -> str:
    if not _ID.match(value):
        raise ValueError("an id looks like 'tinker.env.some-name' (lower case, dots, hyphens)")
    return value


Id = Annotated[str, AfterValidator(_check_id)]
"""The id of an entry: a public name that reports, tests and overlays refer to."""

Name = Annotated[str, Field(pattern=r"^[a-z_][a-z0-9_]*$")]
"""A name that messages can refer to."""

Scalar = str | bool | int | float
Number = int | float
Operand = Annotated[
    Scalar, Field(description="A constant, '$variable', or '@parameter' of this file.")
]


class VersionEvent(Strict):
    """A range of versions by events: from ``introduced`` up to ``fixed`` (exclusive) or
    ``last_affected`` (inclusive). Pre-releases count as what they are: 2.13.0b1 < 2.13.0."""

    introduced: str = "0"
    fixed: str | None = None
    last_affected: str | None = None


class Test(Strict):
    """Tests of one attribute; all that are given must hold."""

    eq: Operand | None = None
    ne: Operand | None = None
    lt: Operand | None = None
    le: Operand | None = None
    gt: Operand | None = None
    ge: Operand | None = None
    in_: list[Scalar] | None = Field(None, alias="in", min_length=1)
    not_in: list[Scalar] | None = Field(None, min_length=1)
    contains: str | None = Field(None, description="Substring, case-sensitive.")
    matches: str | None = Field(None, description="RE2 pattern searched in the text.")
    not_matches: str | None = None
    affected: list[VersionEvent] | None = None
    prerelease: bool | None = None
    known: Literal[True] | None = Field(None, description="The fact states this attribute.")
    bind: str | None = Field(None, description="Bind the value to a '$variable'.")


Where = dict[str, Test | Scalar]


class Pattern(Strict):
    """A fact of a kind that passes all tests."""

    fact: str
    where: Where = {}
    as_: Name | None = Field(None, alias="as", description="A name for messages: {p.version}.")


class All(Strict):
    """True if every part is true, false if one is false, else unknown."""

    all: list[Condition] = Field(min_length=1)


class Any_(Strict):
    """True if one part is true, false if every part is false, else unknown."""

    any: list[Condition] = Field(min_length=1)


class Not(Strict):
    """True if the part is known to be false, unknown if it is unknown."""

    not_: Condition = Field(alias="not")


class Absent(Strict):
    """True if working memory holds no fact that passes (closed world; use with care)."""

    absent: Pattern


class Count(Strict):
    """True if at least so many facts (or distinct values of ``distinct``) pass."""

    count: Pattern
    at_least: int = Field(ge=1)
    distinct: str | None = None


class SeriesSource(Strict):
    """Numbers ``value`` of the facts that pass, in the order of ``order``."""

    fact: str
    value: str
    order: str
    where: Where = {}
    as_: Name | None = Field(
        None, alias="as", description="A name for messages: {s} is the statistic."
    )


class Series(Strict):
    """A statistic over a series of facts, compared with a bound. Unknown below ``min_points``."""

    series: SeriesSource
    stat: str
    min_points: int = Field(3, ge=1)
    lt: Number | str | None = None
    le: Number | str | None = None
    gt: Number | str | None = None
    ge: Number | str | None = None

    @model_validator(mode="after")
    def _check(self) -> Series:
        if self.stat not in STATISTICS:
            raise ValueError(f"stat must be one of {', '.join(STATISTICS)}")
        if all(bound is None for bound in (self.lt, self.le, self.gt, self.ge)):
            raise ValueError("a series needs a bound: lt, le, gt or ge")
        return self


class DiagnosisHolds(Strict):
    """True if the diagnosis is concluded, false if it is ruled out and not concluded."""

    diagnosis: str


class BandHolds(Strict):
    """True if a value was classified with one of the labels (of any subject, or ``subject``)."""

    band: str
    label: str | list[str]
    subject: str | None = None
    as_: Name | None = Field(
        None, alias="as", description="A name for messages: {b.share} is of what was classified."
    )


_KEYS = ("all", "any", "not", "fact", "absent", "count", "series", "diagnosis", "band")


def _which(value: Any) -> str | None:
    if isinstance(value, dict):
        return next((key for key in _KEYS if key in value), None)
    return next((k for k in _KEYS if hasattr(value, k) or hasattr(value, k + "_")), None)


Condition = Annotated[
    Annotated[All, Tag("all")]
    | Annotated[Any_, Tag("any")]
    | Annotated[Not, Tag("not")]
    | Annotated[Pattern, Tag("fact")]
    | Annotated[Absent, Tag("absent")]
    | Annotated[Count, Tag("count")]
    | Annotated[Series, Tag("series")]
    | Annotated[DiagnosisHolds, Tag("diagnosis")]
    | Annotated[BandHolds, Tag("band")],
    Discriminator(
        _which,
        custom_error_type="condition",
        custom_error_message="a condition is one of: " + ", ".join(_KEYS),
    ),
]
