"""What a value of a port's module may be instead of what it should: ``modelmedic/relations/1``."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StrictBool

from ....facts.strict_models import Strict
from .hypotheses_file import Family, Name

Node = Annotated[str, Field(pattern=r"^:?[a-z_.]+(\+:?[a-z_.]+)*$")]


class ReplayRelation(Strict):
    """Values of a module, what they may be instead, and what that means."""

    of: list[Family] = Field(min_length=1, description="The families of modules it is about.")
    node: list[Node] = Field(
        min_length=1,
        description="Values inside the module, or weights (a colon before the name). All that a "
        "plus joins change alike.",
    )
    is_: list[Name] = Field(
        min_length=1, alias="is", description="Relations of the closed family: dropped, factor, …"
    )
    from_: str = Field(
        "", alias="from", description="The values that may stand in its place, with spaces between."
    )
    where: str = Field(
        "",
        pattern=r"^[bpkhcref]*$",
        description="Axes along which a part alone may be concerned: b rows of the batch, p "
        "positions, k keys, h heads, c channels, r rows of a weight, e experts, f the positions "
        "that fail.",
    )
    if_: dict[str, StrictBool] = Field(
        {}, alias="if", description="Settings of the module that are there (true) or not (false)."
    )
    cause: Name = Field(
        description="The diagnosis neuron.component.CAUSE; computed-otherwise is not a firm cause."
    )
    partial: Name | None = Field(None, description="The cause where a part alone is concerned.")


class RelationsFile(Strict):
    """``modelmedic/relations/1``."""

    schema_: Literal["modelmedic/relations/1"] = Field(alias="schema", description="The form.")
    relations: list[ReplayRelation] = Field(
        min_length=1, description="Of those that explain the same, the first one counts."
    )
