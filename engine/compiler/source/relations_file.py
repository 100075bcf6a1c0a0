"""Relations between a wrong value in a port's module and the right one:
``modelmedic/relations/1``."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StrictBool

from ....facts.strict_models import Strict
from .hypotheses_file import Family, Name

Node = Annotated[str, Field(pattern=r"^:?[a-z_.]+(\+:?[a-z_.]+)*$")]


class ReplayRelation(Strict):
    """Values of a module, what they may be instead, and what that means."""

    of: list[Family] = Field(min_length=1, description="The families of modules that it fits.")
    node: list[Node] = Field(
        min_length=1,
        description="Values inside the module, or weights (a colon before the name). Those "
        "joined by a plus change alike.",
    )
    is_: list[Name] = Field(
        min_length=1, alias="is", description="Relations of the closed family: dropped, factor, …"
    )
    from_: str = Field(
        "", alias="from", description="Values that may replace it, separated by spaces."
    )
    where: str = Field(
        "",
        pattern=r"^[bpkhcref]*$",
        description="Axes along which only a part may be affected: b rows of the batch, p "
        "positions, k keys, h heads, c channels, r rows of a weight, e experts, f the positions "
        "that fail.",
    )
    if_: dict[str, StrictBool] = Field(
        {},
        alias="if",
        description="Settings that must be present (true) or absent (false).",
    )
    cause: Name = Field(
        description="The diagnosis neuron.component.CAUSE; computed-otherwise is not a firm cause."
    )
    partial: Name | None = Field(None, description="The cause if only a part is affected.")


class RelationsFile(Strict):
    """``modelmedic/relations/1``."""

    schema_: Literal["modelmedic/relations/1"] = Field(alias="schema", description="The form.")
    relations: list[ReplayRelation] = Field(
        min_length=1, description="The first of those with the same explanation counts."
    )
