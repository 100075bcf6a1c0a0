"""The figures that were read from a text, in one line, so that a user sees a wrong reading."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..facts import Fact, Vocabulary
    from ..facts.statements import Statement

SOURCE = "probe:statements"
_MOST = 4


def is_stated(fact: Fact) -> bool:
    """Whether a fact is a figure from a text."""
    return any(seen.source == SOURCE for seen in fact.provenance)


def read_line(facts: Iterable[Fact], vocabulary: Vocabulary) -> str:
    """The figures among the facts in one line; empty if there are none."""
    stated = [fact for fact in facts if is_stated(fact)]
    told = list(dict.fromkeys(said for fact in stated for said in _figures(fact, vocabulary)))
    if not told:
        return ""
    more = f"; and {len(told) - _MOST} more" if len(told) > _MOST else ""
    return f"Read from your text: {'; '.join(told[:_MOST])}{more}."


def _figures(fact: Fact, vocabulary: Vocabulary) -> Iterator[str]:
    for statement in vocabulary.statements.values():
        value = fact.get(statement.attribute)
        if statement.kind != fact.kind or value is None:
            continue
        if all(fact.get(name) == fixed for name, fixed in statement.fixed):
            yield _figure(statement, fact, f"{value:.6g}" if isinstance(value, float) else value)


def _figure(statement: Statement, fact: Fact, value: object) -> str:
    subject = fact.get(statement.subject) if statement.subject else None
    named = subject is not None and subject != statement.unnamed
    if named and not statement.names:
        title = f"{subject} {statement.title}" if statement.form == "number" else str(subject)
    else:
        title = f"{statement.title}{f' of {subject}' if named else ''}"
    limit = fact.get(statement.limit) if statement.limit else None
    told = f", {statement.limit} {limit:g}" if isinstance(limit, (int, float)) else ""
    return f"{title} {value}{told}"
