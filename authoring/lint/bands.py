"""Bands of classifications: gaps, overlaps, and values that are not numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import NamedTuple

from ...engine.compiler.source import conditions as c
from ...engine.compiler.source import entries as e
from ...engine.compiler.source.knowledge_source import Item
from ...facts import Kind, Problem
from ...facts.problems import did_you_mean
from ..references import all_parts
from .lint_context import Subject

_NO_NUMBER = frozenset({"nan", "inf", "infinite", "infinity", "non-finite", "undefined"})


class _Span(NamedTuple):
    low: float
    high: float
    label: str
    number: int


def band_problems(subject: Subject) -> Iterator[Problem]:
    """Problems of all classifications, and of conditions on their labels."""
    for item in subject.forms["classification"]:
        yield from _shape_problems(item)
        yield from _label_problems(item)
        yield from _undefined_problems(item, subject.vocabulary.kinds.get(item.entry.observe.fact))
    labels = {item.id: _labels(item.entry) for item in subject.forms["classification"]}
    for item in subject.source.items:
        for path, node in all_parts(item):
            if isinstance(node, c.BandHolds) and node.band in labels:
                named = [node.label] if isinstance(node.label, str) else node.label
                for label in named:
                    if label not in labels[node.band]:
                        yield Problem(
                            "MM234",
                            f"{node.band} has no label {label!r}",
                            item.where(*path, "label"),
                            did_you_mean(label, labels[node.band])
                            or f"one of: {', '.join(sorted(labels[node.band]))}",
                        )


def _labels(entry: e.Classification) -> set[str]:
    return {band.label for band in [*entry.bands, *([entry.undefined] if entry.undefined else [])]}


def _label_problems(item: Item) -> Iterator[Problem]:
    seen: set[str] = set()
    for index, band in enumerate(item.entry.bands):
        if band.label in seen:
            message = f"two bands of {item.id} have the label {band.label!r}"
            at = item.where("bands", index, "label")
            yield Problem("MM273", message, at, "labels tell bands apart: rename one")
        seen.add(band.label)


def _shape_problems(item: Item) -> Iterator[Problem]:
    """Gaps and overlaps, each shown with a value."""
    entry: e.Classification = item.entry
    parameters: Mapping[str, e.Parameter] = item.file.parameters
    spans = []
    for index, band in enumerate(entry.bands):
        low = _bound(band.from_, parameters, -math.inf)
        high = _bound(band.to, parameters, math.inf)
        given = [x for x in (band.from_, band.to) if isinstance(x, float)]
        if not all(map(math.isfinite, given)) or math.isnan(low) or math.isnan(high):
            return  # a problem of compiling
        spans.append(_Span(low, high, band.label, index))
    spans.sort()
    for span in spans:
        if span.low >= span.high:
            yield Problem(
                "MM263",
                f"the band {span.label!r} is empty (from {span.low:g} to {span.high:g})",
                item.where("bands", span.number),
                "from must be below to",
            )
    for left, right in pairwise(spans):
        at = item.where("bands", right.number)
        if right.low < left.high:
            message = f"the bands {left.label!r} and {right.label!r} overlap, for example at"
            hint = "bands are half-open: [from, to)"
            yield Problem("MM264", f"{message} {right.low:g}", at, hint)
        elif right.low > left.high and not entry.gaps:
            message = f"no band takes {left.high:g} (between {left.label!r} and {right.label!r})"
            yield Problem("MM265", message, at, "close the gap, or say why under 'gaps'")
    yield from _open_ends(item, spans)


def _open_ends(item: Item, spans: list[_Span]) -> Iterator[Problem]:
    """Observables are not negative by default: a first band from 0 is complete."""
    lowest, highest = spans[0], spans[-1]
    if item.entry.gaps or (lowest.low <= 0 and highest.high == math.inf):
        return
    if highest.high < math.inf:
        witness, end = highest.high, highest
    else:
        witness, end = 0.0, lowest
    yield Problem(
        "MM265",
        f"no band takes {witness:g}",
        item.where("bands", end.number),
        "leave the outer end open, or say why under 'gaps'",
    )


def _undefined_problems(item: Item, kind: Kind | None) -> Iterator[Problem]:
    """Classifications without a label for "not a number", if a fact can have it."""
    entry: e.Classification = item.entry
    if kind is None or entry.undefined is not None:
        return
    for attribute in kind.attributes.values():
        cases = sorted(_NO_NUMBER & set(attribute.values or ()))
        if cases and attribute.name not in entry.observe.where:
            yield Problem(
                "MM274",
                f"{item.id} has no label for {kind.name} with {attribute.name} = {cases[0]}",
                item.where("bands"),
                "add 'undefined' with a label and 'undefined_where'",
            )


def _bound(value: object, parameters: Mapping[str, e.Parameter], missing: float) -> float:
    if isinstance(value, str):
        known = parameters.get(value.removeprefix("@"))
        return float(known.value) if known else missing
    return float(value) if isinstance(value, int | float) else missing
