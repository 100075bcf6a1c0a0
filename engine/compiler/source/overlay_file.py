"""The declarations of an overlay about the knowledge below it: ``modelmedic/overlay/1``."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from ....facts.strict_models import Strict
from .conditions import Condition, Id
from .entries import Parameter

SCHEMA = "modelmedic/overlay/1"


def _check_date(value: str) -> str:
    try:
        written = date.fromisoformat(value).isoformat()
    except ValueError:
        written = ""
    if written != value:
        raise ValueError("a date looks like 2027-01-31")
    return value


Date = Annotated[str, AfterValidator(_check_date)]


class Silence(Strict):
    """An entry or diagnosis below that stays silent for a while."""

    id: Id = Field(description="The entry or diagnosis.")
    reason: str = Field(min_length=1, description="Why; every report shows it.")
    until: Date = Field(description="The last day on which it applies.")


class Change(Strict):
    """Permission for entries of the overlay to replace, rule out, explain or refine one below until
    a day."""

    id: Id = Field(description="The entry or diagnosis below.")
    reason: str = Field(min_length=1, description="Why; every report shows it.")
    until: Date = Field(description="The last day on which it applies.")


class Tightening(Strict):
    """A further condition for an entry below."""

    id: Id = Field(description="A rule, error row, tree or classification.")
    only_if: Condition = Field(description="Must be true as well.")
    reason: str = Field(min_length=1, description="Why; every report shows it.")
    until: Date = Field(description="The last day on which it applies.")


class OverlayFile(Strict):
    """``modelmedic/overlay/1``: one file for each overlay, if it needs one."""

    schema_: Literal["modelmedic/overlay/1"] = Field(alias="schema")
    name: str = Field("", max_length=100, description="What reports call the overlay.")
    version: str = Field("", max_length=40, description="Version of the overlay.")
    note: str = ""
    parameters: dict[str, Parameter] = {}
    changes: list[Change] = []
    silence: list[Silence] = []
    tighten: list[Tightening] = []
