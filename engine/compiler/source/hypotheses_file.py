"""What may be wrong with a port, as data: ``modelmedic/hypotheses/1``."""

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
    """Causes that may be the same arithmetic: the first is told, the other named beside it."""

    first: str = Field(pattern=r"^[a-z][a-z0-9-]*$", description="The cause that is told.")
    then: list[str] = Field(
        min_length=1, description="Causes, or hypotheses, that are the same thing by another name."
    )
    only: str = Field(default="", description="Only in this phase: decode or prefill.")
    apart: list[Name] = Field(
        default=[],
        description="Hypotheses that are no other name of it, but another mistake that looks "
        "alike: both are told, and neither is firm.",
    )
    why: str = Field(description="Why the first one is the better name.")


class ReplayHypothesis(Strict):
    """One change under which a module that fails is computed again."""

    id: Name = Field(description="Its name, which a report gives.")
    cause: Name = Field(description="The diagnosis neuron.component.CAUSE that it speaks for.")
    of: list[Family] = Field(min_length=1, description="The families of modules it is about.")
    if_: dict[str, Scalar] = Field(
        {},
        alias="if",
        description="Settings that must be there: a value, true for any but null, 0 and false, or "
        "null for none.",
    )
    set: dict[str, Scalar | list[Scalar]] = Field(
        {},
        description="Settings to other values. A list holds alternatives, a text behind '=' is an "
        "expression over the settings, '=1 .. positions' whole numbers.",
    )
    weights: list[str] = Field(
        [],
        description="Alternatives, each a sequence of weight changes with semicolons between them; "
        "{a,b} stands for one text each.",
    )
    fit: dict[str, Bounds] = Field(
        {},
        description="Settings whose value is not known: the best one between these factors of the "
        "old one is looked for (of the third number, where there is no old one).",
    )
    with_: dict[str, Scalar | list[Scalar]] = Field(
        {},
        alias="with",
        description="Settings that stand beside a value that is looked for; a list holds "
        "alternatives.",
    )
    find: Name | None = Field(
        None, description="A finder, which reads the change off the output of the target."
    )
    last: StrictBool = Field(
        False, description="It is tried only where nothing else tells the cause."
    )
    below: StrictInt | StrictFloat | None = Field(
        None, gt=0, description="R of a module up to which it is tried: what it does is small."
    )
    says: str = Field(description="What the report tells; {old} and {new} are values.")


class HypothesesFile(Strict):
    """``modelmedic/hypotheses/1``."""

    schema_: Literal["modelmedic/hypotheses/1"] = Field(alias="schema", description="The form.")
    hypotheses: list[ReplayHypothesis] = Field(min_length=1, description="In the order of trial.")
    same: list[SameArithmetic] = Field(
        default=[], description="Which of two causes is told where both give the same output."
    )
