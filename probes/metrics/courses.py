"""The course of a metric over a run: ``training_metric`` facts from a table of numbers by step."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from ...facts.problems import Location
from ..outcome import Collector
from ..shared.series_statistics import drop, known, mean, rise, rounded, slope, spikes, trend
from .metric_series import add_series
from .tables import MetricRow, Table

MAX_METRICS = 200
# Names that a trainer writes, in lower case; the first match decides. Every other name has the role
# "other": with a wrong role, rules would judge the wrong metric.
_ROLES = (
    ("learning-rate", r"(optim/|train/)?(lr|learning_rate)"),
    ("grad-norm", r"(optim/|train/|policy/|actor/)?(total_|global_)?grad(ient)?_norm([:/_]mean)?"),
    ("entropy", r"(optim/|train/|policy/|actor/|objective/)?(mean_)?entropy([/_]mean)?"),
    # Between the policy that sampled and the one that learns; KL to a reference may well be large.
    (
        "kl",
        r"(optim/|train/|policy/|actor/)?(kl_sample_train(_v[12])?|approx_?kl|ppo_kl)([/_]mean)?",
    ),
    ("eval-loss", r"(test|eval|val|valid|validation|dev|held_?out)[/_](mean_)?(nll|loss)"),
    ("train-loss", r"(train[/_])?(mean_)?(nll|loss|ce_loss|cross_entropy(_loss)?)(_step|_epoch)?"),
    ("accuracy", r"(env/all/|train[/_]|test[/_]|eval[/_])?(correct|acc|accuracy)"),
    (
        "reward",
        r"((env/all/|train[/_]|rollout/|critic/)?((mean|avg|average)_)?(episode_)?"
        r"rewards?(/total|/all|[/_]mean)?|critic/score/mean)",
    ),
)
_PATTERNS = [(role, re.compile(pattern + r"\Z")) for role, pattern in _ROLES]
# Counters of the loop itself; their trend means nothing.
_COUNTERS = re.compile(r"(epoch|progress|progress/.*|batch|tokens/cumulative/.*|_runtime|"
                       r"_?timestamp)\Z")  # fmt: skip


def role_of(name: str) -> str:
    """The role of a metric of this name, in the words of the vocabulary."""
    plain = name.strip().lower()
    return next((role for role, pattern in _PATTERNS if pattern.match(plain)), "other")


def add_courses(collector: Collector, table: Table) -> int:
    """Add a fact for each metric, those with a known role first; MM451 if some are left out.

    Returns how many of them are losses or rewards. Figures are taken over the finite values;
    ``count`` includes the others, ``non_finite`` is their number.
    """
    names = dict.fromkeys(name for row in table.rows for name in row.values)
    told_of = (name for name in names if not _COUNTERS.match(name))
    ranked = sorted(told_of, key=lambda name: role_of(name) == "other")
    if len(ranked) > MAX_METRICS:
        text = f"{len(ranked):,} metrics; {MAX_METRICS} are kept, those with a known role first"
        collector.problem("MM451", text, Location(table.name))
    told = 0
    for name in ranked[:MAX_METRICS]:
        rows = [row for row in table.rows if name in row.values]
        _add_course(collector, table.name, name, rows)
        told += role_of(name) in ("train-loss", "reward")
    add_series(collector, table, [(name, role_of(name)) for name in ranked[:MAX_METRICS]])
    return told


def _add_course(collector: Collector, file: str, name: str, rows: Sequence[MetricRow]) -> None:
    finite = [row for row in rows if math.isfinite(row.values[name])]
    values = [row.values[name] for row in finite]
    start = rows[0].values[name] if rows[0].step == 0 else math.nan
    figures: dict[str, float | str | None] = {}
    if values:
        steps = [float(row.step) for row in finite]
        figures = {
            "first": values[0], "last": values[-1], "min": min(values), "max": max(values),
            "mean": rounded(mean(values)), "trend": trend(values),
            "slope": known(slope(steps, values)), "spikes": spikes(values),
            "drop": known(drop(values)), "rise": known(rise(values)),
            "step0": start if math.isfinite(start) else None,
        }  # fmt: skip
    collector.add("training_metric", f"{file}:{rows[0].line}", name=name, role=role_of(name),
                  count=len(rows), non_finite=len(rows) - len(finite), **figures)  # fmt: skip
