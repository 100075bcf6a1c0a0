"""The versions of a package that our knowledge names, and the position of a new release among
them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ...engine.compiler.source import conditions as c
from ...engine.compiler.source.issues import Issue
from ...engine.compiler.source.knowledge_source import Item, KnowledgeSource
from ...engine.inference.operators import compile_check
from ...reading.packages.folder import normal_name
from ...reading.packages.release import Release
from ..references import all_parts

_ORDERS = ("eq", "ne", "lt", "le", "gt", "ge")


class Limit(NamedTuple):
    """A test of the version in an entry, and whether it holds for each of the releases. ``open``:
    the range that contains the newest release has no end."""

    entry: str
    where: str
    said: str
    holds: tuple[bool | None, ...]
    open: bool

    @property
    def decides(self) -> bool:
        """Whether the limit distinguishes the releases."""
        return len(set(self.holds)) > 1


def limits(source: KnowledgeSource, releases: Sequence[Release]) -> list[Limit]:
    """The tests of the package's version in entries in force, those that distinguish the releases
    first."""
    package = releases[0].package
    issues = {item.id for item in source.items if isinstance(item.entry, Issue)}
    found: dict[tuple[str, str], Limit] = {}
    for item in source.items:
        if item.entry.status == "deprecated":
            continue
        for test, where in _tests(item, package, issues):
            holds = tuple(_holds(test, each.version) for each in releases)
            limit = Limit(item.id, where, _said(test), holds, holds[-1] is True and _is_open(test))
            found.setdefault((limit.entry, limit.said), limit)
    return sorted(found.values(), key=lambda one: (not one.decides, one.entry, one.said))


def _tests(item: Item, package: str, issues: set[str]) -> Iterator[tuple[c.Test, str]]:
    entry: Any = item.entry
    if isinstance(entry, Issue) and normal_name(entry.package) == package and entry.affected:
        yield c.Test(affected=entry.affected), str(item.where())
    if item.id.rpartition(".")[0] in issues:
        return  # the rules of an issue have its versions
    for path, node in all_parts(item):
        if isinstance(node, c.Pattern) and node.fact == "package":
            name, test = node.where.get("name"), node.where.get("version")
            named = [name] if isinstance(name, str) else getattr(name, "in_", None) or []
            if package not in [normal_name(str(each)) for each in named]:
                continue
            if isinstance(test, str):
                test = c.Test(eq=test)
            if isinstance(test, c.Test):
                yield test, str(item.where(*path, "where", "version"))


def _holds(test: c.Test, version: str) -> bool | None:
    """Whether a version passes a test; None if that is not known."""
    said = test.model_dump(exclude_none=True)
    results = [_one(name, value, version) for name, value in said.items()]
    if False in results:
        return False
    return True if results and None not in results else None


def _one(name: str, value: Any, version: str) -> bool | None:
    if not version:
        return None
    if name == "affected":
        return compile_check(name, value)(version)
    if name in _ORDERS and isinstance(value, str) and value[:1] not in "$@":
        return compile_check(f"version_{name}", value)(version)
    return None


def _said(test: c.Test) -> str:
    said = test.model_dump(exclude_none=True)
    events = [
        " ".join(f"{key.replace('_', ' ')} {bound}" for key, bound in event.items() if bound != "0")
        for event in said.pop("affected", [])
    ]
    others = [f"{name.strip('_')} {value}" for name, value in said.items()]
    return "; ".join([*(each or "every version" for each in events), *others])


def _is_open(test: c.Test) -> bool:
    return any(each.fixed is None and each.last_affected is None for each in test.affected or ())
