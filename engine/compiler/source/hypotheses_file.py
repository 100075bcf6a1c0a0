"""Possible faults of a port, as data: ``modelmedic/hypotheses/1``."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StrictBool, StrictFloat, StrictInt, StrictStr

from ....facts.strict_models import Strict

Family = Literal[
    "activation", "attention", "embedding", "linear", "logits", "mlp", "moe", "norm", "rotary"
]
Scalar = StrictBool | StrictInt | StrictFloat | StrictStr | None
Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]*$")]
Bounds = Annotated[list[StrictInt | StrictFloat], Field(min_length=2, max_length=3)]


class SameArithmetic(Strict):
    """Causes with the same arithmetic: the first is reported, the other mentioned with it."""

    first: str = Field(pattern=r"^[a-z][a-z0-9-]*$", description="The cause that the report names.")
    then: list[str] = Field(
        min_length=1, description="Causes or hypotheses that are other names of it."
    )
    only: str = Field(default="", description="Only in this phase: decode or prefill.")
    apart: list[Name] = Field(
        default=[],
        description="Hypotheses of another mistake with the same output: both are leads, and "
        "neither is firm.",
    )
    why: str = Field(description="Why the first one is the better name.")


class ReplayHypothesis(Strict):
    """One change under which a module that fails is computed again."""

    id: Name = Field(description="Its name in reports.")
    cause: Name = Field(description="It supports the diagnosis neuron.component.CAUSE.")
    of: list[Family] = Field(min_length=1, description="The families of modules that it fits.")
    if_: dict[str, Scalar] = Field(
        {},
        alias="if",
        description="Required settings: a value, true for any value but null, 0 and false, or "
        "null for an absent one.",
    )
    set: dict[str, Scalar | list[Scalar]] = Field(
        {},
        description="Settings to change. A list holds alternatives, a text after '=' is an "
        "expression over the settings, '=1 .. positions' whole numbers.",
    )
    weights: list[str] = Field(
        [],
        description="Alternatives, each a sequence of weight changes with semicolons between them; "
        "{a,b} stands for one text each.",
    )
    fit: dict[str, Bounds] = Field(
        {},
        description="Settings to search: the best value between these factors of the old one (or "
        "of the third number, if there is no old one).",
    )
    with_: dict[str, Scalar | list[Scalar]] = Field(
        {},
        alias="with",
        description="Settings to change together with a searched value; a list holds alternatives.",
    )
    find: Name | None = Field(
        None, description="A finder, which reads the change off the output of the target."
    )
    last: StrictBool = Field(False, description="Tried only if nothing else finds the cause.")
    below: StrictInt | StrictFloat | None = Field(
        None,
        gt=0,
        description="Largest R for which it is tried: its effect is small.",
    )
    says: str = Field(description="Text for the report; {old} and {new} are values.")


class HypothesesFile(Strict):
    """``modelmedic/hypotheses/1``."""

    schema_: Literal["modelmedic/hypotheses/1"] = Field(alias="schema", description="The form.")
    hypotheses: list[ReplayHypothesis] = Field(min_length=1, description="In the order of trial.")
    same: list[SameArithmetic] = Field(
        default=[], description="The cause to name if two give the same output."
    )
