"""Things that a program uses and the releases lack, and the text that reports them."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterator
from typing import NamedTuple

from ..findings import Script
from . import types as table
from .calls import Misfit, ignores_unknown, misfits, parameters, signatures
from .proof import Proof
from .types import PLAIN_FUTURE, Known, Types, is_exact, is_ours

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


class Miss(NamedTuple):
    """``what``: name (of a module), module, method, field, keyword, ignored, missing, many or
    literal. ``owner`` lacks ``name`` in all releases but ``good``; ``owned`` are the releases that
    have the owner."""

    what: str
    owner: str
    name: str
    node: ast.AST
    good: frozenset[int]
    owned: frozenset[int]


def find_misses(script: Script, proof: Proof) -> Iterator[Miss]:
    """All places where a name or a call does not fit some release."""
    for kind in (ast.Import, ast.ImportFrom):
        for imported in script.all(kind):
            assert isinstance(imported, (ast.Import, ast.ImportFrom))
            yield from _of_import(imported, proof)
    calls = {id(call.func): call for call in script.calls()}
    for node in script.all(ast.Attribute):
        if isinstance(node.ctx, ast.Load) and not _is_left_out(node.attr):
            yield from _of_attribute(node, proof.type_of(node.value), id(node) in calls)
    for call in script.calls():
        yield from _of_call(call, proof.type_of(call.func))


def uses_sdk(script: Script, proof: Proof) -> bool:
    """Whether a program uses names that the packages have: a program that uses only names that
    never existed means another package of that name."""
    for imported in script.all(ast.ImportFrom):
        module = imported.module or ""
        if is_ours(module) and any(
            table.releases("modules", module, alias.name)
            or table.releases("modules", f"{module}.{alias.name}")
            for alias in imported.names
        ):
            return True
    for plain in script.all(ast.Import):
        if any("." in a.name and table.releases("modules", a.name) for a in plain.names):
            return True
    return any(
        each.form == "module" and table.releases("modules", each.path, node.attr)
        for node in script.all(ast.Attribute)
        for each in proof.type_of(node.value)
    )


def _of_import(node: ast.Import | ast.ImportFrom, proof: Proof) -> Iterator[Miss]:
    if isinstance(node, ast.Import):
        for alias in node.names:
            if is_ours(alias.name) and alias.name.partition(".")[0] not in proof.local:
                yield from _of_module(node, alias.name)
        return
    module = node.module or ""
    if node.level or not is_ours(module) or module.partition(".")[0] in proof.local:
        return
    if not table.runs("modules", module):
        yield from _of_module(node, module)
        return
    for alias in node.names:
        if alias.name != "*" and not _is_left_out(alias.name):
            yield from _lacks(node, Known("module", module), alias.name, "name")


def _of_module(node: ast.AST, module: str) -> Iterator[Miss]:
    if _is_left_out(module):
        return
    good = table.releases("modules", module)
    owned = table.releases("modules", module.partition(".")[0])
    if good != owned:
        yield Miss("module", module.rpartition(".")[0], module, node, good, owned)


def _is_left_out(path: str) -> bool:
    """Whether the table has nothing of a name: private ones, tests, and modules that are generated
    from protocols."""
    parts = path.split(".")
    aside = parts[-1].endswith(("_pb2", "_pb2_grpc", "_test")) or parts[-1] == "conftest"
    return aside or any(part.startswith("_") for part in parts)


def _of_attribute(node: ast.Attribute, types: Types, is_called: bool) -> Iterator[Miss]:
    if len({each.form for each in types}) != 1 or any(e.path == PLAIN_FUTURE for e in types):
        return
    found = [_lack(each, node.attr) if is_exact(each) else None for each in types]
    if None in found:
        return
    good = frozenset[int]().union(*(f[0] for f in found if f))
    owned = frozenset[int]().union(*(f[1] for f in found if f))
    known = _shown(types)
    if good >= owned:
        return
    what = (
        "name"
        if known.form == "module"
        else "method"
        if is_called or known.form == "class"
        else "field"
    )
    yield Miss(what, known.path, node.attr, node, good, owned)


def _shown(types: Types) -> Known:
    """The one of several types that readers know best: the client, rather than its future."""
    return min(types, key=lambda each: (len(each.path), each))


def _lacks(node: ast.AST, known: Known, name: str, what: str) -> Iterator[Miss]:
    found = _lack(known, name)
    if found is not None and not found[0] >= found[1]:
        yield Miss(what, known.path, name, node, *found)


def _lack(known: Known, name: str) -> tuple[frozenset[int], frozenset[int]] | None:
    """The releases that have a name there, and those that have the owner; None if the owner may
    have any name."""
    if known.form not in ("module", "instance", "class"):
        return None
    where = "modules" if known.form == "module" else "classes"
    if table.has_anything(known.path) or _is_left_out(known.path):
        return None
    if where == "classes" and table.inherited(known.path, name):
        return None
    return table.releases(where, known.path, name), table.releases(where, known.path)


def _of_call(call: ast.Call, types: Types) -> Iterator[Miss]:
    found: dict[int, tuple[Misfit, ...]] = {}
    fits: set[int] = set()
    owned: set[int] = set()
    for known in types:
        for release, said in signatures(known).items():
            wrong = misfits(call, said, ignores_unknown(known, release))
            if wrong is None:
                continue
            owned.add(release)
            if not wrong:
                fits.add(release)
                found.pop(release, None)
            elif release not in fits:
                found[release] = wrong
    if not found:
        return
    known = _shown(types)
    owner = f"{known.path}.{known.name}" if known.name else known.path
    keys = dict.fromkeys((m.what, m.name) for wrong in found.values() for m in wrong)
    for what, name in keys:
        bad = {at for at, wrong in found.items() if any(m[:2] == (what, name) for m in wrong)}
        node = next(m.node for w in found.values() for m in w if m[:2] == (what, name))
        shown = node.value if isinstance(node, ast.keyword) and what == "literal" else node
        yield Miss(what, owner, name, shown or call, frozenset(owned - bad), frozenset(owned))
