"""Error rows: samples they miss, texts that two of them match, rows that never show."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import combinations

from ...engine.compiler.source.error_rows import ErrorMatch
from ...engine.compiler.source.knowledge_source import Item
from ...facts import Fact, Problem
from ...facts.problems import did_you_mean
from .cycles import cycle
from .lint_context import Decode, Subject
from .near_misses import row_near_miss_problems
from .row_index import RowIndex

_PLACEHOLDER = re.compile(r"\{[A-Za-z_0-9]*\}")
_SHOWN = 90


def error_problems(subject: Subject) -> Iterator[Problem]:
    """Problems of all error rows."""
    rows = {item.id: item for item in subject.forms["error"]}
    yield from _reference_problems(rows)
    yield from _placeholder_problems(rows)
    yield from row_near_miss_problems(subject)
    if subject.decode is not None:
        rows = {name: item for name, item in rows.items() if name in subject.rules}
        yield from _Trial(subject, subject.decode, rows).problems()


class _Trial:
    """Rows tried on the texts of all of them."""

    def __init__(self, subject: Subject, decode: Decode, rows: dict[str, Item]) -> None:
        owners = subject.vocabulary.owners
        self._decode = decode
        self._rows = rows
        self._index = RowIndex(rows, owners)
        self._wanted = {name: item for name, item in rows.items() if subject.wants(item)}
        self._of_wanted = RowIndex(self._wanted, owners)
        self._witnesses: dict[tuple[str, str], str] = {}

    def problems(self) -> Iterator[Problem]:
        """Problems of the wanted rows."""
        for name in sorted(self._rows.keys() - self._wanted.keys()):
            self._try_another(self._rows[name])
        for item in self._wanted.values():
            yield from self._sample_problems(item)
        yield from _overlap_problems(self._rows, self._witnesses)

    def _try_another(self, item: Item) -> None:
        """Try the texts of a row that is not wanted, if a wanted one may match them as well."""
        for text in (*item.entry.samples, *generated(item.entry.match)):
            if self._of_wanted.may_match(text):
                self._reported(self._decode(text), text)

    def _reported(self, facts: Sequence[Fact], text: str) -> set[str]:
        """The rows that are reported for the facts of a text; each pair of them is noted."""
        found = set()
        for fact in facts:
            reported = _reported(self._index.matched(fact), self._rows)
            _note_pairs(self._witnesses, reported, text)
            found |= reported
        return found

    def _sample_problems(self, item: Item) -> Iterator[Problem]:
        shown = False
        for number, text in enumerate(item.entry.samples):
            facts = self._decode(text)
            if not self._index.matches(item.id, facts):
                message = f"{item.id} does not match its own sample"
                hint = "mend the template or pattern, or the sample"
                yield Problem("MM275", message, item.where("samples", number), hint)
                shown = True
            shown = item.id in self._reported(facts, text) or shown
        for text in generated(item.entry.match):
            self._reported(self._decode(text), text)
        for number, text in enumerate(item.entry.near_misses):
            if self._index.matches(item.id, self._decode(text)):
                message = f"{item.id} matches its own near miss"
                at = item.where("near_misses", number)
                yield Problem("MM275", message, at, "make the match more specific")
        if not shown:
            facts = self._decode(item.entry.samples[0])
            yield _hidden(item, self._index, self._rows, facts)


def generated(match: ErrorMatch) -> Iterator[str]:
    """Texts written from a template: its placeholders filled with a word, and with a number."""
    if match.template:
        for filling in ("x", "7"):
            text = _PLACEHOLDER.sub(filling, match.template)
            yield f"{match.exception[0]}: {text}" if match.exception else text


def _reported(matched: set[str], rows: dict[str, Item]) -> set[str]:
    """The rows that stay when each has silenced those that it refines."""
    silent = {general for name in matched for general in rows[name].entry.match.refines}
    return matched - silent


def _note_pairs(witnesses: dict[tuple[str, str], str], rows: set[str], text: str) -> None:
    for left, right in combinations(sorted(rows), 2):
        witnesses.setdefault((left, right), text)


def _hidden(item: Item, index: RowIndex, rows: dict[str, Item], facts: Sequence[Fact]) -> Problem:
    """The problem that no sample of a row is ever reported as that row."""
    matched = {name for fact in facts for name in index.matched(fact)}
    takers = sorted(name for name in matched if item.id in rows[name].entry.match.refines)
    return Problem(
        "MM279",
        f"{item.id} is never reported: {takers[0]} refines it and matches all its samples",
        item.where("samples"),
        "add a sample that this row alone explains, or remove the row",
    )


def _reference_problems(rows: dict[str, Item]) -> Iterator[Problem]:
    for item in rows.values():
        for field in ("refines", "alongside"):
            for index, other in enumerate(getattr(item.entry.match, field)):
                if other not in rows or other == item.id:
                    message = f"{field!r} names no other row: {other!r}"
                    hint = did_you_mean(other, rows.keys() - {item.id}) or "name another error row"
                    yield Problem("MM266", message, item.where("match", field, index), hint)
    links = {name: [x for x in i.entry.match.refines if x != name] for name, i in rows.items()}
    circle = cycle(links)
    if circle:
        at = rows[circle[0]].where("match", "refines", links[circle[0]].index(circle[1]))
        message = f"these rows refine each other in a circle: {' -> '.join(circle)}"
        yield Problem("MM276", message, at, "the more specific row refines the more general one")


def _placeholder_problems(rows: dict[str, Item]) -> Iterator[Problem]:
    """Rows that are recognised by nothing but a placeholder."""
    for item in rows.values():
        match: ErrorMatch = item.entry.match
        bare = match.template and not re.search(r"\w", _PLACEHOLDER.sub("", match.template))
        if bare and not match.exception:
            message = f"the template of {item.id} has no fixed words: it matches every message"
            at = item.where("match", "template")
            yield Problem("MM277", message, at, "keep the words of the message that never change")


def _overlap_problems(
    rows: dict[str, Item], witnesses: dict[tuple[str, str], str]
) -> Iterator[Problem]:
    """Pairs of rows that are both reported for one text."""
    for (left, right), text in sorted(witnesses.items()):
        if right in rows[left].entry.match.alongside or left in rows[right].entry.match.alongside:
            continue
        excerpt = " ".join(text.split())
        excerpt = excerpt if len(excerpt) <= _SHOWN else excerpt[: _SHOWN - 3] + "..."
        yield Problem(
            "MM278",
            f"{left} and {right} both match {excerpt!r}",
            rows[left].where("match"),
            "let the more specific one name the other under 'refines', or under 'alongside' if"
            " both are right at once",
        )
