"""The share of each entry that the tests exercise: leaves, branches, bands, error rows and causes.

A part counts as exercised if a rule that it belongs to fires in some case or sample. An entry that
no case names (a row: that has no sample) has no tests: all of its parts count as not exercised.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from ...engine.compiler.alternatives import Path
from ...engine.compiler.build import Built
from ...engine.compiler.linking import origin
from ...engine.compiler.source.knowledge_source import Item
from ...engine.diagnosis.diagnoser import Diagnoser
from ...engine.inference.program import Rule
from ...facts import Location
from .case_runner import Decode, case_facts, samples

UNITS = ("entries", "leaves", "branches", "bands", "rows", "causes")
_PARTS = {"tree": "branches", "classification": "bands", "error": "causes"}


class Part(NamedTuple):
    """Something to exercise, its place, and whether some test does."""

    entry: str
    unit: str
    name: str
    where: Location
    shown: bool


def exercised(built: Built, doctor: Diagnoser, decode: Decode) -> list[Part]:
    """Every part of every entry in force that depends on facts."""
    fired = _fired(built, doctor, decode)
    tested = {case.entry for _, file in built.source.tests for case in file.cases}
    tested |= {sample.item.id for sample in samples(built.source)}
    rules: dict[str, list[Rule]] = {}
    for rule in built.rules:
        rules.setdefault(rule.entry, []).append(rule)
    return [
        part._replace(shown=part.shown and item.id in tested)
        for item in built.source.items
        if item.form != "diagnosis" and item.entry.status != "deprecated"
        for part in _parts(item, rules.get(item.id, ()), built.forms.places, fired)
    ]


def _fired(built: Built, doctor: Diagnoser, decode: Decode) -> set[str]:
    """The ids of the rules that fire in some case."""
    rules = doctor.base.program.rules
    sets = [
        case_facts(case, built.vocabulary) for _, file in built.source.tests for case in file.cases
    ]
    sets += [list(decode(s.text)) for s in samples(built.source) if s.part == "samples"]
    return {
        rules[firing.rule].id
        for facts in sets
        for firing in doctor.consult(facts).derivation.firings
    }


def _parts(
    item: Item,
    rules: Sequence[Rule],
    places: Mapping[str, Sequence[Path]],
    fired: Collection[str],
) -> Iterator[Part]:
    names = {origin(rule): False for rule in rules}
    leaves: dict[Path, bool] = {}
    for rule in rules:
        shown = rule.id in fired
        names[origin(rule)] |= shown
        for at in filter(None, places[rule.id]):
            leaves[at] = leaves.get(at, False) or shown
    any_shown = any(names.values())
    yield Part(item.id, "entries", item.id, item.where(), any_shown)
    if item.form == "error":
        yield Part(item.id, "rows", item.id, item.where(), any_shown)
    if item.form in _PARTS:
        for name, shown in _named_parts(item, names).items():
            where = item.where(*part_path(item, name))
            yield Part(item.id, _PARTS[item.form], name, where, shown)
    for at, shown in leaves.items():
        yield Part(item.id, "leaves", ".".join(map(str, at)), item.where(*at), shown)


def _named_parts(item: Item, rules: dict[str, bool]) -> dict[str, bool]:
    """The branches, bands or causes of an entry, and whether a case shows them."""
    parts: dict[str, bool] = {}
    for rule_id, shown in rules.items():
        name = rule_id.removeprefix(f"{item.id}/").rstrip("~")  # the same, of what is assumed
        if item.form == "error":
            name = name.rstrip("?")  # the same cause, where the owner is unknown
        if name:
            parts[name] = parts.get(name, False) or shown
    return parts


def part_path(item: Item, name: str) -> tuple[str | int, ...]:
    """The path of a branch, band or cause in its entry."""
    if not name:
        return ()
    if item.form == "tree":
        node, _, answer = name.partition("/")
        return ("nodes", node, "branches", answer)
    if item.form == "error":
        return ("causes", int(name.rstrip("?")))
    labels = [band.label for band in item.entry.bands]
    return ("bands", labels.index(name)) if name in labels else ("undefined",)
