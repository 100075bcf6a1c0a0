"""Stage 7: scores of reference and port, and how the benchmarks were set up."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from .reading import Folder, number, part, share, size

NAME = "results/stage7/stage7_summary.json"
CONFIG = "bench_config.yaml"
MAX_TASKS = 200
_MAX_DEPTH = 8
_GROUPS = (
    ("reasoning", re.compile(r"gsm8k|math|bbh|arc[-_]?(c|challenge)|gpqa|aime", re.I)),
    ("knowledge", re.compile(r"mmlu|hellaswag|trivia", re.I)),
)
# Harness figures that are not scores.
_NO_SCORE = re.compile(r"stderr|std_err|alias|version|samples|limit|seconds|time|^n$|num_", re.I)
# Of several scores of a task, the first of these that both sides have is compared.
_PREFERRED = ("exact_match,strict-match", "exact_match", "acc,none", "acc", "acc_norm")


class _Scores(NamedTuple):
    metrics: dict[str, float]
    samples: int | None


def read_benchmarks(folder: Folder) -> bool | None:
    """Add the facts of Stage 7; returns the verdict of its summary, None if it has none."""
    config = folder.yaml(CONFIG) or {}
    found = folder.json(NAME)
    setup = _setup(config)
    if found is None:
        if setup:
            folder.collector.add("benchmark_setup", folder.place(CONFIG), **setup)
        return None
    if isinstance(found.get("accuracy_analysis"), dict):
        return _plugin(folder, part(found, "accuracy_analysis"))
    baseline = dict(_tasks(found.get("lm_eval_hf")))
    limit = _limit(config)
    for task, scores in _tasks(found.get("lm_eval")):
        _add(folder, task, scores, baseline.get(task), limit)
    setup["baseline_present"] = bool(baseline)
    folder.collector.add("benchmark_setup", folder.place(NAME), **setup)
    verdict = part(found, "comparison").get("overall_pass")
    return verdict if isinstance(verdict, bool) else None


def _setup(config: dict[str, Any]) -> dict[str, Any]:
    top = config.get("run_hf_baseline")
    nested = next(_values(config.get("benchmarks"), "run_hf_baseline", 0), None)
    setup: dict[str, Any] = {}
    if isinstance(top, bool) or isinstance(nested, bool):
        setup["hf_baseline"] = top is True or nested is True
        setup["baseline_nested"] = isinstance(nested, bool)
    tolerance = size(config.get("tolerance"))
    return setup | ({} if tolerance is None else {"tolerance": tolerance})


def _limit(config: dict[str, Any]) -> int | None:
    found = next(_values(config.get("benchmarks"), "limit", 0), None)
    return found if isinstance(found, int) and found > 0 else None


def _values(value: Any, key: str, depth: int) -> Iterator[Any]:
    """Every value below a key, anywhere in nested mappings."""
    if isinstance(value, dict) and depth < _MAX_DEPTH:
        if key in value:
            yield value[key]
        for each in value.values():
            yield from _values(each, key, depth + 1)


def _plugin(folder: Folder, found: dict[str, Any]) -> bool | None:
    """Scores of the plugin's accuracy analysis; it has no baseline of its own."""
    scores = {name: value for name, raw in part(found, "scores").items()
              if (value := number(raw)) is not None}  # fmt: skip
    for name in list(scores)[:MAX_TASKS]:
        folder.collector.add("benchmark_result", folder.place(NAME), task=name, score=scores[name],
                             group=_group(name))  # fmt: skip
    verdict = found.get("passed")
    return verdict if isinstance(verdict, bool) else None


def _tasks(value: Any) -> list[tuple[str, _Scores]]:
    """Task -> its scores, found by form: a task is a mapping with a numeric metric in it."""
    found: dict[str, _Scores] = {}
    _search(value, "", 0, found)
    return list(found.items())[:MAX_TASKS]


def _search(value: Any, name: str, depth: int, found: dict[str, _Scores]) -> None:
    if not isinstance(value, dict) or depth > _MAX_DEPTH:
        return
    metrics = {key: score for key, raw in value.items()
               if not _NO_SCORE.search(str(key)) and (score := share(raw)) is not None}  # fmt: skip
    if metrics and name and name not in found:
        raw = value.get("samples", value.get("n"))
        samples = raw if isinstance(raw, int) and raw > 0 else None
        found[name] = _Scores(metrics, samples)
    for key, each in value.items():
        if key not in ("config", "configs", "versions", "n-shot"):
            _search(each, str(key), depth + 1, found)


def _add(
    folder: Folder, task: str, scores: _Scores, reference: _Scores | None, limit: int | None
) -> None:
    common = [key for key in scores.metrics if reference and key in reference.metrics]
    pool = common or list(scores.metrics)
    metric = next((key for key in _PREFERRED if key in pool), pool[0])
    score = scores.metrics[metric]
    baseline = reference.metrics[metric] if reference and common else None
    samples = scores.samples or limit
    delta = stderr = None
    if baseline is not None:
        # Differences of decimals: 0.62 - 0.6 is 0.02, not a little more.
        delta = round(baseline - score, 12)
        if samples:
            variance = score * (1 - score) + baseline * (1 - baseline)
            stderr = math.sqrt(variance / samples)
    folder.collector.add(
        "benchmark_result", f"{folder.place(NAME)}#{task}/{metric}", task=task, baseline=baseline,
        score=score, delta=delta, group=_group(task), samples=samples, stderr=stderr,
    )  # fmt: skip


def _group(task: str) -> str:
    return next((name for name, expression in _GROUPS if expression.search(task)), "other")
