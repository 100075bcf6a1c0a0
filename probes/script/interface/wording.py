"""Words about a miss: the code at the place, the releases that have it, the nearest name."""

from __future__ import annotations

import difflib

from . import table
from .calls import parameters, signatures
from .misses import Miss
from .types import Known

_VERBS = {
    "name": "has it", "module": "has it", "method": "has it", "field": "has it",
    "keyword": "takes it", "ignored": "reads it", "many": "takes so many",
    "literal": "takes this", "missing": "goes without it",
}  # fmt: skip


def said(miss: Miss) -> str:
    """The missing thing as it is written in the code."""
    short = miss.owner.removeprefix("tinker_cookbook.").removeprefix("tinker.")
    if miss.what == "module":
        return miss.name
    if miss.what in ("keyword", "ignored", "literal"):
        return f"{short}({miss.name}=)"
    if miss.what == "missing":
        return f"{short}() without {miss.name}"
    if miss.what == "many":
        return f"{short}() with more than {miss.name} arguments by place"
    return f"{short}.{miss.name}"


def against(miss: Miss) -> str:
    """The releases in which it fits, and the nearest name that there is."""
    package = table.package_of(miss.owner)
    versions = table.versions(package)
    first, last = min(miss.good or miss.owned), max(miss.good or miss.owned)
    span = f"{versions[first]} to {versions[last]}" if first < last else versions[first]
    told = f"only {package} {span} {_VERBS[miss.what]}" if miss.good else (
        f"no {package} from {span} {_VERBS[miss.what]}")  # fmt: skip
    near = _near(miss)
    return f"{told}; the nearest name is {near}" if near else told


def _near(miss: Miss) -> str:
    if miss.what in ("name", "method", "field"):
        where = "classes" if table.runs("classes", miss.owner) else "modules"
        known = [n for n in table.names(where, miss.owner) if max(table.releases(where, miss.owner))
                 in table.releases(where, miss.owner, n)]  # fmt: skip
    elif miss.what in ("keyword", "ignored"):
        known = _parameter_names(miss.owner)
    else:
        return ""
    return ", ".join(difflib.get_close_matches(miss.name, known, 1, 0.6))


def _parameter_names(owner: str) -> list[str]:
    path, _, name = owner.rpartition(".")
    known = Known("method", path, name)
    if table.runs("classes", owner) or table.runs("functions", owner):
        known = Known("class" if table.runs("classes", owner) else "function", owner)
    calls = signatures(known)
    found = parameters(calls[max(calls)]) if calls else ()
    return [each.name for each in found or () if "*" not in each.kind]
