"""The facts of recomputed modules."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from ..outcome import Collector
from .beside import LAYER
from .hypotheses import all_same
from .modules import Trial, alike
from .phases import WHERE
from .replaying import Replayed

SHOWN = 8
"""Hypotheses of a module that become facts."""
EXPLAINS = 1.8
"""Same value as in the rules: a hypothesis with this R or more explains nothing."""
CLEAR = 10.0
"""R of a module from which on a known value that explains it is not chance."""
LARGEST = 1e9
LEAD = 1_000.0
LEAST = 0.05
ROUNDING, USUAL = 1.3, 0.75
"""R up to which a trial leaves nothing but rounding, and the least R that sound modules have."""


def add_replayed(collector: Collector, found: Sequence[Replayed], place: str) -> None:
    """A ``replayed_module`` fact for every module, ``replay_hypothesis`` facts for the trials."""
    first = first_failing(found)
    told: set[str] = set()
    for one in (in_all_layers(each, found) for each in found):
        best = one.trials[0].r_ratio if one.trials else None
        collector.add(
            "replayed_module", place, component=one.name, family=one.family,
            r_ratio=_finite(one.r_ratio), fails=one.fails, around=around(one, found),
            first=first is not None and one.name == first.name, tried=len(one.trials),
            best_ratio=_finite(best),
        )  # fmt: skip
        best_of = list(shown(one))
        if best_of and best_of[0].r_ratio < EXPLAINS:
            cause = best_of[0].hypothesis.cause
            if cause in told:  # of one mistake in many layers the first is enough
                continue
            told.add(cause)
        for rank, trial in enumerate(best_of, 1):
            rival = rival_of(trial, one.trials, one.r_ratio)
            collector.add(
                "replay_hypothesis", place, component=one.name, hypothesis=trial.hypothesis.id,
                cause=trial.hypothesis.cause, rank=rank, plain_ratio=_finite(one.r_ratio),
                r_ratio=_finite(trial.r_ratio), rival=rival.hypothesis.id if rival else None,
                rival_ratio=_finite(rival.r_ratio) if rival else None, lead=_lead(trial, rival),
                says=trial.says,
            )  # fmt: skip


def in_all_layers(one: Replayed, found: Sequence[Replayed]) -> Replayed:
    """The trials of a module with R of the worst layer, if the same module fails in several layers
    and a trial explains all of them: a trial that explains one by chance falls back."""
    place = LAYER.search(one.name)
    if place is None or not one.trials:
        return one
    ending = one.name[place.end() :]
    others = [each for each in found if each.trials and each.name != one.name
              and (there := LAYER.search(each.name)) is not None
              and each.name[there.end() :] == ending]  # fmt: skip
    worst = [trial._replace(r_ratio=max(trial.r_ratio, *(_best(each, trial) for each in others)))
             for trial in one.trials] if others else []  # fmt: skip
    if not any(trial.r_ratio < EXPLAINS for trial in worst):
        return one
    return one._replace(trials=tuple(sorted(worst, key=lambda trial: round(trial.r_ratio, 1))))


def _best(other: Replayed, trial: Trial) -> float:
    """The least R under hypotheses of the same cause."""
    cause = trial.hypothesis.cause
    return min((each.r_ratio for each in other.trials if each.hypothesis.cause == cause),
               default=math.inf)  # fmt: skip


def shown(one: Replayed) -> Iterator[Trial]:
    """The best trials of a module: one of each hypothesis. Among those that explain the module,
    trials that explain all of it come first, and among these the ones without fitted values."""
    seen: set[str] = set()
    fits = [trial for trial in one.trials if trial.r_ratio < EXPLAINS]
    whole = [trial for trial in fits if not trial.limited]
    known = [trial for trial in whole or fits if not trial.hypothesis.free]
    known += [trial for trial in whole if trial.hypothesis.free]
    order = known + [trial for trial in one.trials if trial not in known]
    for trial in _better_named(order):
        if trial.hypothesis.id not in seen and len(seen) < SHOWN:
            seen.add(trial.hypothesis.id)
            yield trial


def _better_named(order: list[Trial]) -> list[Trial]:
    """Put the best-named of equivalent trials first, and let it name the others."""
    if not order or not order[0].r_ratio < EXPLAINS:
        return order
    first = order[0]
    for trial in order[1:]:
        if trial.r_ratio < EXPLAINS and is_other_name(first, trial):
            told = trial._replace(says=f"{trial.says}; the same thing as: {first.says}")
            return [told, *(each for each in order if each is not trial)]
    return order


def is_other_name(trial: Trial, better: Trial) -> bool:
    """Whether both trials give the same output, and the other one has the better name."""
    causes = (trial.hypothesis.cause, trial.hypothesis.id)
    for same in all_same():
        if same.first != better.hypothesis.cause or not set(causes) & set(same.then):
            continue
        if {trial.hypothesis.id, better.hypothesis.id} & set(same.apart):
            continue
        one_phase = trial.limited or bool(trial.hypothesis.find)
        if same.only and not (better.limited or WHERE[same.only] in better.says
                              or (one_phase and _of_decoding(better))):  # fmt: skip
            continue
        if alike(trial, better):
            return True
    return False


def _of_decoding(trial: Trial) -> bool:
    """Whether a trial concerns decoding by its nature."""
    return bool(trial.hypothesis.conditions.get("decoding"))


def rival_of(trial: Trial, trials: Sequence[Trial], plain: float) -> Trial | None:
    """The best trial of another cause. A trial with a fitted value is not a rival of one without,
    unless there is little to explain (``plain``). A trial that must be limited to a phase is not a
    rival of one that need not. One that gives the same output is a rival in any case: nothing that
    was captured tells the two apart."""
    little = plain < CLEAR
    return next((other for other in trials if other.hypothesis.cause != trial.hypothesis.cause
                 and not is_other_name(other, trial)
                 and (_same(trial, other)
                      or ((little or trial.hypothesis.free or not other.hypothesis.free)
                          and (trial.limited or not other.limited)))), None)  # fmt: skip


def _same(trial: Trial, other: Trial) -> bool:
    """Whether another trial explains the whole failure by the same output, without a value fitted
    for that."""
    whole = not other.limited or other.says.endswith(tuple(WHERE.values()))
    return (whole and not other.hypothesis.fit and max(trial.r_ratio, other.r_ratio) < EXPLAINS
            and alike(trial, other))  # fmt: skip


def around(one: Replayed, found: Sequence[Replayed]) -> bool:
    """Whether a part of a module fails."""
    return any(other.fails and other.name.startswith(f"{one.name}.") for other in found)


def first_failing(found: Sequence[Replayed]) -> Replayed | None:
    """Return the first module that fails although none of its parts does."""
    return next((one for one in found if one.fails and not around(one, found)), None)


def _lead(trial: Trial, rival: Trial | None) -> float:
    if rival is None:
        return LEAD
    lead = max(rival.r_ratio, LEAST) / max(trial.r_ratio, LEAST)
    if trial.r_ratio < ROUNDING and rival.r_ratio > EXPLAINS:  # rounding is in both of them
        lead = max(lead, _more(rival.r_ratio) / _more(trial.r_ratio))
    return min(LEAD, lead)


def _more(ratio: float) -> float:
    """The remainder of a ratio above the least possible rounding."""
    return math.sqrt(max(ratio * ratio - USUAL * USUAL, LEAST))


def _finite(value: float | None) -> float | None:
    return None if value is None or math.isnan(value) else min(value, LARGEST)
