"""Relations between entries: cycles, duplicates, and conclusions or actions that contradict."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations, pairwise
from typing import NamedTuple

from ...engine.compiler.row_match import match_tests
from ...engine.compiler.source import entries as e
from ...engine.compiler.source.knowledge_source import Item
from ...engine.inference.program import Rule
from ...facts import Problem
from ..references import concluded_by
from .cycles import cycle
from .lint_context import Subject

_PIN = re.compile(r"(?<![\w.-])([A-Za-z][\w.-]*)==([\w.!+-]+)")
_ASSIGNMENT = re.compile(r"(?:^|\s|;)(?:export\s+)?([A-Z][A-Z0-9_]{2,})=(\S+)")


def relation_problems(subject: Subject) -> Iterator[Problem]:
    """Problems that only several entries together have."""
    yield from _explanation_problems(subject)
    yield from _retired_problems(subject)
    yield from _duplicate_problems(subject)
    yield from _contradiction_problems(subject)
    yield from _action_problems(subject)
    yield from _retry_problems(subject)


def _explanation_problems(subject: Subject) -> Iterator[Problem]:
    items = {item.id: item for item in subject.forms["diagnosis"]}
    circle = cycle({name: item.entry.explains for name, item in items.items()})
    if circle:
        cause, effect = min(pairwise(circle), key=lambda pair: not _is_backward(items, *pair))
        yield Problem(
            "MM280",
            f"these diagnoses explain each other: {' -> '.join(circle)}",
            items[cause].where("explains", items[cause].entry.explains.index(effect)),
            "a cause explains its effects, never the other way round",
        )


def _is_backward(items: Mapping[str, Item], cause: str, effect: str) -> bool:
    """Whether a mere symptom is declared to explain a fault."""
    return bool(items[cause].entry.kind == "symptom" != items[effect].entry.kind)


def _retired_problems(subject: Subject) -> Iterator[Problem]:
    """Deprecated diagnoses that entries in force still conclude."""
    retired = {i.id for i in subject.source.of("diagnosis") if i.entry.status == "deprecated"}
    for item in subject.source.items:
        if item.entry.status == "deprecated":
            continue
        for name in sorted(retired & set(concluded_by(item))):
            message = f"{item.id} concludes {name}, which is deprecated"
            hint = "conclude what replaced it, or deprecate this entry too"
            yield Problem("MM281", message, item.where(), hint)


def _duplicate_problems(subject: Subject) -> Iterator[Problem]:
    """Rules with the same conclusions under the same condition; rows with the same match."""
    groups: dict[str, list[tuple[Item, set[str]]]] = defaultdict(list)
    for item in subject.forms["rule"]:
        if rules := subject.rules.get(item.id):
            alternatives = sorted(repr(sorted(map(repr, _parts(rule)))) for rule in rules)
            said = {repr(conclusion[:2]) for conclusion in rules[0].conclusions}
            groups[f"rule {alternatives}"].append((item, said))
    for item in subject.forms["error"]:
        groups[f"row {match_tests(item, subject.vocabulary.owners)!r}"].append((item, {"row"}))
    for group in groups.values():
        (first, known), *others = group
        for item, said in others:
            if not said & known or item.id == first.id:
                continue
            part = "when" if item.form == "rule" else "match"
            yield Problem(
                "MM282",
                f"{item.id} repeats {first.id}: the same condition is at {first.where(part)}",
                item.where(part),
                "write one entry with both conclusions",
            )


def _contradiction_problems(subject: Subject) -> Iterator[Problem]:
    """Rules that conclude and rule out one diagnosis on the same evidence."""
    for item in subject.forms["rule"]:
        for name in sorted(set(concluded_by(item)) & set(item.entry.rules_out)):
            at = item.where("rules_out", item.entry.rules_out.index(name))
            message = f"{item.id} both concludes and rules out {name}"
            yield Problem("MM283", message, at, "keep one of the two")
    concluding: dict[str, list[tuple[Item, list[frozenset[str]]]]] = defaultdict(list)
    for item in subject.forms["rule"]:
        ways = _ways(subject, item)
        for name in set(concluded_by(item)):
            concluding[name].append((item, ways))
    for item in subject.forms["rule"]:
        ways = _ways(subject, item)
        for number, name in enumerate(item.entry.rules_out):
            for other, others in concluding.get(name, ()):
                if other is item or _registered(item, other):
                    continue
                if any(way <= o or o <= way for way in ways for o in others):
                    yield Problem(
                        "MM283",
                        f"{item.id} rules out {name}, which {other.id} concludes from the same"
                        " evidence",
                        item.where("rules_out", number),
                        "tell the two apart, or register it under 'conflicts' of one of them",
                    )


def _ways(subject: Subject, item: Item) -> list[frozenset[str]]:
    """The alternatives of a rule as sets of literals."""
    return [
        frozenset(map(repr, _parts(rule)))
        for rule in subject.rules.get(item.id, ())
        if rule.literals
    ]


def _parts(rule: Rule) -> tuple[NamedTuple, ...]:
    return (*rule.literals, *rule.guards)


def _registered(left: Item, right: Item) -> bool:
    """Whether one of two entries names the other in its register of conflicts."""
    return any(
        other.id in statement
        for item, other in ((left, right), (right, left))
        for conflict in item.entry.conflicts
        for statement in conflict.between
    )


def _action_problems(subject: Subject) -> Iterator[Problem]:
    """Diagnoses that one entry concludes together, with commands that undo each other."""
    settings = {item.id: _settings(item.entry.actions) for item in subject.forms["diagnosis"]}
    shown: set[tuple[str, str]] = set()
    for item in subject.forms["rule"]:
        together = sorted({*concluded_by(item)} & settings.keys())
        for left, right in combinations(together, 2):
            clash = settings[left].keys() & settings[right].keys()
            for name in sorted(clash):
                ours, theirs = settings[left][name], settings[right][name]
                a, b = subject.items[left], subject.items[right]
                if ours & theirs or (left, right) in shown or _registered(a, b):
                    continue
                shown.add((left, right))
                yield Problem(
                    "MM284",
                    f"{item.id} concludes {left} and {right}, whose actions set {name} to"
                    f" {min(ours)} and to {min(theirs)}",
                    item.where("conclude"),
                    "let the actions agree, or register it under 'conflicts' of one of the two",
                )


def _settings(actions: Iterable[e.Action]) -> dict[str, set[str]]:
    """The settings in commands of actions: pinned packages and environment variables."""
    found: dict[str, set[str]] = defaultdict(set)
    for action in actions:
        for pattern in (_PIN, _ASSIGNMENT):
            for name, value in pattern.findall(action.command):
                found[name].add(value)
    return found


def _retry_problems(subject: Subject) -> Iterator[Problem]:
    """Rows that may both match, one of which says to retry and the other never to."""
    rows = {item.id: item for item in subject.forms["error"]}
    for item in rows.values():
        for number, name in enumerate(item.entry.match.alongside):
            other = rows.get(name)
            if other is None or other is item or _registered(item, other):
                continue
            advice = {item.entry.retry, other.entry.retry}
            if len(advice) > 1 and "never" in advice:
                yield Problem(
                    "MM284",
                    f"one text matches {item.id} (retry: {item.entry.retry}) and {name}"
                    f" (retry: {other.entry.retry})",
                    item.where("match", "alongside", number),
                    "let them agree, refine one by the other, or register it under 'conflicts'",
                )
