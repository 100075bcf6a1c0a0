"""Functions, classes and parameters: removed, renamed, moved, added, or with another signature."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from .changes import Change
from .definitions import Definition, Module, Parameter, is_public

Definitions = Mapping[str, Definition]
Modules = Mapping[str, Module]
MIN_SHARED = 2
"""How many parameters or methods must be the same for a new name to count as the old thing."""


class Heirs(NamedTuple):
    """The new places of removed definitions, by old name; ``moved`` lists those whose last part
    stayed."""

    to: Mapping[str, Definition]


def api_changes(old: Modules, new: Modules) -> Iterator[Change]:
    """The changes of functions and classes."""
    before, after = _callables(old), _callables(new)
    gone = {n: d for n, d in before.items() if n not in after}
    come = {n: d for n, d in after.items() if n not in before}
    heirs = dict(_heirs(gone, come, before, after))
    taken = {each.name for each in heirs.values()}
    for name, one in gone.items():
        if one.inside in gone:
            continue  # it went with its class
        if name in heirs:
            yield _gone_to(one, heirs[name], new)
        elif _short_import(one, new):
            yield _change("moved", one, new=new[one.inside].imports[one.short])
        else:
            yield _change("removed", one, old=_signature(one))
    for name, one in come.items():
        if name not in taken and one.inside not in come:
            yield _change("added", one, new=_signature(one))
    for name, one in before.items():
        now = after.get(name) or heirs.get(name)
        if now is not None:
            yield from _called_otherwise(one, now)


def _callables(modules: Modules) -> dict[str, Definition]:
    return {name: each for module in modules.values() for name, each in module.definitions.items()
            if each.kind in ("function", "class")}  # fmt: skip


def _change(kind: str, one: Definition, old: str = "", new: str = "") -> Change:
    return Change(kind, one.name, old, new, one.where, is_public(one.name), names_of(one))


def names_of(one: Definition) -> tuple[tuple[str, ...], ...]:
    """The words by which knowledge may name a definition: by its own name, if that is special; a
    method with the name of its class, too."""
    owner = one.inside.rpartition(".")[2]
    if owner[:1].isupper() and is_special(owner):
        ordinary = one.short.startswith("__") or not is_special(one.short)
        return ((owner,),) if ordinary else ((owner, one.short), (one.short,))
    return ((one.short,),) if is_special(one.short) else ()


def is_special(word: str) -> bool:
    """Whether a word is the name of one thing, rather than a word that anything may use."""
    inner = word.strip("_")
    return len(inner) >= 6 and ("_" in inner or any(char.isupper() for char in inner[1:]))


def is_name(word: str) -> bool:
    """Whether a word may be the name of a model, an option and the like."""
    mixed = any(map(str.isdigit, word)) and any(map(str.isalpha, word))
    return is_special(word) or (len(word) >= 6 and mixed)


def _heirs(
    gone: Definitions, come: Definitions, before: Definitions, after: Definitions
) -> Iterator[tuple[str, Definition]]:
    """Match new definitions to old ones: the same name elsewhere, or another name in the same place
    with the same code."""
    by_short: dict[tuple[str, str], list[Definition]] = defaultdict(list)
    by_logic: dict[tuple[str, str], list[Definition]] = defaultdict(list)
    for one in come.values():
        by_short[one.kind, one.short].append(one)
        by_logic[one.kind, one.logic].append(one)
    taken: set[str] = set()
    for name, one in gone.items():
        same_place = one.inside in after or one.inside not in before
        found = [x for x in by_short[one.kind, one.short] if _alike(one, x)] if same_place else []
        if not found and _says_something(one):
            found = [x for x in by_logic[one.kind, one.logic] if x.inside == one.inside]
        if len(found) == 1 and found[0].name not in taken:
            taken.add(found[0].name)
            yield name, found[0]


def _alike(one: Definition, other: Definition) -> bool:
    """Whether two definitions of one name may be the same thing. A method that is defined in
    another class is another one."""
    if one.inside.rpartition(".")[2][:1].isupper() or other.inside.rpartition(".")[2][:1].isupper():
        return False
    if one.logic == other.logic or one.kind == "class":
        return True
    return {p.name for p in one.parameters} == {p.name for p in other.parameters}


def _says_something(one: Definition) -> bool:
    return one.kind == "class" or len(one.parameters) >= MIN_SHARED or bool(one.words)


def _short_import(one: Definition, new: Modules) -> bool:
    """Whether the module that defined it imports it now."""
    return one.inside in new and one.short in new[one.inside].imports


def _gone_to(one: Definition, now: Definition, new: Modules) -> Change:
    kind = "moved" if one.short == now.short else "renamed"
    still = " (the old module still imports it)" if _short_import(one, new) else ""
    return Change(kind, one.name, "", now.name + still, now.where, is_public(one.name),
                  names_of(one))  # fmt: skip


def _called_otherwise(one: Definition, now: Definition) -> Iterator[Change]:
    public = is_public(one.name)
    if one.told != now.told and (one.told or one.kind == "class"):
        kind = "bases-changed" if one.kind == "class" else "returns-changed"
        yield Change(kind, one.name, one.told, now.told, now.where, public, names_of(one))
    old = {p.name: p for p in one.parameters}
    new = {p.name: p for p in now.parameters}
    renamed = dict(_renamed(one.parameters, now.parameters))
    for name, was in old.items():
        what = f"{one.name}({name})"
        words = (tuple(x for x in (one.short, name)),) if is_special(one.short) else ()
        if name in renamed:
            yield Change("parameter-renamed", what, name, renamed[name], now.where, public, words)
        elif name not in new:
            yield Change("parameter-removed", what, _spelled(was), "", now.where, public, words)
        else:
            yield from _otherwise(what, was, new[name], now.where, public, words)
    if moved := _reordered(one.parameters, now.parameters):
        yield Change("parameter-moved", one.name, *moved, now.where, public, names_of(one))
    for name, more in new.items():
        if name not in old and name not in renamed.values():
            kind = "parameter-added" if more.default is not None else "parameter-required"
            what = f"{one.name}({name})"
            yield Change(kind, what, "", _spelled(more), now.where, public, names_of(one))


def _otherwise(
    what: str, was: Parameter, now: Parameter, where: str, public: bool,
    words: tuple[tuple[str, ...], ...],
) -> Iterator[Change]:  # fmt: skip
    if was.default is not None and now.default is None and now.kind not in ("*", "**"):
        yield Change("parameter-required", what, _spelled(was), _spelled(now), where, public, words)
    elif was.default != now.default:
        yield Change("default-changed", what, was.default or "(none)", now.default or "(none)",
                     where, public, words)  # fmt: skip
    elif was.kind != now.kind:
        yield Change("parameter-moved", what, was.kind, now.kind, where, public, words)


def _renamed(old: Iterable[Parameter], new: Iterable[Parameter]) -> Iterator[tuple[str, str]]:
    """Yield the parameters with a new name at the same place, if nothing else about them
    changed."""
    old, new = list(old), list(new)
    known, now = {p.name for p in old}, {p.name for p in new}
    for by_place in (True, False):
        sides = [
            [p for p in some if p.kind[:1] != "*" and (p.kind != "keyword") == by_place]
            for some in (old, new)
        ]
        if len(sides[0]) == len(sides[1]):
            for was, other in zip(*sides, strict=True):
                alone = was.name not in now and other.name not in known
                if alone and was[1:] == other[1:]:
                    yield was.name, other.name


def _reordered(old: Iterable[Parameter], new: Iterable[Parameter]) -> tuple[str, str] | None:
    """The order of the parameters that can be given by place, if it changed."""
    places = [[p.name for p in some if p.kind in ("positional", "any")] for some in (old, new)]
    both = set(places[0]) & set(places[1])
    was, now = ([name for name in some if name in both] for some in places)
    return (", ".join(was), ", ".join(now)) if was != now else None


def _spelled(one: Parameter) -> str:
    star = one.kind if one.kind in ("*", "**") else ""
    return f"{star}{one.name}" + (f"={one.default}" if one.default else "")


def _signature(one: Definition) -> str:
    if one.kind == "class":
        return f"class {one.short}({one.told})" if one.told else f"class {one.short}"
    return f"{one.short}({', '.join(map(_spelled, one.parameters))})"
