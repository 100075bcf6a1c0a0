"""Reads the ``owners`` sections of vocabulary files: the packages, services and tools that write
messages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import Field

from .problems import Problem, did_you_mean
from .strict_models import Strict
from .strict_yaml import Document

_NAME = re.compile(r"[a-z][a-z0-9_]*\Z")


class OwnerDeclaration(Strict):
    """One to whom a message can belong: a package, a service, a tool, the user's own code. A file
    that gives no title adds signs to an owner that another file declares."""

    title: str = Field("", description="What people call it, such as 'the OpenAI client'.")
    next: str = Field("", description="Where to look when it fails, in one or two sentences.")
    source: str = Field("", description="Where that is documented.")
    family: str = Field("", description="Owners of one family share their messages.")
    generic: bool = Field(
        False, description="A library that others call; the failure is that of its caller."
    )
    relays: bool = Field(False, description="Passes on what others say in its own name.")
    operations: list[str] = Field([], description="Operations of its API, behind /api/v1/.")
    modules: list[str] = Field(
        [], description="Packages and modules of its exceptions, frames and loggers."
    )
    exceptions: list[str] = Field([], description="Class names that only it has.")
    loggers: list[str] = Field([], description="Further names of loggers, without children.")
    folders: list[str] = Field([], description="Folders of a source checkout, in paths of frames.")
    hosts: list[str] = Field([], description="Hosts that it talks to; subdomains are included.")
    prefixes: list[str] = Field([], description="How a line begins that the tool writes.")
    wording: list[str] = Field([], description="Words in a message that only it uses.")
    names: list[str] = Field([], description="Its name as a whole word, in any case of letters.")
    surroundings: list[str] = Field(
        [], description="Words that tell, anywhere in a text, that the text is about its software."
    )


_SIGNS = (
    "modules", "exceptions", "loggers", "folders", "hosts", "prefixes", "wording", "names",
    "surroundings",
)  # fmt: skip


def declare_owners(
    owners: dict[str, Any], files: Iterable[tuple[Document, Mapping[str, OwnerDeclaration]]]
) -> list[Problem]:
    """Add to ``owners`` those with a title, each declared once; then the signs of the others."""
    each = [(document, name, one) for document, part in files for name, one in part.items()]
    each.sort(key=lambda item: not item[2].title)
    found = (_declare(owners, document, name, one) for document, name, one in each)
    return [problem for problem in found if problem]


def _declare(
    owners: dict[str, Any], document: Document, name: str, declared: OwnerDeclaration
) -> Problem | None:
    where = document.where(("owners", name))
    plain = declared.model_dump(exclude_defaults=True)
    signs = {key: plain.pop(key) for key in _SIGNS if key in plain}
    known = owners.get(name)
    if not _NAME.match(name) or name == "unknown":
        return Problem("MM210", f"{name!r} is not a name like 'neuron_runtime'", where)
    if declared.title and known is not None:
        hint = "leave the title out to add signs to it"
        return Problem("MM211", f"owner {name!r} is declared twice", where, hint)
    if declared.title:
        owners[name] = {**plain, "signs": signs}
        return None
    if known is None:
        hint = did_you_mean(name, owners) or "mend the spelling, or give it a title"
        return Problem("MM212", f"unknown owner {name!r}", where, hint)
    for key, texts in signs.items():
        known["signs"] = {**known["signs"], key: [*known["signs"].get(key, ()), *texts]}
    known["operations"] = [*known.get("operations", ()), *declared.operations]
    return None
