"""Rows that answer more than they mean, found by the messages that packages really have."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ...engine.compiler.source.knowledge_source import Item, KnowledgeSource
from ...facts import Vocabulary
from ...reading.packages.folder import normal_name
from ...reading.packages.texts import normal
from .answers import Answers
from .measuring import Entry, Surface

ALIKE = 0.5
"""Share of common words from which two templates mean the same."""
MIN_WORDS = 3
_WORD = re.compile(r"[^\W\d_]{3,}")


class Spoken(NamedTuple):
    """The statements of a row about its messages: the texts of its anchors by package, the packages
    that it covers, and whether other software uses the same words."""

    row: str
    anchors: Mapping[str, tuple[str, ...]]
    packages: frozenset[str]
    common: bool = False


class Conflict(NamedTuple):
    """A row and the messages that it should not answer together.

    ``kind`` is ``beyond``: it has anchors, and the messages are unlike each of those they name;
    ``several``: it names none, and the messages are unlike each other; ``foreign``: they are those
    of a package for which it does not speak.
    """

    kind: str
    row: str
    package: str
    version: str
    entries: tuple[Entry, ...]
    meant: tuple[Entry, ...] = ()


def spoken(source: KnowledgeSource, vocabulary: Vocabulary) -> dict[str, Spoken]:
    """Return the statements of the rows in force about their messages, by id."""
    modules = _modules(vocabulary)
    rows = (item for item in source.of("error") if item.entry.status != "deprecated")
    return {item.id: _spoken(item, modules) for item in rows}


def conflicts(surface: Surface, rows: Mapping[str, Spoken]) -> Iterator[Conflict]:
    """The rows that answer messages of different meaning in one package."""
    answered: dict[str, list[Entry]] = {}
    for entry in surface.entries:
        for row in entry.rows:
            answered.setdefault(row, []).append(entry)
    for row, entries in sorted(answered.items()):
        said = rows.get(row)
        texts = said.anchors.get(surface.package, ()) if said else ()
        meant = [entry for entry in entries if any(_names(text, entry) for text in texts)]
        others = [entry for entry in entries if entry not in meant and _words(entry)]
        where = row, surface.package, surface.version
        if meant:
            beyond = [one for one in others if not any(alike(one, each) for each in meant)]
            if beyond:
                yield Conflict("beyond", *where, tuple(beyond), tuple(meant))
        elif len(several := _unlike(others)) > 1:
            yield Conflict("several", *where, tuple(several))


def foreign(surface: Surface, rows: Mapping[str, Spoken], answers: Answers) -> Iterator[Conflict]:
    """The rows of another package that answer messages whose owner is unknown. A row whose wording
    is declared common may do so."""
    found: dict[str, list[Entry]] = {}
    for entry in surface.entries:
        if not _words(entry):
            continue
        for row in answers.rows_alone(entry.likeliest):
            said = rows.get(row)
            if said and not said.common and surface.package not in said.packages:
                found.setdefault(row, []).append(entry)
    for row, entries in sorted(found.items()):
        yield Conflict("foreign", row, surface.package, surface.version, tuple(entries))


def alike(one: Entry, other: Entry) -> bool:
    """Whether two messages mean the same: most words are common to them, one contains all words of
    the other, or the same test of the same function leads to both."""
    left, right = _words(one), _words(other)
    common = len(left & right)
    if common >= ALIKE * len(left | right) or MIN_WORDS <= common == min(len(left), len(right)):
        return True
    return bool(_tests(one) & _tests(other))


def _unlike(entries: Sequence[Entry]) -> list[Entry]:
    """One message of each meaning."""
    groups: list[list[Entry]] = []
    for entry in entries:
        near = [group for group in groups if any(alike(entry, each) for each in group)]
        groups = [group for group in groups if group not in near]
        groups.append([each for group in near for each in group] + [entry])
    return [group[0] for group in groups]


def _tests(entry: Entry) -> set[tuple[str, str, str]]:
    """The tests that lead to a message, with their functions."""
    return {(s.module, s.function, s.guard) for s in entry.sites if s.guard}


def _words(entry: Entry) -> set[str]:
    return set(_WORD.findall(entry.template.lower()))


def _names(anchor: str, entry: Entry) -> bool:
    """Whether an anchor names a message: by a part of it, by its class, or by its function."""
    word, _, name = anchor.partition(" ")
    if word == "class" and name.isidentifier():
        return any(name in (site.exception_name, *site.bases) for site in entry.sites)
    if word == "def" and name.isidentifier():
        return any(site.function.rpartition(".")[2] == name for site in entry.sites)
    shown = (entry.template, normal(entry.template), *(each.text for each in entry.answers))
    return any(anchor in " ".join(text.split()) for text in shown)


def _spoken(item: Item, modules: Mapping[str, Sequence[str]]) -> Spoken:
    entry: Any = item.entry
    anchors: dict[str, list[str]] = {}
    for anchor in entry.anchored:
        anchors.setdefault(normal_name(anchor.package), []).append(normal(anchor.text))
    owners = _owners(item)
    packages = {normal_name(name) for owner in owners for name in (owner, *modules.get(owner, ()))}
    return Spoken(
        item.id, {name: tuple(texts) for name, texts in anchors.items()},
        frozenset(packages | anchors.keys()), entry.emitter.wording == "common",
    )  # fmt: skip


def _owners(item: Item) -> Iterable[str]:
    """Return the owners whose messages a row recognises."""
    emitter = item.entry.emitter
    return emitter.owners or (emitter.package,)


def _modules(vocabulary: Vocabulary) -> dict[str, list[str]]:
    """The packages of each owner, with those of its family."""
    owners: Mapping[str, Any] = getattr(vocabulary, "owners", {})
    by_family: dict[str, list[str]] = {}
    for name, owner in owners.items():
        by_family.setdefault(owner.family or name, []).extend(owner.signs.get("modules", ()))
    return {name: by_family[owner.family or name] for name, owner in owners.items()}
