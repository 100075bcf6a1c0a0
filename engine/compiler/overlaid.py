"""Lays an overlay over stored knowledge: only the entries of the overlay are compiled.

The rules below keep their patterns and their order; those of the overlay are sorted in between, and
their patterns come after the others. Changes to entries below, or to the strata of their rules, are
left to :mod:`.build`, which compiles everything.
"""

from __future__ import annotations

from collections import ChainMap, Counter
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from mmap import mmap
from typing import Any

from ...facts import ModelMedicError
from ...facts.json_text import loads
from ...facts.strict_yaml import Document, load
from ..inference.derivation import Work
from ..inference.program import Literal, Pattern, Rule
from .alternatives import SharedPatterns
from .beginnings import beginnings_of
from .build import causes_of, told
from .catalogue import catalogue
from .changes import Applied
from .compiler import check_time, compile_rules
from .forms import Forms
from .indexing import alpha, concluding, merged, waits_of
from .layering import Placed, lay_over, spoken, validity_of
from .linking import Predicate, dependencies, derived, origin, read_by
from .source.follow_ups import ordered
from .source.issues import Issue
from .source.knowledge_source import KnowledgeSource, parse
from .store.compiled import (
    conclusions_of,
    decode,
    plain_table,
    rule_of,
    same,
    summary,
    waiting_rules,
)
from .store.files import Texts
from .store.sections import StoredList, StoredMap, pack, stored_line, unpack
from .stratify import NegationCycleError, strata

_NAME, _ENTRY, _FORM, _LITERALS, _CONCLUSIONS, _STRATUM, _WAITS = map(
    Rule._fields.index,
    ("id", "entry", "form", "literals", "conclusions", "stratum", "waits"),
)
"""The places of the parts of a rule in its stored form."""


def laid_over(
    content: bytes | mmap,
    start: int,
    texts: Texts,
    *,
    today: str = "",
    applied: Applied = "valid",
    work: Work,
) -> bytes | None:
    """The stored form of what ``content`` holds from ``start`` on, with an overlay over it; None
    if that takes more than the overlay. Raises :class:`ModelMedicError` with all problems, and
    :class:`.OutOfTime`."""

    def read(text: str, path: str) -> Document:
        check_time(work, len(text))
        return load(text, path)

    below = _Below(content, start)
    layer = parse(texts, tests=False, read=read, overlay=True)
    if layer.lexicons or (layer.overlay and layer.overlay[1].tighten):
        return None
    if any(i.entry.replaces or isinstance(i.entry, Issue) for i in layer.items):
        return None
    source = KnowledgeSource(silenced={*below.silenced})
    use = lay_over(source, layer, today, applied, below.entries)
    refined = (n for i in source.items if i.form == "error" for n in i.entry.match.refines)
    issues = below.compiled.catalogue["issues"]
    if any(n in below.entries for n in refined) or any(n in issues for n in source.silenced):
        return None
    forms = Forms(
        below.compiled.vocabulary,
        source,
        problems=list(source.problems),
        subjects=below.subjects,
        observed=below.observed,
    )
    own = dict.fromkeys(item.id for item in source.of("diagnosis"))
    diagnoses: Any = ChainMap(own, below.compiled.summaries)  # type: ignore[arg-type]
    rules = compile_rules(source, forms, diagnoses, work)
    linked = below.linked(rules, forms.patterns, source.silenced)
    if linked is None or any(p.code == "MM234" for p in forms.problems):
        return None  # a negation cycle, maybe, or a classification that is deprecated
    if forms.problems:
        raise ModelMedicError(ordered(told(forms.problems, source)))
    head, sections = linked
    uses = [*below.compiled.overlays, use]
    head |= {"overlays": uses, "validity": validity_of(uses, today)}
    return pack(head, sections | below.catalogue(source))


