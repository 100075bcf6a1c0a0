"""Parts of a row of an error table: how a message is recognised, whose it is, where it is made."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from ....facts.strict_models import Strict
from .conditions import Id, VersionEvent


def template_pattern(template: str) -> str:
    """The RE2 pattern of a template: ``{name}`` stands for any text, spaces for any white space."""
    parts = re.split(r"\{[A-Za-z_0-9]*\}", template)
    escaped = (r"\s+".join(re.escape(word) for word in re.split(r"\s+", part)) for part in parts)
    return "(?s)" + ".*?".join(escaped)


class ErrorMatch(Strict):
    """How a message is recognised; everything given must hold."""

    exception: list[str] = Field([], description="Class names, without module.")
    template: str = Field("", description="Message text with {placeholders} for variable parts.")
    pattern: str = Field("", description="RE2 pattern, where a template is not enough.")
    not_pattern: str = Field("", description="RE2 pattern that must not be found.")
    http_status: list[int] = Field([], description="Also matches http_response facts.")
    operation: list[str] = Field([], description="Limits http_response facts to operations.")
    refines: list[Id] = Field([], description="More general rows that stay silent then.")
    alongside: list[Id] = Field(
        [], description="Rows that may match the same text and are right beside this one."
    )

    @model_validator(mode="after")
    def _something(self) -> ErrorMatch:
        if not (self.exception or self.template or self.pattern or self.http_status):
            raise ValueError("a match needs exception, template, pattern or http_status")
        if self.template and self.pattern:
            raise ValueError("give either a template or a pattern")
        return self


class Anchor(Strict):
    """The source of a message: a text in the code of a package. `diagnose kb drift` checks that it
    is still there."""

    package: str = Field("", description="Name under which it is installed; default: the module's.")
    module: str = Field("", description="Module or package that contains it; empty: anywhere.")
    text: str = Field(min_length=6, description="Part of the text, {} for what varies.")
    versions: list[VersionEvent] = Field([], description="Those that have it; default: all.")

    @model_validator(mode="before")
    @classmethod
    def _of_module(cls, data: Any) -> Any:
        if not isinstance(data, dict) or data.get("package"):
            return data
        if not data.get("module"):
            raise ValueError("name the package or the module that makes the text")
        return data | {"package": str(data["module"]).partition(".")[0].replace("_", "-")}


class Emitter(Strict):
    """The owners whose messages a row recognises; missing fields come from its file."""

    package: str = Field("", description="Package that writes them.")
    owners: list[str] = Field(
        [],
        description="Owners, as in facts/vocabulary/owners.yaml; default: the package with its"
        " family.",
    )
    via: list[str] = Field(
        [],
        description="Further owners in whose name it may come, out of a frame of theirs. Of a"
        " common wording they give 'possible' at most, like an unknown one.",
    )
    wording: Literal["own", "common", "anybody"] = Field(
        "own",
        description="Common: other software says the same, so that without a sign of the owner it"
        " gives 'possible' at most, and reports say whose it would be. Anybody: likewise, and"
        " title, meaning and fix are true whoever says it; where each cause asks for more than the"
        " message, the row also applies to messages of other software.",
    )


Anchors = Annotated[
    list[Anchor] | str,
    Field(
        description="Places in packages that make the message, or why no package's source has it."
    ),
]
