"""Near misses: a case too far from its entry cannot fail, and proves nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...engine.compiler.source import conditions as c
from ...engine.compiler.source.error_rows import ErrorMatch
from ...engine.compiler.source.knowledge_source import Item
from ...facts import Problem
from ..references import all_parts
from .lint_context import Subject

_OPEN = re.compile(r"\{\w*(?:,\d*)?\}|\\[a-zA-Z]|(?<!\\)\[[^\]]{0,99}\]")
"""Placeholders of a template; counts and classes of a pattern."""
_EITHER_CASE = re.compile(r"(?<!\\)\[([A-Za-z])[A-Za-z]\]")
_WORD = re.compile(r"[A-Z]?[a-z]{2,}|[A-Z]{3,}|\d{3,}")
_COMMON = {
    "all", "and", "any", "are", "been", "but", "can", "for", "from", "has", "have", "into", "its",
    "may", "not", "than", "that", "the", "then", "this", "was", "when", "with",
}  # fmt: skip
_ALIKE = 5
"""Letters: words that begin with the same ones count as the same."""


def near_miss_problems(subject: Subject) -> Iterator[Problem]:
    """Cases in which a rule is silent that hold no fact of a kind that it asks for. (A band for
    every value has no near miss.)"""
    asked = {item.id: _kinds(item, subject) for item in subject.forms["rule"]}
    for document, file in subject.source.tests:
        for index, case in enumerate(file.cases if subject.wants(document) else ()):
            kinds = asked.get(case.entry or "")
            if case.kind != "silent" or not kinds:
                continue
            if kinds.isdisjoint(str(fact.get("kind")) for fact in case.facts):
                wanted = " or ".join(sorted(kinds))
                message = f"the near miss {case.name!r} has nothing to do with {case.entry}"
                hint = f"give a {wanted} that just fails a test"
                where = document.where(("cases", index))
                yield Problem("MM296", message, where, hint)


def row_near_miss_problems(subject: Subject) -> Iterator[Problem]:
    """Texts that an error row must not match, and could not: they share no word with what it asks
    for. (A row that asks for a class or a number alone has no words to share.)"""
    for item in filter(subject.wants, subject.forms["error"]):
        asked = _asked(item.entry.match)
        for number, text in enumerate(item.entry.near_misses if asked else ()):
            if asked.isdisjoint(_words(text)) and not _names(item.entry.match.exception, text):
                message = f"this near miss shares no word with what {item.id} asks for"
                hint = "take the sample of a similar row, or of this one with a word changed"
                yield Problem("MM296", message, item.where("near_misses", number), hint)


def _asked(match: ErrorMatch) -> set[str]:
    """The words of a template or pattern."""
    fixed = _EITHER_CASE.sub(r"\1", match.template or match.pattern)
    return _words(_OPEN.sub(" ", fixed))


def _words(text: str) -> set[str]:
    return {word.lower()[:_ALIKE] for word in _WORD.findall(text)} - _COMMON


def _names(classes: list[str], text: str) -> bool:
    return not set(classes).isdisjoint(re.findall(r"\w+", text))


def _kinds(item: Item, subject: Subject) -> set[str]:
    """The kinds of fact that an entry asks for; none if some of them are derived, which requires
    facts of other kinds."""
    found: set[str] = set()
    for _, node in all_parts(item):
        if isinstance(node, c.DiagnosisHolds | c.BandHolds):
            return set()
        fact = node.series.fact if isinstance(node, c.Series) else getattr(node, "fact", None)
        if isinstance(fact, str):
            kind = subject.vocabulary.kinds.get(fact)
            if kind is None or kind.derived:
                return set()
            found.add(fact)
    return found
