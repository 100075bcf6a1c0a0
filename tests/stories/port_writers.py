"""The files of an experiment folder that the facts of a story come from: results of the stages, as
the scripts of the workflow write them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from .writers import Fact, Files, of

PORT = ("stage_result", "component_result", "smoke_result", "e2e_result", "patch_state")


def port_files(facts: Sequence[Fact]) -> dict[str, str]:
    """All files of the stages that the facts describe."""
    files: dict[str, Any] = {}
    for writer in (
        _smoke,
        _components,
        _faults,
        _end,
        _benchmarks,
        _limits,
        _classes,
        _trees,
        _run,
    ):
        files |= writer(facts)
    return {name: found if isinstance(found, str) else json.dumps(found, indent=1)
            for name, found in files.items()}  # fmt: skip


def _smoke(facts: Sequence[Fact]) -> dict[str, Any]:
    for each in of(facts, "smoke_result"):
        if "error" in each:
            return {"results/stage1.json": {"passed": False, "error": each["error"]}}
        rate, count = each["match_rate"], each.get("prompts", 10)
        whole = round(each.get("full_share", 0) * count)
        rest = (rate * count - whole) / (count - whole)
        prompts = [{"prompt": f"Prompt {n}", "match_rate": 1.0 if n < whole else rest}
                   for n in range(count)]  # fmt: skip
        if "first_divergence" in each:
            prompts[-1]["first_divergence_idx"] = each["first_divergence"]
        found = {"token_matching": {"match_rate": rate, "per_prompt_results": prompts}}
        if "cosine_mean" in each:
            found["enhanced_metrics"] = {
                "enhanced_metrics_available": True,
                "logit_cosine_similarity_mean": each["cosine_mean"],
            }
        return {"results/stage1.json": found | {"passed": each["ok"]}}
    return {}


def _components(facts: Sequence[Fact]) -> dict[str, Any]:
    rows = []
    for each in sorted(of(facts, "component_result"), key=lambda each: each.get("index", 99)):
        row = {"component": each["component"], "r_ratio": each.get("r_ratio"), "bc": None,
               "sigma_ratio": None, "passed": each.get("status", "pass") == "pass"}  # fmt: skip
        row |= {name: each[name] for name in ("cosine", "error") if name in each}
        if each.get("state") == "zero-denominator":
            row["r_ratio"] = None
        rows.append(row)
    passed = sum(row["passed"] for row in rows)
    found = {"results": rows, "passed": passed, "failed": len(rows) - passed, "total": len(rows)}
    return {"results/stage2.json": found} if rows else {}


def _faults(facts: Sequence[Fact]) -> dict[str, Any]:
    rows = [
        {"component": each["component"], "r_ratio": each["r_ratio"],
         "pattern": each.get("script_pattern", "step"),
         "root_cause": each.get("script_cause", "unknown")}
        for each in of(facts, "fault")
    ]  # fmt: skip
    found = {"faults": rows, "num_faults": len(rows), "primary_fault": rows[0] if rows else None}
    return {"results/stage3.json": found} if rows else {}


def _end(facts: Sequence[Fact]) -> dict[str, Any]:
    known = {each["metric"]: each["value"] for each in of(facts, "e2e_result")}
    if not known:
        return {}
    parts = {"r_ratio_p95": ("r_ratio", "p95"), "cosine_p5": ("cosine", "p5"),
             "kl_p95": ("kl", "p95")}  # fmt: skip
    total = {parts[name][0]: {parts[name][1]: value} for name, value in known.items()
             if name in parts}  # fmt: skip
    prompts = [{"prompt": "Water freezes at", "top1_agreement": known.get("top1_agreement", 1.0)}]
    return {"results/teacher_forced.json": {"per_prompt": prompts, "aggregate": total}}


def _benchmarks(facts: Sequence[Fact]) -> dict[str, Any]:
    rows = of(facts, "benchmark_result")
    if not rows:
        return {}
    sides = {
        side: {"accuracy": {each["task"]: {"exact_match": each[key], "samples": each["samples"]}
                            for each in rows}}
        for side, key in (("lm_eval_hf", "baseline"), ("lm_eval", "score"))
    }  # fmt: skip
    setup = of(facts, "benchmark_setup")[0]
    config = {"benchmarks": {"lm_eval": {"accuracy": {"tasks": [r["task"] for r in rows]}},
                             "run_hf_baseline": setup["hf_baseline"]},
              "tolerance": setup["tolerance"]}  # fmt: skip
    return {"results/stage7/stage7_summary.json": sides, "bench_config.yaml": config}


def _limits(facts: Sequence[Fact]) -> dict[str, Any]:
    known = of(facts, "calibrated_limit")
    values = {each["limit"]: each["value"] for each in known}
    return {"calibrated_thresholds.json": values | {"num_ports": 3}} if known else {}


def _classes(facts: Sequence[Fact]) -> dict[str, Any]:
    """The scan of Stage 0; without divergences where the facts name none."""
    if not of(facts, *PORT):
        return {}
    rows = [
        {"component": each["component"], "cpu_class": each["cpu_class"],
         "device_class": each["device_class"], "source_location": "modeling_toy.py:41",
         "pattern": "factory_function", "recommendation": "test both"}
        for each in of(facts, "class_divergence")
    ]  # fmt: skip
    found = {"file": "modeling_toy.py", "divergence_count": len(rows), "divergences": rows}
    return {"class_divergence_report.json": found}


def _trees(facts: Sequence[Fact]) -> dict[str, Any]:
    """Model trees with as many layers as the facts count."""
    return {
        f"model_tree/model_tree_{each['side']}_full.json": _tree(each["count"])
        for each in of(facts, "layer_count")
    }


def _tree(layers: int) -> dict[str, Any]:
    inside = [{"name": name, "type": kind, "children": []}
              for name, kind in (("self_attn", "ToyAttention"), ("mlp", "ToyMLP"))]  # fmt: skip
    stack = [{"name": str(n), "type": "ToyLayer", "children": inside} for n in range(layers)]
    return {"name": "model", "type": "ToyModel", "children": [
        {"name": "layers", "type": "ModuleList", "children": stack}]}  # fmt: skip


def _run(facts: Sequence[Fact]) -> Files:
    for each in of(facts, "port_run"):
        known = {name: each[name] for name in ("target_stack", "tp_degree") if name in each}
        settings = {"target_stack": "nxdi", **known, "num_tokens_to_check": 32,
                    "model_class": "modeling_toy.py:NeuronToyForCausalLM"}  # fmt: skip
        return {"experiment.json": json.dumps(settings)}
    return {}
