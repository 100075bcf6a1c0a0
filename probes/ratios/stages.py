"""The files of the stages of the workflow, from a folder of captures."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ...facts.fact import Fact
from ...facts.kinds import Vocabulary
from ...facts.problems import Problem
from ...facts.progress import UNWATCHED, Progress
from ...reading.tensors import np
from ...reading.tensors.captures import Run, is_logits, name_all
from ...reading.tensors.stored import list_stored
from ..experiment.components import family_of, normal_name
from ..experiment.limits import Limits
from ..tensors.probe import gather_tensors
from ..tensors.roles import find_roles
from .figures import LogitFigures, logit_figures

STEP, SPIKE = "step", "spike"
FILES = ("stage2.json", "stage3.json", "teacher_forced.json", "stage6.json")


def stage_files(
    folder: Path, vocabulary: Vocabulary, progress: Progress = UNWATCHED
) -> tuple[dict[str, Any], list[Problem]]:
    """The contents of ``stage2.json`` and so on, by name, and the problems of reading. A file whose
    figures are not there is left out."""
    outcome = gather_tensors(folder, vocabulary, progress=progress)
    problems = list(outcome.problems)
    second = stage2(outcome.facts)
    found: dict[str, Any] = {}
    if second["total"]:
        found = {"stage2.json": second, "stage3.json": stage3(second)}
    prompts = _prompts(folder, problems)
    if prompts:
        found["teacher_forced.json"] = teacher_forced(prompts)
        found["stage6.json"] = stage6(prompts)
    return found, problems


def write_stages(found: Mapping[str, Any], results: Path) -> list[Path]:
    """Write the result of :func:`stage_files` into the folder ``results``."""
    results.mkdir(parents=True, exist_ok=True)
    written = []
    for name in FILES:
        if name in found:
            (results / name).write_text(json.dumps(found[name], indent=2) + "\n", encoding="utf-8")
            written.append(results / name)
    return written


def stage2(facts: Sequence[Fact]) -> dict[str, Any]:
    """Each module for itself: R of the module recomputed from its own input if that is known,
    else R in the forward pass."""
    alone = {
        str(f.get("component")): f.get("r_ratio") for f in facts if f.kind == "replayed_module"
    }
    rows = []
    for fact in facts:
        name = str(fact.get("component"))
        if fact.kind == "component_result" and "(input)" not in name and not is_logits(name):
            ratio = alone.get(name, fact.get("r_ratio"))
            if ratio is not None or fact.get("bit_equal"):
                passed = ratio is None or float(str(ratio)) < Limits().tau_r
                rows.append(
                    {
                        "component": name,
                        "r_ratio": ratio,
                        "bc": None,
                        "sigma_ratio": None,
                        "passed": passed,
                    }
                )
    good = sum(bool(row["passed"]) for row in rows)
    return {"results": rows, "passed": good, "failed": len(rows) - good, "total": len(rows)}


def stage3(second: Mapping[str, Any]) -> dict[str, Any]:
    """The faults of Stage 2 as the published script has them: a step if the next two entries
    fail too, else a spike; the primary fault is the largest step."""
    rows = second["results"]
    faults = []
    for at, row in enumerate(rows):
        if row["passed"]:
            continue
        behind = rows[at + 1 : at + 3]
        step = len(behind) == 2 and not any(each["passed"] for each in behind)
        cause = _cause(row["component"], row["r_ratio"])
        faults.append(
            {
                "component": row["component"],
                "r_ratio": row["r_ratio"],
                "pattern": STEP if step else SPIKE,
                "root_cause": cause,
                "description": f"R {row['r_ratio']:.4g}: {cause.replace('_', ' ')}",
            }
        )
    faults.sort(key=lambda fault: -fault["r_ratio"])
    found: dict[str, Any] = {"faults": faults, "num_faults": len(faults)}
    if faults:
        found["primary_fault"] = next((f for f in faults if f["pattern"] == STEP), faults[0])
    return found


def _cause(component: str, ratio: float) -> str:
    family = family_of(normal_name(component))
    if ratio > 10:
        return "routing_ignored" if family in ("experts", "router", "mlp") else "missing_algorithm"
    return "missing_multiplier" if ratio > 3 else "precision_ordering"


def _prompts(folder: Path, problems: list[Problem]) -> list[LogitFigures]:
    """The figures of the logits, one entry for each batch row."""
    three = find_roles(folder).three
    if three is None:
        return []
    unread: list[Problem] = []
    runs = [Run(name_all(list_stored(path, unread))) for path in three]
    shared = runs[0].modules() & runs[1].modules() & runs[2].modules()
    name = "logits" if "logits" in shared else next(filter(is_logits, sorted(shared)), None)
    try:
        parts = [run.get(name, "out") for run in runs] if name else []
    except (OSError, ValueError):
        return []
    if not parts or any(part is None or part.ndim != 3 for part in parts):
        return []
    count = min(part.shape[0] for part in parts)
    length = min(part.shape[1] for part in parts)
    return [logit_figures(*(part[at, :length] for part in parts)) for at in range(count)]


def teacher_forced(prompts: Sequence[LogitFigures]) -> dict[str, Any]:
    """Stages 5 and 6: per prompt and over all positions of all prompts."""
    each = [
        {
            "prompt": f"prompt {at}",
            "num_positions": len(one.kl),
            **_summary(one),
            "bc": None if math.isnan(one.bc) else one.bc,
            "top1_agreement": one.top[1],
            "top_k": {str(k): share for k, share in one.top.items()},
            "per_position_cosine": _plain(one.cosine),
            "per_position_kl": _plain(one.kl),
            "per_position_r_ratio": _plain(one.r_ratio),
        }
        for at, one in enumerate(prompts)
    ]
    whole = _joined(prompts)
    total = {
        "condition_b_passed": _meets_b(whole),
        **_summary(whole),
        "num_positions": len(whole.kl),
    }
    return {"per_prompt": each, "aggregate": total}


def stage6(prompts: Sequence[LogitFigures]) -> dict[str, Any]:
    """Conditions B (cosine) and C (KL divergence, its 95th percentile and its largest value)."""
    whole, limits = _joined(prompts), Limits()
    kl = _spread(whole.kl)
    b = _meets_b(whole)
    c = kl["p95"] <= limits.delta and kl["max"] <= limits.delta_max
    tail = float((whole.cosine < limits.theta).mean())
    cosine = _summary(whole)["cosine"]
    return {
        "condition_b_passed": b,
        "condition_c_passed": c,
        "passed": b and c,
        "semantic": {
            "cos_mean": cosine["mean"],
            "cos_min": cosine["min"],
            "cos_p5": cosine["p5"],
            "tail_fraction": tail,
            "theta": limits.theta,
        },
        "distributional": {
            "primary_scope": "full",
            "kl_mean": kl["mean"],
            "kl_p95": kl["p95"],
            "kl_max": kl["max"],
            "delta": limits.delta,
            "delta_max": limits.delta_max,
            "kl_by_scope": {"full": kl},
        },
    }


def _joined(prompts: Sequence[LogitFigures]) -> LogitFigures:
    parts = [np.concatenate([one[at] for one in prompts]) for at in range(3)]
    top = {1: float(np.mean([one.top[1] for one in prompts]))}
    return LogitFigures(parts[0], parts[1], parts[2], top)


def _meets_b(one: LogitFigures) -> bool:
    limits = Limits()
    p5, tail = float(np.percentile(one.cosine, 5)), float((one.cosine < limits.theta).mean())
    return p5 >= limits.theta and tail <= limits.tail


def _summary(one: LogitFigures) -> dict[str, dict[str, float]]:
    cosine = {
        "mean": float(one.cosine.mean()),
        "min": float(one.cosine.min()),
        "p5": float(np.percentile(one.cosine, 5)),
    }
    return {"r_ratio": _spread(one.r_ratio), "cosine": cosine, "kl": _spread(one.kl)}


def _spread(values: Any) -> dict[str, float]:
    return {
        "mean": float(values.mean()),
        "p95": float(np.percentile(values, 95)),
        "max": float(values.max()),
    }


def _plain(values: Any) -> list[float]:
    return [float(value) for value in values]