class _Below:
    """Compiled knowledge as stored, with the indexes that compiling an overlay on it needs."""

    def __init__(self, content: bytes | mmap, start: int) -> None:
        self.compiled = decode(content, start)
        self._head, self._sections = unpack(content, start)
        self._head.pop("sizes")
        self.entries = StoredMap(self._sections["entries"], _placed)
        uses = self.compiled.overlays
        self.silenced = {silence["id"] for use in uses for silence in use["silenced"]}
        self._lines = StoredList(self._sections["rules"], same).lines()
        self._rules: list[list[Any]] = loads(f"[{b','.join(self._lines).decode('ascii')}]")
        self._patterns = StoredList(self._sections["patterns"], same).lines()
        self.subjects: dict[str, bool] = {}
        self.observed: dict[str, str] = {}
        for rule in self._rules:
            kind, values, _ = rule[_CONCLUSIONS][0]
            if rule[_FORM] == "classification" and kind == "classified":
                self.subjects[rule[_ENTRY]] = dict(values)["subject"] != "-"
                pattern = rule[_LITERALS][0][1]
                self.observed[rule[_ENTRY]] = self.compiled.program.patterns[pattern].kind

    def catalogue(self, source: KnowledgeSource) -> dict[str, Any]:
        """The sections of the catalogue to which a source adds something."""
        owners, known = self.compiled.vocabulary.owners, self.compiled.catalogue
        said = catalogue(source, owners)
        said["beginnings"] = beginnings_of(source.items, owners, known["beginnings"])
        summaries = {name: summary(entry) for name, entry in said["diagnoses"].items()}
        said["causes"] = {
            name: sorted({*self.compiled.causes.get(name, ()), *causes})
            for name, causes in causes_of(summaries).items()
        }
        changed = ("diagnoses", "entries", "trees", "beginnings", "causes")
        found = {name: self._with(name, said[name]) for name in changed if said[name]}
        if said["trees"]:
            topics, place = known["words"]["topics"], len(known["trees"])
            own = said["words"]["topics"]
            found["words"] = self._with(
                "words", {"topics": [*topics[:place], *own, *topics[place:]]}
            )
        return found

    def _with(self, name: str, items: Mapping[str, Any]) -> dict[str, Any]:
        return {**StoredMap(self._sections[name], same).lines(), **items}

    def linked(
        self, rules: Sequence[Rule], patterns: SharedPatterns, silenced: Collection[str]
    ) -> tuple[dict[str, Any], dict[str, Any]] | None:
        """Head and sections with further rules; None if that changes the strata of those
        below."""
        rules = sorted(rules, key=origin)
        needs = [dependencies(rule, patterns) for rule in rules]
        wanted = {predicate for each in needs for predicate in each.uses | each.negates}
        try:
            levels = strata(needs, self._levels(wanted))
        except NegationCycleError:
            return None
        used = _Numbers(self._patterns, self._head["aggregates"], patterns)
        numbered = [
            rule._replace(stratum=level, literals=tuple(map(used.literal, rule.literals)))
            for rule, level in zip(rules, levels, strict=True)
        ]
        if self._disturbed(numbered):
            return None
        every = self._spoken(silenced)
        uses = Counter((x[0], x[1]) for rule, _ in every for x in rule[_LITERALS])
        waits = waits_of(numbered, uses)
        uses.update((x.mode, x.pattern) for rule in numbered for x in rule.literals)
        every += [_stored(r._replace(waits=w)) for r, w in zip(numbered, waits, strict=True)]
        every.sort(key=lambda pair: (pair[0][_STRATUM], pair[0][_NAME]))
        signals = [rule[_WAITS] for rule, _ in every]
        conclusions = [conclusions_of(rule[_CONCLUSIONS]) for rule, _ in every]
        head = self._head | {
            "aggregates": used.aggregates,
            "strata": max([self._head["strata"], *(level + 1 for level in levels)]),
            "always_ready": [n for n, waits in enumerate(signals) if not waits],
            "blocking": sorted({p for mode, p in uses if mode == "unless_possible"}),
            "refutable": sorted({p for mode, p in uses if mode == "refuted"}),
            "concluded": sorted({kind for each in conclusions for kind, _, _ in each}),
        }
        return head, {
            **{name: section.whole() for name, section in self._sections.items()},
            "patterns": [*self._patterns, *used.patterns],
            "rules": [line for _, line in every],
            "signals": waiting_rules(signals),
            "concluding": concluding(conclusions),
            "alpha": self._with("alpha", self._tables(used.patterns)),
        }

    def _levels(self, wanted: set[Hashable]) -> dict[Hashable, int]:
        """The strata of those predicates that rules derive."""
        found: dict[Hashable, int] = {}
        for rule in self._rules if wanted else ():
            for predicate in derived(conclusions_of(rule[_CONCLUSIONS])) & wanted:
                found[predicate] = max(found.get(predicate, 0), rule[_STRATUM])
        return found

    def _disturbed(self, rules: Iterable[Rule]) -> bool:
        """Whether rules below read facts that these rules derive, but are in too low a stratum."""
        made: dict[Predicate, int] = {}
        for rule in rules:
            for predicate in derived(rule.conclusions):
                made[predicate] = max(made.get(predicate, 0), rule.stratum)
        needed: dict[int, int] = {}
        for kind in {kind for kind, _ in made}:
            for number in self._patterns_of(kind):
                read = read_by(self.compiled.program.patterns[number]) & made.keys()
                if read:
                    needed[number] = max(made[predicate] for predicate in read)
        counted = [aggregate[0] for aggregate in self._head["aggregates"]]
        for plain in self._rules if needed else ():
            for mode, number, *_ in plain[_LITERALS]:
                level = needed.get(counted[number] if mode == "aggregate" else number, -1)
                if level >= 0 and plain[_STRATUM] < level + (mode != "match"):
                    return True
        return False

    def _patterns_of(self, kind: str) -> set[int]:
        table = self.compiled.program.network.alpha.get(kind)
        if table is None:
            return set()
        found = {*table.general}
        found.update(n for x in table.by_value.values() for numbers in x.values() for n in numbers)
        found.update(n for x in table.by_text.values() for pairs in x.values() for _, n in pairs)
        return found

    def _spoken(self, silenced: Collection[str]) -> list[tuple[list[Any], bytes]]:
        """The rules below, plain and as stored, without the silenced diagnoses."""
        every = list(zip(self._rules, self._lines, strict=True))
        new = {name for name in silenced if name not in self.silenced}
        if not new:
            return every
        silent = {name.encode() for name in new}
        found = []
        for rule, line in every:
            if not any(name in line for name in silent):
                found.append((rule, line))
            else:
                found += [_stored(left) for left in spoken([rule_of(rule)], new)]
        return found

    def _tables(self, patterns: Sequence[Pattern]) -> dict[str, Any]:
        """The index of further patterns, with those of the same kinds."""
        known = self.compiled.program.network.alpha
        return {
            kind: plain_table(merged(known[kind], table) if kind in known else table)
            for kind, table in alpha(patterns, len(self._patterns)).items()
        }


