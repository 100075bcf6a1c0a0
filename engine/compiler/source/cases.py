"""Models of test files in YAML: cases, and faults that no case needs to detect."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, model_validator

from ....facts.strict_models import Strict
from .conditions import Id, Scalar

Severity = Literal["blocker", "error", "warning", "info"]


class Expectation(Strict):
    """The expected outcome. ``diagnoses`` is the exact set of concluded problems and findings."""

    diagnoses: list[Id] | None = None
    first: Id | None = None
    concludes: list[Id] = Field([], description="At least these.")
    silent: list[Id] = Field([], description="None of these.")
    ruled_out: list[Id] = []
    conflicting: list[Id] = []
    derives: list[dict[str, Scalar]] = Field([], description="Derived facts, at least these.")
    absent: list[dict[str, Scalar]] = Field([], description="None of these is derived.")
    confidence: dict[Id, Literal["certain", "likely", "possible"]] = Field(
        {}, description="Confidence of a concluded diagnosis in the report."
    )
    severity: dict[Id, Severity] = Field(
        {},
        description="Shown severity of a concluded diagnosis, at most its own.",
    )


class Case(Strict):
    """One test case. ``entry`` says whose firing, silence or ignorance is shown."""

    name: str
    kind: Literal["fires", "silent", "unknown", "story"]
    entry: Id | None = None
    facts: list[dict[str, Any]]
    expect: Expectation = Expectation()

    @model_validator(mode="after")
    def _entry(self) -> Case:
        if self.kind != "story" and self.entry is None:
            raise ValueError("a case that is not a story names its entry")
        if self.kind == "story" and self.expect.diagnoses is None:
            raise ValueError("a story expects the exact set of diagnoses")
        return self


class AcceptedFault(Strict):
    """A fault that no case needs to notice; ``diagnose kb mutate`` lists it with the reason."""

    entry: Id
    fault: str = Field(description="As `diagnose kb mutate` prints it, without the place.")
    reason: str = Field(min_length=1, description="Why no case needs to detect it.")


class TestsFile(Strict):
    """``modelmedic/tests/1``."""

    schema_: Literal["modelmedic/tests/1"] = Field(alias="schema")
    note: str = ""
    cases: list[Case]
    accepted_faults: list[AcceptedFault] = []
