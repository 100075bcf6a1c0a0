"""Two states of knowledge compared: by what entries say, and by what they do in the cases of both.

An entry that fires in more cases is loosened, one that fires in fewer is tightened. The texts do
not decide that: a rewritten condition may mean the same.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ..engine.compiler.alternatives import SharedPatterns
from ..engine.compiler.build import Built
from ..engine.compiler.knowledge_base import KnowledgeBase
from ..engine.compiler.source.knowledge_source import Item
from ..engine.diagnosis.diagnoser import Diagnoser
from ..engine.diagnosis.findings import concluded_facts
from ..engine.inference.program import Literal
from ..facts import Fact, Location, ModelMedicError, Provenance, Vocabulary

Decode = Callable[[str, Vocabulary], Sequence[Fact]]
Deed = tuple[str, str]
"""An entry, and what it concludes."""

_WORDING = frozenset(
    {"title", "summary", "details", "note", "message", "repair", "meaning", "fix", "sources",
     "covers", "conflicts", "actions", "packet", "samples", "near_misses", "ask", "why", "help",
     "phrases", "answer", "healthy", "gaps", "origin"}
)  # fmt: skip


class Change(NamedTuple):
    """The difference of one entry. ``kind`` is added, removed, renamed (``new`` is the new id),
    loosened, tightened, shifted (both), changed (no case shows the difference) or reworded;
    ``cases`` shows it."""

    kind: str
    form: str
    id: str
    title: str
    new: str = ""
    cases: tuple[str, ...] = ()


class Comparison(NamedTuple):
    """All changes by kind and id; how many cases were run, and how many one side cannot read."""

    changes: tuple[Change, ...]
    cases: int
    unreadable: int

    @property
    def bump(self) -> str:
        """The part of the version that must rise: major, minor, patch, or none."""
        if any(c.form == "diagnosis" and c.kind in ("removed", "renamed") for c in self.changes):
            return "major"
        if any(c.kind != "reworded" for c in self.changes):
            return "minor"
        return "patch" if self.changes else "none"


class _Case(NamedTuple):
    name: str
    facts: Sequence[Mapping[str, Any]] = ()
    message: str = ""


class _Side:
    """One of the two states, ready to run."""

    def __init__(self, built: Built, decode: Decode) -> None:
        self.items = {item.id: item for item in built.source.items}
        self.logic = _logic(built)
        self._doctor = Diagnoser.of(KnowledgeBase.of(built.compiled, "compared"))
        self._decode = decode
        self._deeds = [
            tuple(
                (rule.entry, f"{conclusion.kind} {conclusion.values}")
                for conclusion in rule.conclusions
                if conclusion.kind != "tree_node"
            )
            for rule in self._doctor.base.program.rules
        ]

    def run(self, case: _Case) -> set[Deed] | None:
        """The conclusions of each entry; None if the facts are not of this vocabulary."""
        vocabulary = self._doctor.base.vocabulary
        try:
            read = [vocabulary.read(f, Location("case"), Provenance("test")) for f in case.facts]
        except ModelMedicError:
            return None
        facts = [*read, *(self._decode(case.message, vocabulary) if case.message else ())]
        consultation = self._doctor.consult(facts)
        deeds = {d for f in consultation.derivation.firings for d in self._deeds[f.rule]}
        concluded = concluded_facts(consultation.facts)[0]
        return deeds | {(name, "is concluded") for name in concluded}


def compare(old: Built, new: Built, decode: Decode) -> Comparison:
    """All changes from one state to the other. ``decode`` turns the text of a message into facts of
    a vocabulary."""
    before, after = _Side(old, decode), _Side(new, decode)
    cases = _cases((old, new))
    gained: dict[str, list[str]] = defaultdict(list)
    lost: dict[str, list[str]] = defaultdict(list)
    unreadable = 0
    for case in cases:
        was, now = before.run(case), after.run(case)
        if was is None or now is None:
            unreadable += 1
            continue
        for name in sorted({entry for entry, _ in now - was}):
            gained[name].append(case.name)
        for name in sorted({entry for entry, _ in was - now}):
            lost[name].append(case.name)
    changes = [*_membership(before, after), *_behaviour(before, after, gained, lost)]
    ordered = sorted(changes, key=lambda c: (_ORDER.index(c.kind), c.form, c.id))
    return Comparison(tuple(ordered), len(cases), unreadable)


_ORDER = (
    "removed", "renamed", "added", "tightened", "loosened", "shifted", "changed", "reworded",
)  # fmt: skip


def _cases(sides: Iterable[Built]) -> list[_Case]:
    """The cases and samples of both sides, equal ones once."""
    found: dict[str, _Case] = {}
    for built in sides:
        for document, file in built.source.tests:
            for index, case in enumerate(file.cases):
                name = f"{case.name} ({document.where(('cases', index))})"
                key = json.dumps(case.facts, sort_keys=True, default=str)
                found.setdefault(key, _Case(name, case.facts))
        for item in built.source.of("error"):
            for index, sample in enumerate((*item.entry.samples, *item.entry.near_misses)):
                name = f"{item.id} text {index + 1} ({item.where('samples')})"
                found.setdefault(f"text {sample}", _Case(name, message=sample))
    return list(found.values())


def _membership(before: _Side, after: _Side) -> Iterator[Change]:
    gone = {n: i for n, i in before.items.items() if n not in after.items}
    come = {n: i for n, i in after.items.items() if n not in before.items}
    for name, item in gone.items():
        heir = next((new for new in come if _same(item, come[new])), None)
        if heir is None:
            yield Change("removed", item.form, name, item.entry.title)
        else:
            yield Change("renamed", item.form, name, item.entry.title, heir)
            del come[heir]
    for name, item in come.items():
        yield Change("added", item.form, name, item.entry.title)


def _same(left: Item, right: Item) -> bool:
    """Whether two entries are one under two ids: the same title, or the same content."""
    if left.form != right.form:
        return False
    alike = _content(left, "title") == _content(right, "title")
    return bool(alike or left.entry.title == right.entry.title)


def _content(item: Item, *without: str) -> Any:
    return item.entry.model_dump(exclude={"id", *without})


def _behaviour(
    before: _Side,
    after: _Side,
    gained: Mapping[str, list[str]],
    lost: Mapping[str, list[str]],
) -> Iterator[Change]:
    for name, item in after.items.items():
        old = before.items.get(name)
        if old is None:
            continue
        more, fewer = gained.get(name, ()), lost.get(name, ())
        shown = tuple(dict.fromkeys((*more, *fewer)))
        if more or fewer:
            kind = "shifted" if more and fewer else "loosened" if more else "tightened"
        elif before.logic[name] != after.logic[name] or _settled(old) != _settled(item):
            kind = "changed"
        elif _content(old) != _content(item):
            kind = "reworded"
        else:
            continue
        yield Change(kind, item.form, name, item.entry.title, "", shown)


def _logic(built: Built) -> dict[str, str]:
    """The compiled rules of each entry, with the values of parameters."""
    found: dict[str, list[str]] = defaultdict(list)
    for rule in built.rules:
        conditions = [_spelled(literal, built.forms.patterns) for literal in rule.literals]
        found[rule.entry].append(f"{rule.id} {conditions} {rule.guards} {rule.conclusions}")
    return {item.id: "\n".join(sorted(found[item.id])) for item in built.source.items}


def _spelled(literal: Literal, patterns: SharedPatterns) -> str:
    """A literal with what its numbers stand for."""
    counted = patterns.aggregates[literal.pattern][1:] if literal.mode == "aggregate" else ()
    return f"{literal._replace(pattern=0)} {patterns.of(literal)} {counted}"


def _settled(item: Item) -> Any:
    """The fields of an entry that are neither wording nor part of a rule: severity, effects, the
    probes of a tree ..."""
    return _without_wording(item.entry.model_dump()) if item.form in ("diagnosis", "tree") else None


def _without_wording(node: Any) -> Any:
    if isinstance(node, dict):
        return {n: _without_wording(v) for n, v in node.items() if n not in _WORDING}
    if isinstance(node, list):
        return [_without_wording(value) for value in node]
    return node
