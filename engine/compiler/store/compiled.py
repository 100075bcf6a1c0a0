"""Compiled knowledge and its stored form: its named tuples as JSON, never code."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from mmap import mmap

from ....facts import Attribute, Kind, Probe, Question, Vocabulary
from ....facts.owners import Owner
from ....facts.records import NamedTuple
from ....facts.statements import Statement
from ...inference.operators import identity
from ...inference.program import (
    Aggregate,
    Conclusion,
    Guard,
    Literal,
    Pattern,
    Program,
    Repair,
    Rule,
    Test,
)
from ...inference.rule_index import AlphaTable, Lookup, NetworkIndex, Signal
from .sections import StoredList, StoredMap, StoredSection, pack, unpack

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


VERSION = "0.1.0"


class Summary(NamedTuple):
    """The sort key of a diagnosis."""

    title: str
    severity: str
    kind: str
    explains: Sequence[str] = ()


_CATALOGUE = ("diagnoses", "entries", "trees", "words", "beginnings", "issues", "issue_terms")


class Compiled(NamedTuple):
    """Compiled knowledge.

    ``catalogue`` holds ``diagnoses``, ``entries`` and ``trees`` by id, the ``words`` of the
    lexicon, the ``beginnings`` of messages, and the known ``issues`` with their index; ``causes``
    maps each diagnosis to those that explain it; ``overlays`` holds the changes that each of them
    made; ``validity`` bounds the days on which their silences are as they are; ``verified`` is the
    day on which known issues were looked up last, "" if there are none.
    """

    vocabulary: Vocabulary
    program: Program
    catalogue: Mapping[str, Mapping[str, Any]]
    summaries: Mapping[str, Summary]
    causes: Mapping[str, Sequence[str]]
    overlays: tuple[Mapping[str, Any], ...] = ()
    validity: tuple[str, str] = ("", "")
    verified: str = ""


def encode(compiled: Compiled) -> bytes:
    """The stored form."""
    vocabulary, program, catalogue = compiled.vocabulary, compiled.program, compiled.catalogue
    index = program.network
    head = {
        "probes": list(vocabulary.probes.values()),
        "questions": list(vocabulary.questions.values()),
        "derived": sorted(vocabulary.derived),
        "defaults": vocabulary.defaults,
        "overlays": compiled.overlays,
        "validity": compiled.validity,
        "verified": compiled.verified,
        "aggregates": program.aggregates,
        "strata": program.strata,
        "always_ready": index.always_ready,
        "blocking": sorted(index.blocking),
        "refutable": sorted(index.refutable),
        "concluded": sorted(index.concluded),
    }
    sections: dict[str, Any] = {
        "patterns": program.patterns,
        "rules": program.rules,
        "signals": waiting_rules(rule.waits for rule in program.rules),
        "alpha": {kind: plain_table(table) for kind, table in index.alpha.items()},
        "kinds": {name: _plain_kind(kind) for name, kind in vocabulary.kinds.items()},
        "owners": {name: list(owner) for name, owner in vocabulary.owners.items()},
        "statements": {name: list(each) for name, each in vocabulary.statements.items()},
        "causes": compiled.causes,
        "concluding": index.concluding,
        **catalogue,
    }
    return pack(head, sections)


def decode(content: bytes | mmap, start: int = 0) -> Compiled:
    """Compiled knowledge whose rules, kinds and entries are decoded when they are needed.

    Raises ValueError, TypeError or LookupError for content that :func:`encode` did not write.
    """
    head, sections = unpack(content, start)
    catalogue = {name: StoredMap(sections[name], same) for name in _CATALOGUE}
    after, until = head["validity"]
    return Compiled(
        _vocabulary(head, sections),
        Program(
            StoredList(sections["patterns"], _pattern),
            tuple(map(Aggregate._make, head["aggregates"])),
            StoredList(sections["rules"], rule_of),
            int(head["strata"]),
            _index(head, sections),
        ),
        catalogue,
        StoredMap(sections["diagnoses"], summary),
        StoredMap(sections["causes"], same),
        tuple(map(dict, head["overlays"])),
        (after, until),
        str(head["verified"]),
    )


def summary(entry: Mapping[str, Any]) -> Summary:
    """The summary of an entry of the catalogue."""
    return Summary(entry["title"], entry["severity"], entry["kind"], entry["explains"])


def same(plain: Any) -> Any:
    """Plain data as it is."""
    return plain


def _vocabulary(head: Mapping[str, Any], sections: Mapping[str, StoredSection]) -> Vocabulary:
    probes = map(Probe._make, head["probes"])
    questions = map(Question._make, head["questions"])
    return Vocabulary(
        StoredMap(sections["kinds"], _kind),
        {p.name: p._replace(gathers=tuple(p.gathers)) for p in probes},
        {q.id: q._replace(where=_pairs(q.where)) for q in questions},
        frozenset(head["derived"]),
        dict(head["defaults"]),
        StoredMap(sections["owners"], _owner),
        StoredMap(sections["statements"], Statement.from_stored),
    )


def _owner(plain: Any) -> Owner:
    return Owner(*plain)


def _kind(plain: Any) -> Kind:
    name, description, attributes, key, functional, polarity, probes, *rest = plain
    declared = {item[0]: Attribute(*item) for item in attributes}
    return Kind(name, description, declared, tuple(key), functional, polarity, tuple(probes), *rest)


def _plain_kind(kind: Kind) -> list[Any]:
    return [*kind[:2], [_brief(attribute) for attribute in kind.attributes.values()], *kind[3:]]


def _brief(attribute: Attribute) -> Sequence[Any]:
    """The fields up to the last one that differs from its default."""
    always = len(attribute) - len(Attribute._field_defaults)
    defaults = (*attribute[:always], *Attribute._field_defaults.values())
    pairs = enumerate(zip(attribute, defaults, strict=True))
    told = [n for n, (value, default) in pairs if value != default]
    return attribute[: max([*told, always - 1]) + 1]


def _pattern(plain: Any) -> Pattern:
    kind, tests, pinned, contradictable = plain
    return Pattern(kind, tuple(map(Test._make, tests)), tuple(pinned), contradictable)


def rule_of(plain: Any) -> Rule:
    """A rule from its stored form."""
    name, entry, form, literals, guards, conclusions, *others = plain
    variables, stratum, said, waits, repairs = others
    return Rule(
        name,
        entry,
        form,
        tuple([Literal(mode, n, _pairs(joins), *rest) for mode, n, joins, *rest in literals]),
        tuple(map(Guard._make, guards)),
        conclusions_of(conclusions),
        tuple(variables),
        stratum,
        tuple(said),
        _pairs(waits),
        tuple([Repair(*repair) if repair else None for repair in repairs]),
    )


def conclusions_of(plain: Any) -> tuple[Conclusion, ...]:
    """The conclusions of a rule from their stored form."""
    return tuple([Conclusion(kind, _values(values), said) for kind, values, said in plain])


def _pairs(plain: Any) -> tuple[tuple[Any, Any], ...]:
    return tuple(map(tuple, plain))


def _values(plain: Any) -> tuple[tuple[str, Any], ...]:
    return tuple([(name, (x[0],) if isinstance(x, list) else x) for name, x in plain])


def waiting_rules(waits: Iterable[Sequence[Signal]]) -> list[dict[str, list[int]]]:
    """For each pattern, by mode: how many rules watch this signal before all others, those rules,
    then the others that wait for it."""
    found: list[dict[str, list[int]]] = []
    for number, signals in enumerate(waits):
        for place, (mode, pattern) in enumerate(signals):
            found += [{} for _ in range(pattern + 1 - len(found))]
            waiting = found[pattern].setdefault(mode, [0])
            if place == 0:
                waiting[0] += 1
                waiting.insert(waiting[0], number)
            else:
                waiting.append(number)
    return found


def plain_table(table: AlphaTable) -> list[Any]:
    """The stored form of an index of patterns."""
    by_value = [
        [attribute, [[value, numbers] for (_, value), numbers in values.items()]]
        for attribute, values in table.by_value.items()
    ]
    return [table.general, by_value, list(table.by_text.items())]


def _alpha(plain: Any) -> AlphaTable:
    general, by_value, by_text = plain
    tables = {
        attribute: {identity(value): numbers for value, numbers in values}
        for attribute, values in by_value
    }
    return AlphaTable(general, tables, dict(by_text))


def lookups(
    waiting: Sequence[Mapping[str, Sequence[int]]],
) -> tuple[Lookup[Signal, Sequence[int]], Lookup[Signal, Sequence[int]]]:
    """The rules that watch a signal before all others, and all rules that wait for it."""

    def of_signal(signal: Signal) -> Sequence[int]:
        mode, pattern = signal
        return waiting[pattern].get(mode, (0,)) if pattern < len(waiting) else (0,)

    counted = Lookup(of_signal)
    return (
        Lookup(lambda signal: counted[signal][1 : 1 + counted[signal][0]]),
        Lookup(lambda signal: counted[signal][1:]),
    )


def _index(head: Mapping[str, Any], sections: Mapping[str, StoredSection]) -> NetworkIndex:
    first_watch, uses = lookups(StoredList(sections["signals"], same))
    return NetworkIndex(
        first_watch,
        head["always_ready"],
        StoredMap(sections["alpha"], _alpha),
        frozenset(head["blocking"]),
        frozenset(head["refutable"]),
        StoredMap(sections["concluding"], same),
        uses,
        frozenset(head["concluded"]),
    )
