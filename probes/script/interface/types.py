"""The table of interfaces, and types of expressions that are proven to come from the SDK.

A type is proven if all bindings of a name agree: each assignment in its scope, each attribute of
that name that any code of the program sets. Nothing is inferred from the sound of a name.
"""

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


FUTURE = "tinker.APIFuture"
MADE = "made here"
PLAIN_FUTURE = "Future"


class Known(NamedTuple):
    """``form``: module, class, function, method (``path`` is its class, ``name`` its own), instance
    (``name`` is MADE if its class was called), coroutine or list; ``inner`` holds the types inside
    the last two and inside futures."""

    form: str
    path: str = ""
    name: str = ""
    inner: tuple[Known, ...] = ()


Types = frozenset[Known]
"""One type for each form that the releases give a name; empty if nothing is known."""
NONE: Types = frozenset()


def imported(path: str) -> Types:
    """The types of a dotted path of a package."""
    if runs("modules", path):
        return frozenset({Known("module", path)})
    owner, _, name = path.rpartition(".")
    return member(Known("module", owner), name) if runs("modules", owner) else NONE


def member(known: Known, name: str) -> Types:
    """An attribute of a known value."""
    if known.form == "module":
        return _all(_of_module(known.path, run.said, name)
                    for run in runs("modules", known.path, name))  # fmt: skip
    if known.form not in ("instance", "class"):
        return NONE
    if known.path == PLAIN_FUTURE:
        return (
            frozenset({Known("method", PLAIN_FUTURE, name, known.inner)})
            if name == "result"
            else NONE
        )
    if not is_exact(known):
        return NONE
    found = runs("classes", known.path, name)
    if any("(" in run.said[:2] for run in found):
        if known.form == "class" and any(run.said[:1] != "&" for run in found):
            return NONE
        return frozenset({Known("method", known.path, name, known.inner)})
    if known.form == "class":
        return NONE
    return _all(said_type(run.said.partition(":")[2], known) for run in found)


def is_exact(known: Known) -> bool:
    """Whether an instance is of exactly its class. Classes of the cookbook are made to be extended:
    an instance that was only declared may be of a subclass."""
    return known.form != "instance" or known.name == MADE or package_of(known.path) == "tinker"


def _of_module(module: str, said: str, name: str) -> Types:
    if said[:1] == "@":
        return frozenset({Known("module", said[1:])})
    path = said[1:]
    if said and runs("classes", path):
        return frozenset({Known("class", path)})
    return frozenset({Known("function", path)}) if said and runs("functions", path) else NONE


def said_type(said: str, owner: Known | None = None) -> Types:
    """The types that an annotation of the table states."""
    return _all(_one(part, owner) for part in said.split("|")) if said else NONE


def _one(said: str, owner: Known | None) -> Types:
    if said == "~":
        return held(owner) if owner is not None else NONE
    if said.endswith("[]"):
        inner = _one(said[:-2], owner)
        return frozenset({Known("list", inner=tuple(sorted(inner)))}) if inner else NONE
    if said[:1] in ("@", "^"):
        inner = _one(said[1:], owner)
        path = FUTURE if said[0] == "@" else PLAIN_FUTURE
        return frozenset({Known("instance", path, inner=tuple(sorted(inner)))}) if inner else NONE
    return frozenset({Known("instance", said)}) if runs("classes", said) else NONE


def held(known: Known) -> Types:
    """The types of the result of a future."""
    if known.inner:
        return frozenset(known.inner)
    found = {class_at(run).of for run in runs("classes", known.path)}
    if len(found) != 1 or not runs("classes", of := found.pop()):
        return NONE
    return frozenset({Known("instance", of)})


def called(known: Known) -> Types:
    """The types of the result of a call."""
    if known.form == "class":
        return frozenset({Known("instance", known.path, MADE)})
    if known.path == PLAIN_FUTURE:
        return frozenset(known.inner)
    if known.form == "function":
        return _all(_back(run.said, None) for run in runs("functions", known.path))
    if known.form != "method":
        return NONE
    owner = Known("instance", known.path, inner=known.inner)
    return _all(_back(run.said.lstrip("&")[1:-1], owner)
                for run in runs("classes", known.path, known.name))  # fmt: skip


def _back(said: str, owner: Known | None) -> Types:
    back = f" {said}".partition(" -> ")[2]
    if back.startswith("async "):
        inner = said_type(back.removeprefix("async ").strip(), owner)
        return frozenset({Known("coroutine", inner=tuple(sorted(inner)))}) if inner else NONE
    return said_type(back, owner)


def awaited(types: Types) -> Types:
    """The types of the result of ``await``."""
    return _all(frozenset(each.inner) if each.form == "coroutine" else
                held(each) if each.form == "instance" and each.path != PLAIN_FUTURE else NONE
                for each in types)  # fmt: skip


def element(types: Types) -> Types:
    """The types of the elements of a list."""
    return _all(frozenset(e.inner) if e.form == "list" else NONE for e in types)


def _all(parts: object) -> Types:
    """The union of types, empty if one of them is unknown."""
    found: set[Known] = set()
    for part in parts:  # type: ignore[attr-defined]
        if not part:
            return NONE
        found |= part
    return frozenset(found)


join = _all


def is_ours(path: str) -> bool:
    """Whether a dotted path is in a package of the table."""
    return bool(package_of(path))
