"""Statements in a text -> facts, by the ``statements`` that the vocabulary declares.

Figures that differ for the same thing tell nothing of how it is now, so they are left out; but of
a change (``from 4.2 to 1.1``) the new one counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from ...facts.fact import Value
from ...facts.kinds import Vocabulary
from ...facts.problems import UNREAD_FIGURES, Location
from ...facts.statements import Statement
from ...reading.statements import reader
from ...reading.statements.reader import Said
from ..outcome import Collector, Outcome

_OF_ALL = re.compile(r"[\W_]*(?:all|total|overall|average|mean)\b[\W_]", re.IGNORECASE)

_MOST_LINES = 4
_LIST = 3

Values = dict[str, Value]
Place = tuple[str, int]


def read_statements(text: str, vocabulary: Vocabulary, *, name: str = "pasted") -> Outcome:
    """The facts that a text states; ``name`` precedes the line in their places. Figures that may be
    meant and are not understood are a note (MM449). Never raises on any text."""
    collector = Collector(vocabulary, "probe:statements", certainty="stated")
    declared = tuple(vocabulary.statements[each] for each in sorted(vocabulary.statements))
    text, places, code = _of_cells(text, name) if '"cell_type"' in text else (text, [], set())
    said, unsure = reader.read(text, declared, code=code)
    current = _current(said, vocabulary)
    for (kind, line), values in _merged(current, vocabulary):
        collector.add(
            kind, places[min(line, len(places)) - 1] if places else f"{name}:{line}", **values
        )
    meant = {(each.statement, each.subject) for each in (*current, *_replaced(said))}
    differ = {each.line for each in said if (each.statement, each.subject) not in meant}
    if left := sorted({*unsure, *differ}):
        collector.problem(
            UNREAD_FIGURES, f"figures differ or are not understood (line {_few(left)})",
            Location(name), "say what each figure is, such as: R-ratio of mlp: 1.31", is_note=True,
        )  # fmt: skip
        if current:
            collector.add("unread_figures", name, text=name)
    return collector.outcome()


def _of_cells(text: str, name: str) -> tuple[str, list[str], set[int]]:
    """The text of all cells of a notebook, the place of each of its lines, and which are code; any
    other text has none."""
    from ...reading.text.notebooks import cells_of

    cells = cells_of(text)
    places = [f"{name}#cell {c.number}:{n}" for c in cells for n in range(1, len(c.lines) + 2)]
    code, line = set[int](), 1
    for cell in cells:
        code.update(range(line, line + cell.code))
        line += len(cell.lines) + 1
    return "\n\n".join("\n".join(c.lines) for c in cells) if cells else text, places, code


def _few(lines: Sequence[int]) -> str:
    """The first numbers of lines, and how many more there are."""
    more = f" and {len(lines) - _MOST_LINES} more" if len(lines) > _MOST_LINES else ""
    return ", ".join(map(str, lines[:_MOST_LINES])) + more


gather_statements = read_statements  # under the name that all probes have


def _current(said: Iterable[Said], vocabulary: Vocabulary) -> list[Said]:
    """Keep one value for each observable of each subject; of those that differ the one of the row
    for all, of a list of end-to-end figures the worst, or none."""
    groups: dict[tuple[str, str], list[Said]] = {}
    for each in said:
        if not each.replaced:
            groups.setdefault((each.statement, each.subject), []).append(each)
    found = []
    for group in groups.values():
        whole = [said for said in group if _OF_ALL.match(said.quote)]
        for said in (group, whole):
            if len({each.value for each in said}) == 1:
                found.append(said[0])
                break
        else:
            statement = vocabulary.statements[group[0].statement]
            figures = [each for each in group if isinstance(each.value, float)]
            if statement.kind == "e2e_result" and len(figures) >= _LIST:
                best = min if statement.maximum == 1 else max
                worst = best(figures, key=lambda each: float(each.value))
                limits = {each.limit for each in figures} - {None}
                found.append(worst._replace(limit=limits.pop()) if len(limits) == 1 else worst)
    return found


def _replaced(said: Iterable[Said]) -> Iterator[Said]:
    return (each for each in said if each.replaced)


def _merged(said: Iterable[Said], vocabulary: Vocabulary) -> list[tuple[tuple[str, int], Values]]:
    """The attributes of facts by kind and line; those about the same thing are one fact."""
    found: dict[tuple[Value, ...], tuple[tuple[str, int], Values]] = {}
    kinds = vocabulary.kinds
    for each in said:
        statement = vocabulary.statements[each.statement]
        kind = kinds.get(statement.kind)
        values = _values(statement, each, vocabulary)
        if kind is None or not values:
            continue
        told = kind.key or (tuple(values) if statement.subject else ())
        key = (statement.kind, *(values.get(name, "") for name in told))
        known = found.setdefault(key, ((statement.kind, each.line), {}))[1]
        for attribute, value in values.items():
            known.setdefault(attribute, value)
    _number([values for (kind, _), values in found.values() if "index" in kinds[kind].attributes])
    return list(found.values())


def _number(rows: Sequence[Values]) -> None:
    """Give the facts about parts of a model the order in which the text names them."""
    for place, values in enumerate(rows if len(rows) > 1 else ()):
        values.setdefault("index", place)


def _values(statement: Statement, said: Said, vocabulary: Vocabulary) -> Values:
    """The attributes that a statement sets; none where its subject is not known."""
    subject = said.subject or statement.unnamed
    if statement.subject and not subject:
        return {}
    attributes: Mapping[str, object] = vocabulary.kinds[statement.kind].attributes
    values: Values = dict(statement.fixed)
    if statement.subject:
        values[statement.subject] = subject
    value = _share(said.value, statement)
    if isinstance(said.limit, str):
        return {**values, statement.attribute: value, statement.limit: said.limit}
    values[statement.attribute] = int(said.value) if statement.integer else value
    if statement.limit in attributes and said.limit is not None:
        values[statement.limit] = limit = _share(said.limit, statement)
        if statement.difference and isinstance(value, float) and isinstance(limit, float):
            values[statement.difference] = round(limit - value, 12)  # of decimals
    elif statement.difference and "compared" in attributes:
        values["compared"] = False
    return values


def _share(value: float | str, statement: Statement) -> float | str:
    """A figure, as a share where it is a percentage without its sign."""
    above = statement.percent_above
    if above is None or isinstance(value, str) or value <= above:
        return value
    from ...reading.statements.pairs import times

    return times(value, 0.01)
