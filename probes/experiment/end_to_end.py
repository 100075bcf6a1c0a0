"""Stages 5 and 6: figures of teacher_forced.json and of the optional stage5.json, stage6.json."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import ge, gt, le, lt
from typing import Any, NamedTuple

from .limits import Limits
from .reading import Folder, cosine, entries, number, part, share, size

NAME = "results/teacher_forced.json"
STAGE5, STAGE6 = "results/stage5.json", "results/stage6.json"


class Verdict(NamedTuple):
    """Whether Stage 5 and Stage 6 passed; None if unknown."""

    stage5: bool | None = None
    stage6: bool | None = None


class _Figure(NamedTuple):
    value: float
    file: str
    position: int | None = None


def _figures(file: str, **values: float | None) -> Iterator[tuple[str, _Figure]]:
    return ((name, _Figure(value, file)) for name, value in values.items() if value is not None)


def read_end_to_end(folder: Folder, limits: Limits) -> Verdict:
    """Add the ``e2e_result`` facts and say which of the two stages passed."""
    figures: dict[str, _Figure] = {}
    found = folder.json(NAME)
    if found is not None:
        figures.update(_teacher_forced(folder, found, limits))
    for metric, figure in (*_stage6(folder), *_stage5(folder)):
        figures.setdefault(metric, figure)
    for metric in sorted(figures):
        value, file, position = figures[metric]
        folder.collector.add("e2e_result", folder.place(file), metric=metric, value=value,
                             position=position)  # fmt: skip
    return _verdict(folder, found, figures, limits)


def _teacher_forced(
    folder: Folder, found: dict[str, Any], limits: Limits
) -> Iterator[tuple[str, _Figure]]:
    total = part(found, "aggregate")
    if not total and "method" not in found:
        folder.form(NAME, "there should be an aggregate block")
    ratio, divergence = part(total, "r_ratio"), part(total, "kl")
    yield from _figures(
        NAME, r_ratio_p95=size(ratio.get("p95")), r_ratio_mean=size(ratio.get("mean")),
        cosine_p5=cosine(part(total, "cosine").get("p5")),
        kl_p95=number(divergence.get("p95")), kl_max=number(divergence.get("max")),
    )  # fmt: skip
    prompts = [each for each in entries(found, "per_prompt") if isinstance(each, dict)]
    agreements = [share(each.get("top1_agreement")) for each in prompts]
    known = [value for value in agreements if value is not None]
    if known:
        yield "top1_agreement", _Figure(sum(known) / len(known), NAME)
    yield from _tail(prompts, limits.theta)


def _tail(prompts: list[dict[str, Any]], theta: float) -> Iterator[tuple[str, _Figure]]:
    """Share of the positions with a cosine below theta, and the earliest such position."""
    total, low, first = 0, 0, None
    for prompt in prompts:
        row = prompt.get("per_position_cosine")
        for position, value in enumerate(row if isinstance(row, list) else ()):
            found = number(value)
            total += 1
            if found is None or found < theta:  # NaN agrees with nothing
                low += 1
                first = position if first is None else min(first, position)
    if total:
        yield "cosine_tail", _Figure(low / total, NAME, first)


def _stage6(folder: Folder) -> Iterator[tuple[str, _Figure]]:
    found = folder.json(STAGE6)
    semantic, distribution = part(found, "semantic"), part(found, "distributional")
    return _figures(
        STAGE6, cosine_p5=cosine(semantic.get("cos_p5")),
        cosine_tail=share(semantic.get("tail_fraction")),
        kl_p95=number(distribution.get("kl_p95")), kl_max=number(distribution.get("kl_max")),
    )  # fmt: skip


def _stage5(folder: Folder) -> Iterator[tuple[str, _Figure]]:
    found = folder.json(STAGE5) or {}
    rows = [each for each in entries(found, "results") if isinstance(each, dict)]
    ratios = [value for row in rows if (value := size(row.get("r_ratio"))) is not None]
    given = size(found.get("r_ratio_p95"))
    if given is None and ratios:
        given = percentile(ratios, 95)
    mean = sum(ratios) / len(ratios) if ratios else None
    return _figures(STAGE5, r_ratio_p95=given, r_ratio_mean=mean)


def percentile(values: list[float], rank: float) -> float:
    """The percentile with linear interpolation at rank/100 * (n - 1). Needs a value."""
    ordered = sorted(values)
    at = rank / 100 * (len(ordered) - 1)
    low = int(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (at - low)


def _verdict(
    folder: Folder, found: dict[str, Any] | None, figures: dict[str, _Figure], limits: Limits
) -> Verdict:
    """Stage 5 (condition A and top-1), Stage 6 (conditions B and C); a plugin's own verdict
    covers both. With a collapsed denominator condition A means nothing."""
    if found is not None and isinstance(found.get("method"), str):
        passed = found.get("passed")
        return Verdict(passed, passed) if isinstance(passed, bool) else Verdict()

    def holds(metric: str, compare: Callable[[float, float], bool], limit: float) -> bool | None:
        return compare(figures[metric].value, limit) if metric in figures else None

    condition_a = holds("r_ratio_p95", lt, limits.tau_r)
    condition_b = _both(holds("cosine_p5", ge, limits.theta), holds("cosine_tail", le, limits.tail))
    condition_c = _both(holds("kl_p95", le, limits.delta), holds("kl_max", le, limits.delta_max))
    top1 = holds("top1_agreement", gt, limits.top1)
    stage6 = _both(condition_b, condition_c)
    if holds("r_ratio_mean", ge, limits.collapse) and stage6 and top1 is not False:
        condition_a = True
    stage5 = _both(condition_a, top1)
    return Verdict(
        _given(folder, STAGE5, found is None, stage5), _given(folder, STAGE6, found is None, stage6)
    )


def _given(folder: Folder, name: str, alone: bool, computed: bool | None) -> bool | None:
    """The verdict of an optional script if there is nothing better."""
    value = (folder.json(name) or {}).get("passed") if alone or computed is None else None
    return value if isinstance(value, bool) else computed


def _both(left: bool | None, right: bool | None) -> bool | None:
    """Logical and, with None for unknown; one known side is enough."""
    if left is None or right is None:
        return left if right is None else right
    return left and right
