"""Stages 5 and 6: figures of teacher_forced.json and of the optional stage5.json, stage6.json."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from .limits import Limits
from .reading import Folder, cosine, entries, number, part, share, size

NAME = "results/teacher_forced.json"
STAGE5, STAGE6 = "results/stage5.json", "results/stage6.json"


class Verdict(NamedTuple):
    """Whether Stage 5 and Stage 6 passed; None where the files do not tell."""

    stage5: bool | None = None
    stage6: bool | None = None


class _Figure(NamedTuple):
    value: float
    file: str
    position: int | None = None


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
    for metric, value in (
        ("r_ratio_p95", size(part(total, "r_ratio").get("p95"))),
        ("r_ratio_mean", size(part(total, "r_ratio").get("mean"))),
        ("cosine_p5", cosine(part(total, "cosine").get("p5"))),
        ("kl_p95", number(part(total, "kl").get("p95"))),
        ("kl_max", number(part(total, "kl").get("max"))),
    ):
        if value is not None:
            yield metric, _Figure(value, NAME)
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
    if found is None:
        return
    semantic, distribution = part(found, "semantic"), part(found, "distributional")
    for metric, value in (
        ("cosine_p5", cosine(semantic.get("cos_p5"))),
        ("cosine_tail", share(semantic.get("tail_fraction"))),
        ("kl_p95", number(distribution.get("kl_p95"))),
        ("kl_max", number(distribution.get("kl_max"))),
    ):
        if value is not None:
            yield metric, _Figure(value, STAGE6)


def _stage5(folder: Folder) -> Iterator[tuple[str, _Figure]]:
    found = folder.json(STAGE5)
    if found is None:
        return
    rows = [each for each in entries(found, "results") if isinstance(each, dict)]
    ratios = [value for row in rows if (value := size(row.get("r_ratio"))) is not None]
    given = size(found.get("r_ratio_p95"))
    if given is not None or ratios:
        value = given if given is not None else percentile(ratios, 95)
        yield "r_ratio_p95", _Figure(value, STAGE5)
    if ratios:
        yield "r_ratio_mean", _Figure(sum(ratios) / len(ratios), STAGE5)


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
    covers both. With a collapsed denominator condition A says nothing."""
    if found is not None and isinstance(found.get("method"), str):
        passed = found.get("passed")
        return Verdict(passed, passed) if isinstance(passed, bool) else Verdict()

    def below(metric: str, limit: float, strict: bool = False) -> bool | None:
        if metric not in figures:
            return None
        value = figures[metric].value
        return value < limit if strict else value <= limit

    def above(metric: str, limit: float, strict: bool = False) -> bool | None:
        if metric not in figures:
            return None
        value = figures[metric].value
        return value > limit if strict else value >= limit

    condition_a = below("r_ratio_p95", limits.tau_r, strict=True)
    condition_b = _both(above("cosine_p5", limits.theta), below("cosine_tail", limits.tail))
    condition_c = _both(below("kl_p95", limits.delta), below("kl_max", limits.delta_max))
    top1 = above("top1_agreement", limits.top1, strict=True)
    stage6 = _both(condition_b, condition_c)
    if above("r_ratio_mean", limits.collapse) and stage6 and top1 is not False:
        condition_a = True
    stage5 = _both(condition_a, top1)
    return Verdict(
        _given(folder, STAGE5, found is None, stage5), _given(folder, STAGE6, found is None, stage6)
    )


def _given(folder: Folder, name: str, alone: bool, computed: bool | None) -> bool | None:
    """The verdict of an optional script where there is nothing better."""
    value = (folder.json(name) or {}).get("passed") if alone or computed is None else None
    return value if isinstance(value, bool) else computed


def _both(left: bool | None, right: bool | None) -> bool | None:
    """And, where None is "not known" and one known side is enough."""
    if left is None or right is None:
        return left if right is None else right
    return left and right
