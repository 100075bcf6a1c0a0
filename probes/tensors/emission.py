"""The facts of compared tensors."""

from __future__ import annotations

import math
from collections.abc import Sequence, Set
from typing import Any

from ...reading.tensors import np
from ...reading.tensors.captures import Name
from ..experiment.components import family_of, normal_name
from ..experiment.limits import Limits
from ..outcome import Collector
from .comparison import Result
from .faults import Fault, Row, cascading, first_low
from .replays import NONE, Replays

CLEARLY_LOW = 0.8
"""Other orders of rounding take single modules of sound ports down to here in one pass."""
MIN_POSITIONS = 256
"""R scatters from position to position; the 95th percentile of fewer is unreliable."""


def add_results(
    collector: Collector, rows: Sequence[Row], faults: Sequence[Fault], known: Replays = NONE
) -> None:
    """Add a ``component_result`` fact for every tensor; ``known`` are the results of recomputed
    modules."""
    behind, low = cascading(rows, faults), first_low(rows)
    for row in rows:
        result = row.result
        collector.add(
            "component_result", row.place, component=row.name.shown,
            family=family_of(normal_name(row.name.module)), index=row.number,
            r_ratio=result.r_ratio, state=result.state, cosine=result.cosine,
            norm_ratio=result.norm_ratio, baseline_rel=result.baseline_rel,
            bit_equal=result.bit_equal, l_inf=result.l_inf, rel_l2=result.rel_l2,
            max_abs=result.max_abs, aside=_aside(row, behind, low, known), ties=row.ties or None,
            **_by_position(result),
        )  # fmt: skip


def _aside(row: Row, behind: Set[Name], low: Set[Name], known: Replays) -> str | None:
    """Why the figures of a row are not evidence on the module itself."""
    if known.tells(row) and (row.fails or row.low):
        return "traced" if known.sound else "replayed"
    if row.doubtful:
        return "ties"
    if row.name in behind:
        return "cascade"
    if not row.low:
        return None
    if row.name not in low:
        return "behind"
    return "near" if (row.result.r_ratio or 0) >= CLEARLY_LOW else None


def add_faults(collector: Collector, faults: Sequence[Fault]) -> None:
    """A ``fault`` fact for every module at which a failure begins."""
    order = 0
    for row, shape, first in faults:
        order += shape == "step"
        collector.add(
            "fault", row.place, component=row.name.shown, shape=shape, r_ratio=row.result.r_ratio,
            index=row.number, first=first, table="intermediates",
            step_order=order if shape == "step" else None,
        )  # fmt: skip


def add_signatures(collector: Collector, found: Sequence[tuple[Row, dict[str, Any]]]) -> None:
    """An ``error_signature`` fact for every tensor that was examined closely."""
    for row, values in found:
        family = family_of(normal_name(row.name.module))
        known = {key: value for key, value in values.items()
                 if not isinstance(value, float) or math.isfinite(value)}  # fmt: skip
        collector.add("error_signature", row.place, component=row.name.shown, family=family,
                      **known)  # fmt: skip


def _by_position(result: Result) -> dict[str, Any]:
    """Percentiles over positions, if there is more than one and all are numbers."""
    found = result.per_position
    if found is None or len(found["cosine"]) < 2:
        return {}
    ratios, cosines = found["r_ratio"], found["cosine"]
    values: dict[str, Any] = {"positions": len(cosines)}
    if np.isfinite(cosines).all():
        values["cosine_p5"] = float(np.clip(np.percentile(cosines, 5), -1, 1))
        values["worst_position"] = int(cosines.argmin())
    if result.r_ratio is not None and np.isfinite(ratios).all():
        values["r_p50"], values["r_p95"] = (float(v) for v in np.percentile(ratios, [50, 95]))
    return values


def add_logits(collector: Collector, rows: Sequence[Row], known: Replays = NONE) -> None:
    """The end-to-end figures over all positions of all logits."""
    found = [row for row in rows if row.result.per_position and "kl" in row.result.per_position
             and not (row.ties and row.keep is None)]  # fmt: skip
    parts = [row.result.per_position or {} for row in found]
    if sum(len(part["kl"]) for part in parts) < 2:
        return
    joined = {key: np.concatenate([part[key] for part in parts])
              for key in ("r_ratio", "cosine", "kl", "top1")}  # fmt: skip
    cosines = np.nan_to_num(joined["cosine"], nan=0.0)
    low = np.flatnonzero(cosines < Limits().theta)
    figures = {
        "r_ratio_mean": joined["r_ratio"].mean(),
        "cosine_p5": np.clip(np.percentile(cosines, 5), -1, 1),
        "cosine_tail": len(low) / len(cosines),
        "kl_p95": np.percentile(joined["kl"], 95),
        "kl_max": joined["kl"].max(),
        "top1_agreement": np.mean([part["top1"].mean() for part in parts]),
    }
    if len(cosines) >= MIN_POSITIONS:
        figures["r_ratio_p95"] = np.percentile(joined["r_ratio"], 95)
    for metric in sorted(figures):
        value = float(figures[metric])
        if known.sound and metric.startswith("r_ratio") and value >= Limits().tau_r:
            continue  # a little more rounding is not a fault of operations that are right
        if np.isfinite(value):
            position = int(low[0]) if metric == "cosine_tail" and len(low) else None
            collector.add("e2e_result", found[0].place, metric=metric, value=value,
                          position=position)  # fmt: skip
