"""Reads the ``statements`` sections of vocabulary files: how people write about observables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from pydantic import Field, model_validator

from .problems import Problem, did_you_mean, excerpt
from .strict_models import Strict
from .strict_yaml import Document

_NAME = re.compile(r"[a-z][a-z0-9-]*\Z")
_WORDS = re.compile(r"[^\W_](?:[\w .,+/|()-]*[\w)])?\Z")


class StatementDeclaration(Strict):
    """An observable as people write about it; its figure becomes an attribute of a fact."""

    kind: str = Field("", description="Kind of the fact.")
    attribute: str = Field("", description="Attribute that the figure goes to.")
    title: str = Field("", description="What it is called where the reading is shown.")
    names: list[str] = Field(
        [], description="Its names; words may be joined by a space, hyphen, underscore or nothing."
    )
    units: dict[str, float] = Field({}, description="Units, each with its factor.")
    telling: dict[str, float] = Field(
        {}, description="Units that name the observable themselves, such as tok/s."
    )
    needs_unit: bool = Field(False, description="A figure without a unit is not read.")
    minimum: float | None = Field(None, description="Lowest figure that is possible.")
    maximum: float | None = Field(None, description="Highest figure that is possible.")
    integer: bool = Field(False, description="Whole numbers only.")
    fixed: dict[str, str | bool | int | float] = Field(
        {}, description="Further attributes that the fact has."
    )
    subject: str = Field("", description="Attribute for what the figure is about.")
    subjects: dict[str, list[str]] = Field(
        {}, description="Each subject with the words for it; without names, they are the names."
    )
    subjects_of: str = Field("", description="Statement whose subjects it shares.")
    unnamed: str = Field("", description="The subject where a text names none.")
    limit: str = Field("", description="Attribute for a limit that is stated with the figure.")
    difference: str = Field("", description="Attribute for the limit less the figure.")
    percent_above: float | None = Field(
        None, description="Figures above it are percentages that lack their sign."
    )
    about: list[str] = Field([], description="Words one of which the text must have.")
    unless: list[str] = Field([], description="Words that the text must not have.")
    form: Literal["number", "version", "word", "words"] = Field(
        "number", description="Its form; words tell observables apart."
    )
    pattern: str = Field("", description="Regular expression of a word that needs no name.")
    behaves: Literal["", "ratio", "largest", "share", "score", "missing", "differs"] = Field(
        "", description="How its figures behave, by which they are known without a name."
    )

    @model_validator(mode="after")
    def _sound(self) -> StatementDeclaration:
        words = [*self.names, *(w for each in self.subjects.values() for w in each)]
        for word in words:
            if not _WORDS.match(word):
                raise ValueError(f"{word!r} is not a name of words, such as 'R-ratio'")
        if not (words or self.subjects_of or self.telling or self.pattern or self.behaves):
            raise ValueError("it has no names")
        if (self.form == "words") == bool(self.kind and self.attribute):
            raise ValueError("an observable has a kind and an attribute, and words have none")
        if bool(self.pattern) != (self.form == "word"):
            raise ValueError("a word has a pattern, and nothing else has")
        if (self.subjects or self.subjects_of) and not self.subject:
            raise ValueError("'subject' must name the attribute that the subjects go to")
        try:
            re.compile(self.pattern)
        except re.error as error:
            raise ValueError(f"the pattern is not a regular expression: {error}") from None
        return self


def declare_statements(
    plain: Mapping[str, Any], document: Document, declared: Mapping[str, StatementDeclaration]
) -> list[Problem]:
    """Add the statements of one file to ``plain``. Each has a name of its own."""
    problems = []
    for name, entry in declared.items():
        where = document.where(("statements", name))
        if not _NAME.match(name):
            message = f"{excerpt(name)} is not a name like 'step-time'"
            problems.append(Problem("MM210", message, where))
        if name in plain["statements"]:
            message = f"statement {excerpt(name)} is declared twice"
            problems.append(Problem("MM211", message, where, "rename one"))
        plain["statements"][name] = entry.model_dump(exclude_defaults=True)
    return problems


def check_statements(
    plain: Mapping[str, Any], document: Document, declared: Mapping[str, StatementDeclaration]
) -> Iterator[Problem]:
    """Kinds, attributes, statements and values that are declared nowhere. Gives statements the
    subjects that they share with another one."""
    for name, entry in declared.items():
        where = document.where(("statements", name))
        if other := plain["statements"][name].pop("subjects_of", ""):
            if other not in plain["statements"]:
                yield _unknown("statement", other, plain["statements"], where)
                continue
            shared = plain["statements"][other].get("subjects", {})
            plain["statements"][name]["subjects"] = shared
        if entry.form == "words":
            continue
        kind = plain["kinds"].get(entry.kind)
        if kind is None:
            yield _unknown("kind", entry.kind, plain["kinds"], where)
            continue
        attributes = kind["attributes"]
        used = (
            entry.attribute, entry.subject, entry.limit, entry.difference, *entry.fixed
        )  # fmt: skip
        for each in filter(None, used):
            if each not in attributes:
                yield _unknown("attribute", each, attributes, where)
        for each, value in entry.fixed.items():
            listed = attributes.get(each, {}).get("values")
            if listed and value not in listed:
                yield _unknown("value", str(value), listed, where)


def _unknown(sort: str, name: str, known: Mapping[str, Any], where: Any) -> Problem:
    hint = did_you_mean(name, known) or "mend the spelling, or declare it"
    return Problem("MM212", f"unknown {sort} {excerpt(name)}", where, hint)
