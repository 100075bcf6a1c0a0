"""Lint: what compiles but is not right yet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise

from ...facts import Problem, Vocabulary
from .. import wording
from . import conditions as c
from . import entries as e
from .build import Built, ordered
from .source import Item, KnowledgeSource
from .tree_checks import tree_problems

_KINDS = ("fires", "silent", "unknown")


def lint(built: Built) -> list[Problem]:
    """All problems of a knowledge base, by place: those of compiling, and those found here."""
    source, vocabulary = built.source, built.vocabulary
    found = list(built.problems)
    trees = [item.id for item in source.of("tree")]
    for item in source.items:
        found.extend(_entry_problems(item))
        if item.form == "tree":
            found.extend(tree_problems(item, vocabulary, trees))
        elif item.form == "rule":
            found.extend(_message_problems(item, vocabulary))
        elif item.form == "classification":
            found.extend(_band_problems(item))
        elif item.form == "error":
            found.extend(_refinement_problems(item, source))
    found.extend(_test_problems(source))
    found.extend(_conclusion_problems(source))
    return ordered(found)


def _entry_problems(item: Item) -> Iterator[Problem]:
    if not item.sources():
        yield Problem(
            "MM260",
            f"{item.id} names no source",
            item.where(),
            "add sources to the entry or to its file",
        )
    if item.form == "diagnosis":
        entry: e.Diagnosis = item.entry
        if entry.kind != "benign" and entry.status != "deprecated" and not entry.actions:
            yield Problem("MM261", f"{item.id} says nothing to do", item.where(), "add actions")
        if entry.kind == "escalation" and not entry.packet:
            yield Problem(
                "MM261",
                f"{item.id} is an escalation without packet",
                item.where(),
                "list what to hand over",
            )


def _message_problems(item: Item, vocabulary: Vocabulary) -> Iterator[Problem]:
    """Placeholders that no alias or attribute stands behind."""
    aliases = dict(_aliases(item.entry.when))
    for alias, attribute in wording.placeholders(item.entry.message):
        where = item.where("message")
        if alias not in aliases:
            yield Problem(
                "MM262",
                f"the message names {{{alias}.{attribute}}}, but no pattern has 'as: {alias}'",
                where,
                "",
            )
        elif attribute not in vocabulary.kinds[aliases[alias]].attributes:
            yield Problem("MM262", f"{aliases[alias]} has no attribute {attribute!r}", where, "")


def _aliases(node: object) -> Iterator[tuple[str, str]]:
    if isinstance(node, c.Pattern) and node.as_:
        yield node.as_, node.fact
    elif isinstance(node, c.All):
        for part in node.all:
            yield from _aliases(part)
    elif isinstance(node, c.Any_):
        for part in node.any:
            yield from _aliases(part)
    elif isinstance(node, c.Count):
        yield from _aliases(node.count)


def _band_problems(item: Item) -> Iterator[Problem]:
    """Gaps and overlaps of bands, shown with a value."""
    entry: e.Classification = item.entry
    parameters: Mapping[str, e.Parameter] = item.file.parameters
    bands = sorted(
        (
            _bound(b.from_, parameters, -float("inf")),
            _bound(b.to, parameters, float("inf")),
            b.label,
        )
        for b in entry.bands
    )
    for low, high, label in bands:
        if low >= high:
            yield Problem(
                "MM263",
                f"the band {label!r} is empty (from {low:g} to {high:g})",
                item.where("bands"),
                "from must be below to",
            )
    for (_, end, left), (start, _, right) in pairwise(bands):
        if start < end:
            yield Problem(
                "MM264",
                f"the bands {left!r} and {right!r} overlap, for example at {start:g}",
                item.where("bands"),
                "bands are half-open: [from, to)",
            )
        elif start > end and not entry.gaps:
            yield Problem(
                "MM265",
                f"no band takes {end:g} (between {left!r} and {right!r})",
                item.where("bands"),
                "close the gap, or say why under 'gaps'",
            )
    open_ended = bands and (bands[0][0] > 0 or bands[-1][1] < float("inf"))
    if open_ended and not entry.gaps:
        witness = bands[-1][1] if bands[-1][1] < float("inf") else 0
        yield Problem(
            "MM265",
            f"no band takes {witness:g}",
            item.where("bands"),
            "leave the outer end open, or say why under 'gaps'",
        )


def _bound(value: object, parameters: Mapping[str, e.Parameter], missing: float) -> float:
    if isinstance(value, str):
        known = parameters.get(value.removeprefix("@"))
        return float(known.value) if known else missing
    return float(value) if isinstance(value, int | float) else missing


def _refinement_problems(item: Item, source: KnowledgeSource) -> Iterator[Problem]:
    rows = {other.id for other in source.of("error")}
    for general in item.entry.refines:
        if general not in rows or general == item.id:
            yield Problem(
                "MM266", f"'refines' names no other row: {general!r}", item.where("refines"), ""
            )


def _test_problems(source: KnowledgeSource) -> Iterator[Problem]:
    """Entries without a firing, a silent and an unknown case; cases of unknown entries."""
    shown: dict[str, set[str]] = {}
    ids = {item.id for item in source.items}
    for document, file in source.tests:
        for index, case in enumerate(file.cases):
            shown.setdefault(case.entry or "", set()).add(case.kind)
            if case.entry is not None and case.entry not in ids:
                yield Problem(
                    "MM267",
                    f"the case is about an unknown entry {case.entry!r}",
                    document.where(("cases", index, "entry")),
                    "",
                )
    for item in source.items:
        if item.form in ("diagnosis", "error") or item.entry.status == "deprecated":
            continue  # diagnoses are tested through their rules, rows by samples and near misses
        missing = [kind for kind in _KINDS if kind not in shown.get(item.id, ())]
        if missing:
            yield Problem(
                "MM268",
                f"{item.id} has no case that shows it {', '.join(missing)}",
                item.where(),
                "add cases to the test file beside it",
            )


def _conclusion_problems(source: KnowledgeSource) -> Iterator[Problem]:
    """Diagnoses that nothing concludes."""
    concluded = set(concluding(source))
    for item in source.of("diagnosis"):
        if item.id not in concluded and item.entry.status != "deprecated":
            yield Problem(
                "MM269",
                f"nothing concludes {item.id}",
                item.where(),
                "add a rule, a branch or an error row",
            )


def concluding(source: KnowledgeSource) -> Iterator[str]:
    """The diagnosis ids that some entry concludes."""
    for item in source.items:
        yield from _concluded_by(item)


def _concluded_by(item: Item) -> Iterable[str]:
    entry = item.entry
    if item.form == "rule":
        return [x.diagnosis for x in entry.conclude if x.diagnosis]
    if item.form == "error":
        return [cause.diagnosis for cause in entry.causes]
    if item.form == "tree":
        return [
            d for node in entry.nodes.values() for b in node.branches.values() for d in b.conclude
        ]
    if item.form == "classification":
        bands = [*entry.bands, *([entry.undefined] if entry.undefined else [])]
        return [x.diagnosis for band in bands for x in band.conclude if x.diagnosis]
    return []
