"""The table of interfaces: what each release of a package has."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

from ....reading.text.values import json_table

PACKAGES = {"tinker": "tinker", "tinker_cookbook": "tinker-cookbook"}
_MODEL_NAMES = frozenset({
    "copy", "dict", "json", "construct", "parse_obj", "parse_raw", "parse_file", "from_orm",
    "schema", "schema_json", "validate", "update_forward_refs",
})  # fmt: skip
_ENUM_NAMES = frozenset({"name", "value", "mro"})


class Run(NamedTuple):
    """The same statement of all releases from ``first`` to ``last``."""

    said: str
    first: int
    last: int

    @property
    def releases(self) -> range:
        """Their numbers."""
        return range(self.first, self.last + 1)


class Class(NamedTuple):
    """``kind``: plain, model, dataclass, chz or enum; ``extra`` is how a model treats unknown
    fields; ``of`` is the parameter of a generic class; ``call`` is the signature of its
    constructor."""

    kind: str
    extra: str
    open: bool
    of: str
    call: str


def package_of(path: str) -> str:
    """The distribution that a dotted path belongs to, or an empty text."""
    return PACKAGES.get(path.partition(".")[0], "")


def versions(package: str) -> list[str]:
    """The releases of a package, oldest first. A date is one of its repository before them."""
    found: list[str] = _data()[package]["versions"]
    return found


def runs(table: str, owner: str, name: str = "") -> tuple[Run, ...]:
    """The statements of the releases about a name; none if no release has it."""
    package = package_of(owner)
    return _runs(package, table, owner, name) if package else ()


@cache
def _runs(package: str, table: str, owner: str, name: str) -> tuple[Run, ...]:
    said = _data()[package][table].get(owner, {}).get(name)
    if said is None:
        return ()
    if not isinstance(said, str):
        return tuple(Run(*each) for each in said)
    if name:
        return tuple(Run(said, each.first, each.last) for each in runs(table, owner))
    return (Run(said, 0, len(versions(package)) - 1),)


def names(table: str, owner: str) -> Iterator[str]:
    """All names that any release has there."""
    package = package_of(owner)
    return (
        (name for name in _data()[package][table].get(owner, {}) if name) if package else iter(())
    )


def releases(table: str, owner: str, name: str = "") -> frozenset[int]:
    """The releases that have a name."""
    return frozenset(at for run in runs(table, owner, name) for at in run.releases)


def class_at(run: Run) -> Class:
    """A class as its releases have it."""
    kind, extra, state, of, *call = run.said.split(" ", 4)
    return Class(kind, extra, state == "open", "" if of == "-" else of, call[0] if call else "")


def has_anything(owner: str) -> bool:
    """Whether a class or module may have names that the table does not hold."""
    if found := runs("classes", owner):
        return any(class_at(run).open for run in found)
    return any(run.said == "open" for run in runs("modules", owner))


def inherited(owner: str, name: str) -> bool:
    """Whether each class of this kind has the name."""
    kinds = {class_at(run).kind for run in runs("classes", owner)}
    if "model" in kinds and (name in _MODEL_NAMES or name.startswith("model_")):
        return True
    return "enum" in kinds and name in _ENUM_NAMES


def fields_call(owner: str, release: int) -> str:
    """The call of a class that is made by the names of its fields."""
    words = ["*"]
    for name in names("classes", owner):
        for run in runs("classes", owner, name):
            if release in run.releases and run.said[:1] in "!=":
                mark = "=" if run.said[0] == "=" else ""
                words.append(f"{name}{mark}{run.said[1:] if len(run.said) > 2 else ''}")
    return " ".join(words)


def _data() -> Any:
    return json_table(__file__, "table.json")
