"""The batches of a run -> facts about their examples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..outcome import Collector
from .examples import OFFSETS, Look
from .learner import ONE_TOKEN_LOSSES
from .rollouts import Used

WHERE = "rehearsal"
_FITS = 0.9
_ENOUGH = 16  # positions
_PROBLEMS = {
    "empty": "empty-chunk", "other_length": "per-token-length", "lacking": "loss-inputs-lacking",
    "non_finite": "non-finite", "negative": "id-out-of-vocabulary",
}  # fmt: skip


def add_examples(
    collector: Collector, events: Sequence[Any], source_of: Callable[[Any], Any],
    made_at: Callable[[Any, str], str],
) -> None:  # fmt: skip
    """Add ``trained_examples`` of each place that trains, and ``datum_problem`` of all."""
    groups: dict[tuple[Any, str], list[Look]] = {}
    made: dict[tuple[Any, str], str] = {}
    for event in events:
        if event.op == "forward_backward" and event.what.examples:
            key = source_of(event), event.what.loss
            groups.setdefault(key, []).append(event.what)
            if key not in made:
                field = "advantages" if key[1] in ONE_TOKEN_LOSSES else "weights"
                made[key] = made_at(event, field)
    for (source, loss), looks in groups.items():
        used = [look.used for look in looks if look.used and look.used.examples]
        collector.add(
            "trained_examples", WHERE, made=made[source, loss],
            source=source.name, file=source.file, line=source.line,
            policy=loss in ONE_TOKEN_LOSSES, loss=loss,
            examples=sum(look.examples for look in looks),
            batches=len(looks), batches_unscored=sum(x.unscored == x.examples for x in looks),
            offset=_offset(looks), **_others(looks), **_shares(used),
        )  # fmt: skip
    looks = [look for found in groups.values() for look in found]
    for name, problem in _PROBLEMS.items():
        count = sum(getattr(look, name) for look in looks)
        if count:
            collector.add("datum_problem", WHERE, problem=problem, count=count)


def _offset(looks: Sequence[Look]) -> int | None:
    compared = sum(look.compared for look in looks)
    if compared < _ENOUGH:
        return None
    found = [sum(look.offsets[n] for look in looks) for n in range(len(OFFSETS))]
    fits = [offset for offset, n in zip(OFFSETS, found, strict=True) if n >= _FITS * compared]
    return 1 if 1 in fits else next(iter(fits), None)


def _others(looks: Sequence[Look]) -> dict[str, int]:
    used = [look.used for look in looks if look.used]
    return {name: sum(getattr(each, name) for each in used) for name in ("other_answer", "swapped")}


def _shares(used: Sequence[Used]) -> dict[str, Any]:
    """The shares of examples that hold a sample."""
    examples = sum(each.examples for each in used)
    if not examples:
        return {"sampled": 0}
    trained = sum(each.trained for each in used) or 1
    with_logprobs = sum(each.with_logprobs for each in used)
    same = sum(each.same_logprobs for each in used)
    groups = sum(each.groups for each in used)
    flat = sum(each.flat_groups for each in used)
    long = sum(each.long for each in used) or 1
    return {
        "flat_groups": round(flat / groups, 3) if groups else None,
        "flat_gains": len({round(gain, 6) for each in used for gain in each.flat_gains}),
        "late_answer": round(sum(each.late for each in used) / long, 3),
        "last_only": round(sum(each.last_only for each in used) / long, 3),
        "sampled": examples,
        "scored_prompt": round(sum(each.scored_prompt for each in used) / trained, 3),
        "unscored_answer": round(sum(each.unscored_answer for each in used) / trained, 3),
        "other_logprobs": round(1 - same / with_logprobs, 3) if with_logprobs else None,
    }
