"""The owners of the messages of an error row, and the tests by which it recognises them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from ...facts.owners import Owner, of_family, relaying
from .source import entries as e
from .source.error_rows import Emitter, ErrorMatch, template_pattern
from .source.knowledge_source import Item

Owners = Mapping[str, Owner]
Tests = list[tuple[str, str, Any]]
MatchTests = tuple[str, Tests]
"""A kind of fact, and tests that one must pass."""


class Variant(NamedTuple):
    """One way to be recognised; ``origin_known`` is false if the owner of the fact is unknown."""

    kind: str
    tests: Tests
    origin_known: bool


def speaks_for(item: Item, owners: Owners) -> tuple[str, ...]:
    """The owners whose messages a row knows: those that it names, else the package that emits them
    with its family; empty if that is not declared."""
    emitter: Emitter = item.entry.emitter
    package = emitter.package.replace("-", "_")
    family = of_family(owners, package) if package in owners else ()
    return tuple(emitter.owners) or family


def variants(item: Item, owners: Owners) -> Iterator[Variant]:
    """The ways in which a row recognises error messages and, if it names statuses, responses.

    Owners are tested by what they are not: an index by owner would wake every row for a message of
    Tinker, where that by text wakes few.
    """
    match, mine = item.entry.match, speaks_for(item, owners)
    for kind, tests in text_tests(match):
        if not mine:
            yield Variant(kind, tests, True)
        elif kind == "http_response":
            yield from _of_responses(tests, match, mine, owners)
        elif item.entry.emitter.wording == "own":
            speakers = [*mine, *item.entry.emitter.via, *relaying(owners)]
            foreign = ["owner", "not_in", list(dict.fromkeys(speakers))]
            sure = ["owner_confidence", "eq", "certain"]
            yield Variant(kind, _and(tests, _none([foreign, sure])), True)
        else:
            yield Variant(kind, _and(tests, *_among(mine)), True)
            yield Variant(kind, _and(tests, _of_others(item, mine, owners)), False)


def _of_responses(
    tests: Tests, match: ErrorMatch, mine: tuple[str, ...], owners: Owners
) -> Iterator[Variant]:
    """A status says nothing without a sign of the owner; an operation of its API is one."""
    if match.operation:
        yield Variant("http_response", _and(tests, _none([_not_of(mine)])), True)
        return
    known = [name for owner in mine if owner in owners for name in owners[owner].operations]
    yield Variant("http_response", _and(tests, *_among(mine)), True)
    unclear = _none([["owner", "known", True]])
    named = ("operation", "in", sorted(set(known)))
    if known:
        yield Variant("http_response", _and(tests, unclear, named), True)
        tests = _and(tests, _none([list(named)]))
    yield Variant("http_response", _and(tests, unclear), False)


def match_tests(item: Item, owners: Owners) -> list[MatchTests]:
    """The tests of all facts that a row can recognise, with whatever certainty."""
    mine = speaks_for(item, owners)
    found = []
    for kind, tests in text_tests(item.entry.match):
        if not mine:
            found.append((kind, tests))
        elif kind == "error_message" and item.entry.emitter.wording == "own":
            found += [(v.kind, v.tests) for v in variants(item, owners) if v.kind == kind]
        elif kind == "error_message" and is_true_of_all(item.entry):
            found.append((kind, tests))
        else:
            known = [*mine, *(_unclear(item, owners) if kind == "error_message" else ())]
            found.append((kind, _and(tests, _none([_not_of(known)]))))
    return found


def text_tests(match: ErrorMatch) -> list[MatchTests]:
    """The tests of a row for messages and responses of any owner."""
    found: list[MatchTests] = []
    tests: Tests = []
    if match.exception:
        tests.append(("exception", "in", list(match.exception)))
    if match.template or match.pattern:
        tests.append(("text", "matches", match.pattern or template_pattern(match.template)))
    if tests and match.not_pattern:
        tests.append(("text", "not_matches", match.not_pattern))
    if tests:
        found.append(("error_message", _and(tests)))
    if match.http_status:
        status: Tests = [("status", "in", list(match.http_status))]
        if match.operation:
            status.append(("operation", "in", list(match.operation)))
        found.append(("http_response", _and(status)))
    return found


def exclusions(items: Iterable[Item], owners: Owners) -> dict[str, list[MatchTests]]:
    """For each row, the (kind, tests) of the more specific rows that take precedence."""
    found: dict[str, list[MatchTests]] = {}
    for item in items:
        if item.form == "error" and item.entry.status != "deprecated":
            for general in item.entry.match.refines:
                found.setdefault(general, []).extend(match_tests(item, owners))
    return found


def _and(*parts: Any) -> Tests:
    tests: Tests = []
    for part in parts:
        tests += part if isinstance(part, list) else [part]
    return sorted(tests, key=repr)


def _not_of(mine: Iterable[str]) -> list[Any]:
    return ["owner", "not_in", list(mine)]


def _among(mine: Iterable[str]) -> Tests:
    return [("owner", "known", True), _none([_not_of(mine)])]


def is_true_of_all(row: e.ErrorEntry) -> bool:
    """Whether a row also matches messages of other owners: its texts are true for any owner, and
    each cause needs more than the message."""
    return row.emitter.wording == "anybody" and all(cause.when is not None for cause in row.causes)


def _of_others(item: Item, mine: tuple[str, ...], owners: Owners) -> tuple[str, str, Any]:
    if is_true_of_all(item.entry):
        return _none([["owner", "in", list(mine)]])
    return _none([_not_of(_unclear(item, owners))])


def _unclear(item: Item, owners: Owners) -> list[str]:
    """Owners that are as good as none: libraries whose caller is not known, and those in whose name
    the message may come."""
    mine = speaks_for(item, owners)
    return [name for name in (*_generic(owners), *item.entry.emitter.via) if name not in mine]


def _generic(owners: Owners) -> list[str]:
    return sorted(name for name in owners if owners[name].generic)


def _none(*alternatives: list[list[Any]]) -> tuple[str, str, Any]:
    return ("", "none_of", [list(each) for each in alternatives])
