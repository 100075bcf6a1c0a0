"""Statements in a text -> facts, by the ``statements`` that the vocabulary declares.

Figures that differ for the same thing tell nothing of how it is now, so they are left out; but of
a change (``from 4.2 to 1.1``) the new one counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ...facts.fact import Value
from ...facts.kinds import Vocabulary
from ...facts.statements import Statement
from ...reading.statements import reader
from ...reading.statements.reader import Said
from ..outcome import Collector, Outcome

Values = dict[str, Value]
Place = tuple[str, int]


def read_statements(text: str, vocabulary: Vocabulary, *, name: str = "pasted") -> Outcome:
    """The facts that a text states; ``name`` precedes the line in their places. Never raises on any
    text."""
    collector = Collector(vocabulary, "probe:statements", certainty="stated")
    declared = tuple(vocabulary.statements[each] for each in sorted(vocabulary.statements))
    said = reader.read_statements(text, declared)
    for (kind, line), values in _merged(_current(said), vocabulary):
        collector.add(kind, f"{name}:{line}", **values)
    return collector.outcome()


gather_statements = read_statements  # under the name that all probes have


def _current(said: Iterable[Said]) -> list[Said]:
    """Keep one value for each observable of each subject; leave out those that differ."""
    groups: dict[tuple[str, str], list[Said]] = {}
    for each in said:
        if not each.replaced:
            groups.setdefault((each.statement, each.subject), []).append(each)
    return [
        each
        for group in groups.values()
        if len({said.value for said in group}) == 1
        for each in group[:1]
    ]


def _merged(said: Iterable[Said], vocabulary: Vocabulary) -> list[tuple[tuple[str, int], Values]]:
    """The attributes of facts by kind and line; those about the same thing are one fact."""
    found: dict[tuple[Value, ...], tuple[tuple[str, int], Values]] = {}
    for each in said:
        statement = vocabulary.statements[each.statement]
        kind = vocabulary.kinds.get(statement.kind)
        values = _values(statement, each, vocabulary)
        if kind is None or not values:
            continue
        key = (statement.kind, *(values.get(name, "") for name in kind.key))
        known = found.setdefault(key, ((statement.kind, each.line), {}))[1]
        for attribute, value in values.items():
            known.setdefault(attribute, value)
    return list(found.values())


def _values(statement: Statement, said: Said, vocabulary: Vocabulary) -> Values:
    """The attributes that a statement sets; none where its subject is not known."""
    subject = said.subject or statement.unnamed
    if statement.subject and not subject:
        return {}
    attributes: Mapping[str, object] = vocabulary.kinds[statement.kind].attributes
    values: Values = dict(statement.fixed)
    if statement.subject:
        values[statement.subject] = subject
    values[statement.attribute] = int(said.value) if statement.integer else said.value
    if statement.limit in attributes and said.limit is not None:
        values[statement.limit] = said.limit
    return values
