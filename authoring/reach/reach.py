"""How each rule can be reached: by what probes gather, by what people are asked, or by both.

A condition is reached if a probe or an answer gives a fact that passes it; a derived one, if a rule
derives it whose own conditions are reached. A condition on an absent fact is always reached.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ...engine.compiler.alternatives import Path
from ...engine.compiler.build import Built
from ...engine.compiler.linking import origin
from ...engine.inference.operators import identity
from ...engine.inference.program import Pattern, Rule, Test, is_twin
from ...facts import Kind
from .asked import Asked
from .given import Given

_WANTED = ("match", "refuted", "aggregate")
PROBE, QUESTION, FILE, TOGETHER = "probe", "question", "file", "together"
Way = frozenset[str]
_EITHER: Way = frozenset((PROBE, QUESTION, FILE, TOGETHER))
_NONE: Way = frozenset()


class Lack(NamedTuple):
    """A condition that no probe, answer or rule can settle, and its place in the entry."""

    kind: str
    text: str
    at: Path


class Reached(NamedTuple):
    """One rule as written (a branch, a band, a cause are rules of their own): the ways in which it
    can fire, and the conditions that prevent it from firing if there is none."""

    id: str
    entry: str
    ways: Way
    lacks: tuple[Lack, ...] = ()


class Wanted(NamedTuple):
    """A condition that needs a fact, and its attributes that stand for variables."""

    pattern: Pattern
    joined: tuple[str, ...]
    at: Path


def reached(built: Built, filed: Collection[str] = ()) -> list[Reached]:
    """All rules of a knowledge base; facts of the kinds ``filed`` come from facts files only."""
    return _Reach(built, filed).all()


LABELS = {
    "both": "from a probe, and from answers",
    PROBE: "from a probe",
    QUESTION: "from answers",
    TOGETHER: "from a probe and answers together",
    FILE: "from a facts file only",
    "unreachable": "from nothing",
}


def label(ways: Way) -> str:
    """One of the :data:`LABELS` for the ways of a rule."""
    if {PROBE, QUESTION} <= ways:
        return "both"
    return next((name for name in (PROBE, QUESTION, FILE, TOGETHER) if name in ways), "unreachable")


class _Reach:
    def __init__(self, built: Built, filed: Collection[str]) -> None:
        self._built = built
        self._filed = filed
        self._kinds = built.vocabulary.kinds
        self._given, self._asked = Given(built.vocabulary), Asked(built)
        self._direct: dict[str, Way] = {}
        self._makers = Makers(built)
        # The twins of rules, for facts that assume something, say nothing of their own.
        self._rules = [rule for rule in built.rules if not is_twin(rule)]
        self._ways: dict[str, Way] = {rule.id: _NONE for rule in built.rules}

    def all(self) -> list[Reached]:
        changed = True
        while changed:  # ways only grow, so this ends
            changed = False
            for rule in self._rules:
                ways = self._of_rule(rule)
                changed |= ways != self._ways[rule.id]
                self._ways[rule.id] = ways
        found: dict[str, list[Rule]] = {}
        for rule in self._rules:
            found.setdefault(origin(rule), []).append(rule)
        return [self._reached(name, rules) for name, rules in found.items()]

    def _reached(self, name: str, rules: Sequence[Rule]) -> Reached:
        ways = frozenset[str]().union(*(self._ways[rule.id] for rule in rules))
        lacking = () if ways else tuple(dict.fromkeys(self._lacking(rules)))
        return Reached(name, rules[0].entry, ways, lacking)

    def _lacking(self, rules: Sequence[Rule]) -> Iterator[Lack]:
        for rule in rules:
            for wanted in self._wanted(rule):
                if not self._of(wanted):
                    kind, tests, _, _ = wanted.pattern
                    said = ", ".join(" ".join(map(str, test)) for test in tests)
                    yield Lack(kind, f"{kind} ({said})" if said else kind, wanted.at)

    def _wanted(self, rule: Rule) -> Iterator[Wanted]:
        patterns = self._built.forms.patterns
        places = self._built.forms.places[rule.id]
        for literal, at in zip(rule.literals, places, strict=True):
            if literal.mode in _WANTED:
                joined = tuple(name for name, _ in literal.joins)
                yield Wanted(patterns.of(literal), joined, at)

    def _of_rule(self, rule: Rule) -> Way:
        ways = _EITHER
        for wanted in self._wanted(rule):
            ways = _both(ways, self._of(wanted))
            if not ways:
                break
        return ways

    def _of(self, wanted: Wanted) -> Way:
        pattern = wanted.pattern
        kind = self._kinds[pattern.kind]
        if kind.derived:
            makers = self._makers.of(kind, pattern)
            return frozenset[str]().union(*(self._ways[rule] for rule in makers))
        key = repr(wanted[:2])
        if key not in self._direct:
            self._direct[key] = self._given_or_asked(kind, wanted)
        return self._direct[key]

    def _given_or_asked(self, kind: Kind, wanted: Wanted) -> Way:
        tests, joined = wanted.pattern.tests, wanted.joined
        if kind.name in self._filed:
            return frozenset((FILE, TOGETHER))
        found = {PROBE, TOGETHER} if self._given.passing(kind, tests, joined) else set()
        possible, open_ = self._asked.passing(kind, tests, joined)
        if possible and not open_:
            found |= {QUESTION, TOGETHER}
        elif possible and self._given.probes(kind.name, *open_):
            found.add(TOGETHER)  # a probe knows which things there are
        return frozenset(found)


def _both(one: Way, other: Way) -> Way:
    """The ways in which two conditions can be reached at once."""
    if not one or not other:
        return _NONE
    return (one & other) | {TOGETHER}


class Makers:
    """The rules that derive the facts that a pattern needs, by id."""

    def __init__(self, built: Built) -> None:
        self._made: dict[tuple[str, str, Any], list[tuple[Mapping[str, Any], str]]] = {}
        self._of: dict[str, tuple[str, ...]] = {}
        for rule in built.rules:
            for kind, values, _ in rule.conclusions:
                said = dict(values)
                for name in ("", *said):
                    value = "" if name == "" else said[name]
                    key = (kind, name, None if isinstance(value, tuple) else identity(value))
                    self._made.setdefault(key, []).append((said, rule.id))

    def of(self, kind: Kind, pattern: Pattern) -> tuple[str, ...]:
        """The ids of the rules that may derive such a fact."""
        key = repr(pattern)
        if key not in self._of:
            candidates = min((self._saying(t) for t in self._keys(kind, pattern)), key=len)
            made = (rule for values, rule in candidates if fits(kind, pattern.tests, values))
            self._of[key] = tuple(dict.fromkeys(made))
        return self._of[key]

    def _keys(self, kind: Kind, pattern: Pattern) -> Iterator[tuple[str, str, Any]]:
        yield pattern.kind, "", identity("")
        for name, op, operand in pattern.tests:
            if op == "eq" and kind.attributes[name].default is None:
                yield pattern.kind, name, identity(operand)

    def _saying(self, key: tuple[str, str, Any]) -> list[tuple[Mapping[str, Any], str]]:
        kind, name, _ = key
        return [*self._made.get(key, ()), *self._made.get((kind, name, None), ())]


def fits(kind: Kind, tests: Sequence[Test], values: Mapping[str, Any]) -> bool:
    """Whether a derived fact may pass: its constants hold, a variable may be anything."""
    for name, op, operand in tests:
        value = values.get(name, kind.attributes[name].default if name in kind.attributes else None)
        if value is None:
            return False
        if isinstance(value, tuple):
            continue
        if op == "eq" and identity(value) != identity(operand):
            return False
        if op == "in" and identity(value) not in {identity(x) for x in operand}:
            return False
    return True