class _Numbers:
    """Numbers patterns and aggregates of an overlay: like those below, else after them."""

    def __init__(
        self, below: Sequence[bytes], aggregates: Sequence[Sequence[Any]], own: SharedPatterns
    ) -> None:
        self._known = {line: number for number, line in enumerate(below)}
        self._next = len(below)
        self._own = own
        self.patterns: list[Pattern] = []
        self.aggregates: list[Sequence[Any]] = [*aggregates]

    def literal(self, literal: Literal) -> Literal:
        """The literal with its number here."""
        if literal.mode != "aggregate":
            return literal._replace(pattern=self._pattern(literal.pattern))
        own = self._own.aggregates[literal.pattern]
        counted = [*own._replace(pattern=self._pattern(own.pattern))]
        if counted not in self.aggregates:
            self.aggregates.append(counted)
        return literal._replace(pattern=self.aggregates.index(counted))

    def _pattern(self, own: int) -> int:
        pattern = self._own.patterns[own]
        number = self._known.setdefault(stored_line(pattern), self._next)
        if number == self._next:
            self._next += 1
            self.patterns.append(pattern)
        return number


def _stored(rule: Rule) -> tuple[list[Any], bytes]:
    line = stored_line(rule)
    return loads(line.decode("ascii")), line


def _placed(plain: Any) -> Placed:
    return Placed(plain["form"], plain["where"])
