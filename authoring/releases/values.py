"""Constants, attributes, tables and the names that functions know; code that works otherwise."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ...reading.packages.sites import Site
from .api import Modules, is_name, is_special, names_of
from .changes import Change
from .definitions import Definition, is_public

MAX_NAMES = 12


def value_changes(old: Modules, new: Modules) -> Iterator[Change]:
    """The changes of what both releases define; constants and tables that came or went."""
    for name, module in new.items():
        if name in old:
            was = old[name].definitions
            for key in sorted({*was, *module.definitions}):
                yield from _changed(was.get(key), module.definitions.get(key))


def _changed(was: Definition | None, now: Definition | None) -> Iterator[Change]:
    one = now or was
    if one is None or one.kind not in ("constant", "table"):
        if was and now:
            yield from _names(was, now)
    elif was is None or now is None:
        if one.kind == "constant" and is_public(one.name):
            kind = "constant-added" if was is None else "constant-removed"
            sides = ("", one.value) if was is None else (one.value, "")
            yield Change(kind, one.name, *sides, one.where, True, _words(one))
        elif one.kind == "table" and now is None:
            yield Change("entries-removed", one.name, _listed(k for k, _ in one.entries), "",
                         one.where, is_public(one.name), _words(one))  # fmt: skip
        elif one.kind == "table":
            yield from _entries(one._replace(entries=()), one)
    elif was.kind == now.kind == "table":
        yield from _entries(was, now)
    elif (was.kind, was.value) != (now.kind, now.value):
        yield Change("constant-changed", now.name, was.value or "a table", now.value or "a table",
                     now.where, is_public(now.name), _words(now))  # fmt: skip


def _words(one: Definition) -> tuple[tuple[str, ...], ...]:
    """An attribute is named together with its class, a constant of a module alone."""
    owner = one.inside.rpartition(".")[2]
    if owner[:1].isupper():
        return ((owner, one.short),) if is_special(owner) else ()
    return ((one.short,),) if is_special(one.short) else ()


def _entries(was: Definition, now: Definition) -> Iterator[Change]:
    """Yield the entries of a table that were added, removed or changed."""
    old, new = dict(was.entries), dict(now.entries)
    left = [key for key in old if key not in new]
    came = [key for key in new if key not in old]
    other = [
        f"{key}: {old[key]} -> {new[key]}" for key in new if key in old and old[key] != new[key]
    ]
    public, where = is_public(now.name), now.where
    if left:
        yield Change("entries-removed", now.name, _listed(left), "", where, public,
                     (*_words(now), *_named(left)))  # fmt: skip
    if came:
        yield Change("entries-added", now.name, "", _listed(came), where, public, _words(now),
                     new_names=tuple(came), beside=tuple(old))  # fmt: skip
    if other:
        values = [key for key in new if key in old and old[key] != new[key]]
        yield Change("entries-changed", now.name, "", _listed(other, "; "), where, public,
                     (*_words(now), *_named(values)))  # fmt: skip


def _names(was: Definition, now: Definition) -> Iterator[Change]:
    """Yield the names that a function compares or writes in only one of the releases."""
    left, came = sorted(was.words - now.words), sorted(now.words - was.words)
    public = is_public(now.name)
    if left:
        yield Change("names-removed", now.name, _listed(left), "", now.where, public,
                     _named(left))  # fmt: skip
    if came:
        yield Change("names-added", now.name, "", _listed(came), now.where, public,
                     new_names=tuple(filter(is_name, came)), beside=tuple(was.words))  # fmt: skip


def _named(keys: Iterable[str]) -> tuple[tuple[str, ...], ...]:
    return tuple((key,) for key in keys if is_name(key))


def _listed(names: Iterable[str], between: str = ", ") -> str:
    found = list(names)
    more = f" and {len(found) - MAX_NAMES} more" if len(found) > MAX_NAMES else ""
    return between.join(found[:MAX_NAMES]) + more


def code_changes(
    old: Modules, new: Modules, before: Mapping[str, list[Site]], after: Mapping[str, list[Site]]
) -> Iterator[Change]:
    """The functions that do something else than before, with their messages."""
    for name, module in new.items():
        if name in old:
            was = old[name].definitions
            for key, now in module.definitions.items():
                one = was.get(key)
                if one and one.kind == now.kind == "function" and one.logic != now.logic:
                    yield Change("code-changed", key, "", "", now.where, is_public(key),
                                 names_of(now), tuple(before.get(key, ())),
                                 tuple(after.get(key, ())))  # fmt: skip
