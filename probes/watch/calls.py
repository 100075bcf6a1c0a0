"""The recorded calls of the SDK -> facts on times, concurrency, sampling, data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..outcome import Collector

MAX_OPERATIONS = 40
ENOUGH = 3  # calls whose times say anything
# What the recorder looks for in the built examples; if it looked and saw none, there is none.
PROBLEMS = (
    "empty-chunk", "id-out-of-vocabulary", "non-finite", "targets-unshifted", "weights-all-zero",
    "weights-length",
)  # fmt: skip
_TRAINING = ("forward_backward", "forward_backward_custom")


def add_calls(collector: Collector, where: str, state: Mapping[str, Any]) -> None:
    """Add the figures of all calls: ``timing_summary``, ``call_timing`` with the delay of the
    request, ``concurrency``, ``sampling_budget``, ``hyperparameter``, ``datum_problem``."""
    operations = _mapping(state.get("operations"))
    for name in sorted(operations)[:MAX_OPERATIONS]:
        known = _mapping(operations[name])
        _add_times(collector, where, name, known)
        flying = _count(known.get("in_flight"))
        if flying:
            collector.add("concurrency", where, operation=name, in_flight=flying)
    _add_sampling(collector, where, _mapping(operations.get("sample")))
    _add_rate(collector, where, _mapping(operations.get("optim_step")))
    for name in _TRAINING:
        _add_examples(collector, where, _mapping(_mapping(operations.get(name)).get("seen")))
    steps = _count(_mapping(operations.get("optim_step")).get("calls"))
    if steps:
        saves = sum(_count(_mapping(operations.get(name)).get("calls")) for name in _SAVES)
        collector.add("run_record", where, steps=steps, checkpoints=saves)


_SAVES = ("save_state", "save_weights_for_sampler")


def _add_times(collector: Collector, where: str, name: str, known: Mapping[str, Any]) -> None:
    total = _mapping(known.get("total"))
    count = _count(total.get("count"))
    if count < ENOUGH:
        return
    submit, wait = _mapping(known.get("submit")), _mapping(known.get("wait"))
    collector.add(
        "timing_summary", where, operation=name, count=count, mean_s=_seconds(total, "mean"),
        median_s=_seconds(total, "median"), max_s=_seconds(total, "max"),
        first_s=_seconds(total, "first"), submit_s=_seconds(submit, "median"),
        wait_s=_seconds(wait, "median") if _count(wait.get("count")) else None,
    )  # fmt: skip
    delay = _mapping(known.get("send_delay"))
    if _count(delay.get("count")) >= ENOUGH:
        collector.add(
            "call_timing", where, operation=name, submit_s=_seconds(submit, "median"),
            send_delay_s=_seconds(delay, "median"),
        )  # fmt: skip


def _add_sampling(collector: Collector, where: str, known: Mapping[str, Any]) -> None:
    seen = _mapping(known.get("seen"))
    sampled = _count(seen.get("sampled"))
    if not seen.get("prompt_tokens"):
        return
    share = _count(seen.get("stopped_for_length")) / sampled if sampled else None
    collector.add(
        "sampling_budget", where, prompt_tokens=_count(seen.get("prompt_tokens")),
        max_tokens=_count(seen.get("max_tokens")) or None,
        temperature=_number(seen.get("temperature")) if "temperature" in seen else None,
        length_stop_share=round(min(share, 1.0), 4) if share is not None else None,
    )  # fmt: skip


def _add_rate(collector: Collector, where: str, known: Mapping[str, Any]) -> None:
    rate = _mapping(known.get("seen")).get("learning_rate")
    if isinstance(rate, (int, float)) and not isinstance(rate, bool) and 0 <= rate < 1e6:
        collector.add("hyperparameter", where, name="learning_rate", value=float(rate))


def _add_examples(collector: Collector, where: str, seen: Mapping[str, Any]) -> None:
    looked = _count(seen.get("looked_at"))
    for problem in PROBLEMS if looked else ():
        count = _count(seen.get(problem))
        collector.add(
            "datum_problem", where, problem=problem, present=count > 0, count=count or None,
            detail=f"of {looked} examples that were looked at",
        )  # fmt: skip


def _seconds(values: Mapping[str, Any], name: str) -> float:
    return round(_number(values.get(name)), 5)


def _number(value: Any) -> float:
    plain = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if plain and 0 <= value < 1e12 else 0.0


def _count(value: Any) -> int:
    return int(_number(value))


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) and all(isinstance(k, str) for k in value) else {}
